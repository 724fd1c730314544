package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// open opens a database and runs it until the test ends.
func open(t *testing.T, path string, opts sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path, opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	run(t, db)
	return db
}

// run runs db until the test ends or the returned function is called.
func run(t *testing.T, db *sqlite.DB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			t.Errorf("Run: %v, want nil", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// made is the path of a database that was made and closed.
func made(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kernel.db")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return path
}

// raw runs statements on a file behind the store's back.
func raw(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// refused opens a path that must not open, and wants words in the error.
func refused(t *testing.T, path string, words ...string) {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		_ = db.Close()
		t.Fatalf("Open: no error, want one that says %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open: %v; want it to say %q", err, word)
		}
	}
}

func TestOpenAgain(t *testing.T) {
	t.Parallel()
	path := made(t)
	for range 2 {
		db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "folder", "a b%20?c#.db")
	db := open(t, path, sqlite.Options{})
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %v: others can read the secrets in it", name, mode)
		}
	}
	if file, _ := db.Sizes(); file == 0 {
		t.Error("Sizes: the file is empty")
	}
}

func TestOpenTwice(t *testing.T) {
	t.Parallel()
	path := made(t)
	open(t, path, sqlite.Options{})
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := sqlite.Open(context.Background(), name, sqlite.Options{}); !errors.Is(err, sqlite.ErrLocked) {
			t.Errorf("Open(%s) while it is open: %v, want %v", name, err, sqlite.ErrLocked)
		}
		refused(t, name, "another kernelctl process", "--db")
	}
}

func TestOpenForeign(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "other.db")
	raw(t, path, "PRAGMA journal_mode=DELETE", "CREATE TABLE t(x)", "INSERT INTO t VALUES (1)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, path, "something else", "--db")
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the file of another program was changed")
	}
}

func TestOpenNewer(t *testing.T) {
	t.Parallel()
	path := made(t)
	raw(t, path, "INSERT INTO migrations VALUES (99,'0099_future.sql','x',0)", "PRAGMA user_version=99")
	refused(t, path, "schema version 99", "newer kernelctl")
}

func TestOpenOtherMigration(t *testing.T) {
	t.Parallel()
	path := made(t)
	raw(t, path, "UPDATE migrations SET sum='x' WHERE version=1")
	refused(t, path, "0001_init.sql", "another build")
}

func TestOpenMissingMigration(t *testing.T) {
	t.Parallel()
	path := made(t)
	raw(t, path, "DELETE FROM migrations WHERE version=1")
	refused(t, path, "schema steps were applied")
}

func TestOpenFolder(t *testing.T) {
	t.Parallel()
	refused(t, t.TempDir(), "folder")
}

func TestOpenNoDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "no database")
}

// TestOpenDamaged cuts and overwrites a file: opening or running it says what
// to do, or it is found to be whole enough; nothing panics.
func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(made(t))
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{}
	for _, size := range []int{50, 100, 4096, 4097, len(whole) / 2, len(whole) - 4096} {
		damaged[fmt.Sprintf("cut at %d", size)] = whole[:size]
	}
	for page := range len(whole) / 4096 {
		content := bytes.Clone(whole)
		for i := range 4096 {
			content[page*4096+i] = byte(i * 7)
		}
		damaged[fmt.Sprintf("page %d", page)] = content
	}
	for name, content := range damaged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "kernel.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			db, err := sqlite.Open(ctx, path, sqlite.Options{})
			if err == nil {
				_, _ = db.Agents(ctx)
				cancel()
				err = db.Run(ctx)
			}
			if err != nil && !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("%v; want it to say what to do", err)
			}
		})
	}
}
