package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// load creates executions from many goroutines at once.
func load(t *testing.T, db *sqlite.DB, callers, each int, input []byte) {
	t.Helper()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range each {
				if _, err := create(db, input); err != nil {
					t.Errorf("create: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestLogStaysBounded writes much more than the write-ahead log may hold.
func TestLogStaysBounded(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	const limit = 16 << 20
	for range 5 {
		load(t, db, 16, 50, bytes.Repeat([]byte("1"), 8<<10))
		if _, wal := db.Sizes(); wal > limit {
			t.Fatalf("the write-ahead log has %d bytes, want at most %d", wal, limit)
		}
	}
}

// TestIdleCheckpoint copies the log into the file when there is nothing to do.
func TestIdleCheckpoint(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	load(t, db, 1, 10, bytes.Repeat([]byte("1"), 40<<10))
	before, wal := db.Sizes()
	if wal < 400<<10 {
		t.Fatalf("the write-ahead log has %d bytes: the test has to write more", wal)
	}
	eventually(t, "the file grows by what the log holds", func() bool {
		file, _ := db.Sizes()
		return file >= before+400<<10
	})
}

// TestPinnedLog has a reader hold on to a snapshot while much is written: the
// writer does not wait for it, and the log shrinks when it is gone.
func TestPinnedLog(t *testing.T) {
	t.Parallel()
	path := made(t)
	db := open(t, path, sqlite.Options{})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	reader, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	tx, err := reader.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM events").Scan(&n); err != nil {
		t.Fatal(err)
	}
	const big = 66 << 20
	for wal := int64(0); wal < big; _, wal = db.Sizes() {
		load(t, db, 4, 1, bytes.Repeat([]byte("1"), 2<<20))
	}
	var slowest time.Duration
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; { // it comes to rest once in between
		resting, cancel := context.WithTimeout(context.Background(), 1100*time.Millisecond)
		<-resting.Done()
		cancel()
		before := time.Now()
		if err := putAgent(db); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(before))
	}
	if slowest > 3*time.Second {
		t.Errorf("a write took %s while a reader held the log: the writer waits for it", slowest)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the write-ahead log shrinks", func() bool { _, wal := db.Sizes(); return wal < 1<<20 })
}

// TestUnderManyCallers takes more operations at once than its queue holds: who
// finds no place is told so, and the others are served.
func TestUnderManyCallers(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{Queue: 2})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	release, held := make(chan struct{}), make(chan struct{})
	results := make(chan error, 4)
	go func() { results <- hold(db, held, release) }()
	<-held
	for range 2 {
		go func() { results <- putAgent(db) }()
	}
	eventually(t, "the queue is full", func() bool { return db.QueueLength() == 2 })
	if err := putAgent(db); fmt.Sprint(err) != "the writer's queue is full" {
		t.Errorf("Update with a full queue: %v", err)
	}
	close(release)
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
