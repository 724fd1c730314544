package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

type migration struct {
	version int
	name    string
	text    string
	sum     string
}

// loadMigrations reads the embedded steps; their names start with their number.
func loadMigrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	steps := make([]migration, 0, len(names))
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var version int
		if _, err := fmt.Sscanf(name, "migrations/%04d_", &version); err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", name, i+1)
		}
		sum := sha256.Sum256(text)
		steps = append(steps, migration{version, name[len("migrations/"):], string(text), hex.EncodeToString(sum[:])})
	}
	return steps, nil
}

const migrationTable = `CREATE TABLE IF NOT EXISTS migrations(
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, sum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`

// migrate brings the schema forward, a transaction a step. It refuses a file
// that a newer build wrote, and one whose applied steps are not the ones that
// this build carries.
func migrate(ctx context.Context, db *sql.DB, path string, log *slog.Logger) error {
	steps, err := loadMigrations()
	if err != nil {
		return err
	}
	version, applied, err := appliedMigrations(ctx, db)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("the file has schema version %d, this build knows only %d: run the newer kernelctl", version, len(steps))
	}
	if version != len(applied) {
		return fmt.Errorf("the file has schema version %d, but %d schema steps were applied: restore a backup", version, len(applied))
	}
	for i, step := range steps {
		if i < len(applied) {
			if applied[i] != step.sum {
				return fmt.Errorf("schema step %s was not applied as this build has it: the file was made by another build", step.name)
			}
			continue
		}
		if err := applyMigration(ctx, db, step); err != nil {
			return fmt.Errorf("schema step %s: %w", step.name, err)
		}
		log.LogAttrs(ctx, slog.LevelDebug, "schema step applied", slog.String("step", step.name), slog.String("db", path))
	}
	return nil
}

func appliedMigrations(ctx context.Context, db *sql.DB) (version int, sums []string, err error) {
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == 0 {
		return 0, nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT sum FROM migrations ORDER BY version")
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var sum string
		if err := rows.Scan(&sum); err != nil {
			return 0, nil, err
		}
		sums = append(sums, sum)
	}
	return version, sums, rows.Err()
}

func applyMigration(ctx context.Context, db *sql.DB, step migration) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for _, text := range []string{
		migrationTable,
		step.text,
		fmt.Sprintf("PRAGMA user_version = %d", step.version),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
	} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO migrations VALUES (?,?,?,?)", step.version, step.name, step.sum, int64(now())); err != nil {
		return err
	}
	return tx.Commit()
}
