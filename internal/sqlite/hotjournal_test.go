package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// hot is the path of a file that was killed in the middle of a transaction
// before it was in WAL mode: its journal has to be rolled back.
func hot(t *testing.T, before, during string) string {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "kernel.db"), filepath.Join(t.TempDir(), "kernel.db")
	db, err := sql.Open("sqlite", "file:"+from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	// So small a cache has to write to the file before the commit.
	for _, text := range []string{"PRAGMA cache_size=1", before, "BEGIN IMMEDIATE", during} {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, suffix := range []string{"", "-journal"} {
		if err := copyFile(from+suffix, to+suffix); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

const manyRows = `CREATE TABLE made AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000) SELECT i, hex(randomblob(50)) FROM n`

// TestOpenKilledWhileMade opens a file whose maker was killed before the schema
// was in it.
func TestOpenKilledWhileMade(t *testing.T) {
	t.Parallel()
	path := hot(t, "SELECT 1", manyRows)
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	run(t, db)
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, path); !report.OK() {
		t.Errorf("Verify: %v", report.Problems)
	}
}

// TestOpenHotFileOfSomethingElse mends a file that is not ours, as its owner
// would, and refuses it all the same.
func TestOpenHotFileOfSomethingElse(t *testing.T) {
	t.Parallel()
	path := hot(t, "CREATE TABLE theirs(x)", strings.Replace(manyRows, "made", "more", 1))
	refused(t, path, "something else")
}
