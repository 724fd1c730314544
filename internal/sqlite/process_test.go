package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// childOpen opens a database, writes to it, and says why it cannot.
func childOpen(args []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := sqlite.Open(ctx, args[0], sqlite.Options{})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	if err := db.Update(ctx, func(tx store.Tx) error { return tx.Probe(kernel.Instant(1)) }); err != nil {
		return err
	}
	cancel()
	return <-ended
}

func TestOpenFromAnotherProcess(t *testing.T) {
	t.Parallel()
	path := made(t)
	if out, err := child(t, "open", path).CombinedOutput(); err != nil {
		t.Fatalf("another process, alone: %v: %s", err, out)
	}
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, db)
	out, err := child(t, "open", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), sqlite.ErrLocked.Error()) {
		t.Errorf("another process, while it is open here: %v: %s; want %v", err, out, sqlite.ErrLocked)
	}
	stop()
	if out, err := child(t, "open", path).CombinedOutput(); err != nil {
		t.Errorf("another process, after it was closed here: %v: %s", err, out)
	}
}

// TestOpenReadOnly opens what cannot be written, as a user who is not root.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes mean something else here")
	}
	for _, c := range []struct {
		name         string
		folder, file os.FileMode
		lock         bool // the lock file is there, and can be written
	}{
		{"file", 0o777, 0o444, true},
		{"folder", 0o555, 0o666, true},
		{"folder and no lock", 0o555, 0o666, false},
		{"secret", 0o777, 0o000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := made(t)
			if !c.lock {
				if err := os.Remove(path + ".lock"); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Chmod(path+".lock", 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Dir(path)
			if err := os.Chmod(folder, c.folder); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
			out, err := asNobody(t, child(t, "open", path)).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "check owner") {
				t.Errorf("Open: %v: %s; want it to name owner and mode", err, out)
			}
		})
	}
}
