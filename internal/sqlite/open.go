package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver
)

// applicationID marks the file as ours ("kctl").
const applicationID = 0x6b63746c

// ErrLocked says that another process has the database open.
var ErrLocked = errors.New("another kernelctl process has this database open")

// Open opens or creates the database file at path, takes its lock, brings its
// schema up to date and checks that it is one of ours, durable and writable.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	abs, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("database path %q: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return nil, fmt.Errorf("create the database's folder: %w", explain(err))
	}
	db := &DB{path: abs, opts: withDefaults(opts), opened: time.Now()}
	db.log = db.opts.Logger
	db.lock = flock.New(abs + ".lock")
	held, err := db.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", abs+".lock", explain(err))
	}
	if !held {
		return nil, fmt.Errorf("%w: %s (stop it, or give this one another --db)", ErrLocked, abs)
	}
	if err := db.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", abs, explain(err)), db.release())
	}
	return db, nil
}

// resolve follows links, so that two names of one file have one lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(abs); err == nil {
		return target, nil
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(folder, filepath.Base(abs)), nil
	}
	return abs, nil
}

func (db *DB) connect(ctx context.Context) error {
	if err := prepareFile(ctx, db.path); err != nil {
		return err
	}
	var err error
	if db.write, err = sql.Open("sqlite", dsn(db.path, writerParams())); err != nil {
		return err
	}
	db.write.SetMaxOpenConns(1)
	if err := checkDurable(ctx, db.write); err != nil {
		return err
	}
	if err := migrate(ctx, db.write, db.path, db.log); err != nil {
		return err
	}
	// A file that cannot be written opens all the same; this is what finds it.
	if _, err := db.write.ExecContext(ctx, "BEGIN IMMEDIATE; ROLLBACK"); err != nil {
		return err
	}
	if db.read, err = sql.Open("sqlite", dsn(db.path, readerParams())); err != nil {
		return err
	}
	db.read.SetMaxOpenConns(db.opts.Readers)
	db.read.SetMaxIdleConns(db.opts.Readers)
	if db.queries, err = prepareQueries(ctx, db.read); err != nil {
		return err
	}
	db.operations.New = newOperation
	db.ops = make(chan *operation, db.opts.Queue)
	db.chores = make(chan *operation, 4)
	return nil
}

// prepareFile makes a file that is not there, readable by its owner alone: it
// holds the secrets of the agents. One that is there must be ours; it is not
// changed before that is known.
func prepareFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder: name a file")
	case info.Size() == 0:
		return nil
	}
	err = inspect(ctx, path, inspectorParams())
	if code(err) == codeReadOnlyRollback {
		// Only a file that is not in WAL mode yet has a journal to roll back: a
		// kill came while it was made. Whoever made it, that is how it is mended.
		params := inspectorParams()
		params.Set("mode", "rw")
		err = inspect(ctx, path, params)
	}
	return err
}

// inspect looks at whose file it is.
func inspect(ctx context.Context, path string, params url.Values) error {
	db, err := sql.Open("sqlite", dsn(path, params))
	if err != nil {
		return err
	}
	return errors.Join(checkOurs(ctx, db), db.Close())
}

// querier is a database or a connection.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func checkOurs(ctx context.Context, db querier) error {
	var id, tables int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 && id != applicationID {
		return errors.New("the file is a SQLite database of something else: give another --db")
	}
	return nil
}

// checkDurable reads back what was asked for: a file system may refuse it
// without a word.
func checkDurable(ctx context.Context, db querier) error {
	var mode string
	var level int
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if mode != "wal" || level < 2 {
		return fmt.Errorf("the file system does not let SQLite be durable (journal_mode=%s, synchronous=%d; want wal, 2)", mode, level)
	}
	return nil
}

func dsn(path string, params url.Values) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: params.Encode()}
	return u.String()
}

// busyTimeout is how long, in milliseconds, a statement waits for another
// process that holds the database.
const busyTimeout = "5000"

func writerParams() url.Values {
	return url.Values{
		"_busy_timeout": {busyTimeout},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_pragma": {
			"wal_autocheckpoint(1000)",     // a WAL that is reused flushes twice as fast as one that grows
			"journal_size_limit(67108864)", // gives the disk back after a backup or a pinned reader
			"cache_size(-2048)",
			"temp_store(MEMORY)",
		},
		"_dqs":       {"0"},
		"_defensive": {"1"},
	}
}

func readerParams() url.Values {
	return url.Values{
		"_busy_timeout": {busyTimeout},
		"_pragma":       {"wal_autocheckpoint(0)", "cache_size(-2048)", "temp_store(MEMORY)"},
		"_query_only":   {"1"},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
	}
}

// inspectorParams leave the file as it is: they neither recover nor checkpoint it.
func inspectorParams() url.Values {
	return url.Values{
		"mode":          {"ro"},
		"_busy_timeout": {busyTimeout},
		"_pragma":       {"temp_store(MEMORY)"},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
	}
}
