package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// smallDisk is a file system of a few bytes.
func smallDisk(t *testing.T, size int64) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
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
	folder := smallDisk(t, 3<<20)
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

var fillings = flag.Int("sqlite.fillings", 5, "how often to fill the disk under load")

// TestFullDiskUnderLoad fills a disk and frees it, again and again, while many
// write at once, so that whole batches fail in the middle and at their commit.
func TestFullDiskUnderLoad(t *testing.T) {
	t.Parallel()
	const capacity = 64 << 20
	folder := smallDisk(t, capacity)
	path, ballast := filepath.Join(folder, "kernel.db"), filepath.Join(folder, "ballast")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, db)
	defer stop()
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) //nolint:gosec // whatever comes
	last := make(map[kernel.ExecutionID]bool)                    // acknowledged, and not removed
	times := *fillings
	if raceEnabled { // which makes it many times slower
		times = 1
	}
	for n := range times {
		if err := os.WriteFile(ballast, make([]byte, capacity), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		if err := os.Truncate(ballast, max(0, size(t, ballast)-r.Int64N(300<<10))); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var group sync.WaitGroup
		refused := make(chan struct{}, 16)
		for range 16 {
			body := bytes.Repeat([]byte("1"), 1+r.IntN(4<<10))
			group.Go(func() {
				for range 40 {
					id, err := create(db, body)
					if err != nil {
						refused <- struct{}{}
						return
					}
					mu.Lock()
					last[id] = true
					mu.Unlock()
				}
			})
		}
		go func() { group.Wait(); close(refused) }()
		if _, ok := <-refused; !ok { // and the others still try
			t.Fatal("nothing was refused: the test has to write more")
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for range refused { // until all have ended
		}
		eventually(t, "writes are taken again", func() bool { return putAgent(db) == nil })
		if report := verify(t, path); !report.OK() {
			t.Fatalf("after filling %d: %v", n, report.Problems)
		}
		for id := range last {
			if _, err := db.Execution(context.Background(), id); err != nil {
				t.Fatalf("after filling %d: acknowledged, and lost: %v", n, err)
			}
		}
		if size(t, path) > capacity/4 { // else it would never fit again
			removeAll(t, r, db, last)
		}
	}
	stop()
	open(t, path, sqlite.Options{})
}

// removeAll ends executions and has retention remove them.
func removeAll(t *testing.T, r *rand.Rand, db *sqlite.DB, all map[kernel.ExecutionID]bool) {
	t.Helper()
	for id := range all {
		if err := db.Update(context.Background(), func(tx store.Tx) error {
			s, l, err := tx.Load(id)
			if err != nil {
				return err
			}
			c := &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled}
			var seed [10]byte
			binary.NativeEndian.PutUint64(seed[:], r.Uint64())
			kernel.Stamp(c, now(), seed)
			return decide(tx, s, l, c)
		}); err != nil {
			t.Fatalf("cancel: %v", err)
		}
	}
	for n := 50; n == 50; {
		if err := db.Update(context.Background(), func(tx store.Tx) (err error) {
			n, err = tx.Expire(now().Add(time.Second), 50)
			return err
		}); err != nil {
			t.Fatalf("expire: %v", err)
		}
	}
	clear(all)
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
