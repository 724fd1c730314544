package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// smallDisk is a file system of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

// TestFullDisk fills a disk: writes are refused, reads go on, nothing that was
// acknowledged is lost, and when there is space again everything works.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "kernel.db")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, db)
	defer stop()
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	fill := func() (ids []kernel.ExecutionID) {
		t.Helper()
		for size := 64 << 10; size > 16; size /= 2 { // to the last byte
			for {
				id, err := create(db, bytes.Repeat([]byte("1"), size))
				if err != nil {
					if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
						t.Fatalf("create on a full disk: %v", err)
					}
					break
				}
				ids = append(ids, id)
			}
		}
		return ids
	}
	check := func(ids []kernel.ExecutionID) {
		t.Helper()
		for _, id := range ids {
			if _, err := db.Execution(context.Background(), id); err != nil {
				t.Errorf("acknowledged, and lost: %v", err)
			}
		}
	}
	ids := fill()
	check(ids)
	if len(ids) == 0 {
		t.Fatal("nothing fitted on the disk")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	more := fill()
	if len(more) == 0 {
		t.Error("nothing was taken when there was space again")
	}
	ids = append(ids, more...)
	check(ids)
	if report := verify(t, path); !report.OK() {
		t.Errorf("on the full disk: %v", report.Problems)
	}
	if _, err := sqlite.Backup(context.Background(), path, filepath.Join(folder, "copy.db"), sqlite.BackupOptions{}); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("Backup to the full disk: %v", err)
	}
	stop()
	db = open(t, path, sqlite.Options{})
	check(ids)
}
