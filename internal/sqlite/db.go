package sqlite

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/pack"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Options tune a database; the zero value is right.
type Options struct {
	// Readers is how many reads run at once; 0 means 4.
	Readers int
	// Queue is how many operations may wait for the writer; 0 means 1024.
	Queue int
	// Resident bounds what stays folded in memory, in steps; an execution is
	// worth four of them. 0 means 400,000 (roughly 150 MB of heap).
	Resident int
	// OnCommit is told of every operation after its commit, in commit order, by
	// the writer: it must not block.
	OnCommit func([]store.Committed)
	// Stats is told of every batch; may be nil.
	Stats store.Stats
	// Fault is asked before each statement that writes (0), before each commit
	// (1) and after it (2), and makes it fail with what it returns. For tests;
	// nil in production.
	Fault func(point int) error
	// Logger gets the few things worth knowing; nil discards them.
	Logger *slog.Logger
}

// DB is an open database. It implements [store.Store].
type DB struct {
	path    string
	opts    Options
	log     *slog.Logger
	lock    *flock.Flock
	write   *sql.DB
	read    *sql.DB
	queries *queries
	ops     chan *operation
	chores  chan *operation
	// Not shared between databases: a test in a synctest bubble may not see a
	// channel that was made outside of it.
	operations sync.Pool
	codec      pack.Codec
	bases      bases

	mu      sync.RWMutex // guards stopped against a send on ops
	stopped error
	running atomic.Bool
	closed  atomic.Bool // reads fail from now on, in whatever words
	opened  time.Time
}

var _ store.Store = (*DB)(nil)

func withDefaults(o Options) Options {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.Queue <= 0 {
		o.Queue = 1024
	}
	if o.Resident <= 0 {
		o.Resident = 400_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnCommit == nil {
		o.OnCommit = func([]store.Committed) {}
	}
	return o
}

// Path is the absolute path of the database file.
func (db *DB) Path() string { return db.path }

// Sizes are the bytes of the database file and of its write-ahead log.
func (db *DB) Sizes() (file, wal int64) {
	// Never opens the files: closing any descriptor of them would drop SQLite's locks.
	if info, err := os.Stat(db.path); err == nil {
		file = info.Size()
	}
	if info, err := os.Stat(db.path + "-wal"); err == nil {
		wal = info.Size()
	}
	return file, wal
}

// QueueLength is how many operations wait for the writer.
func (db *DB) QueueLength() int { return len(db.ops) }

// Backlog implements [store.Writer].
func (db *DB) Backlog() float64 { return float64(len(db.ops)) / float64(cap(db.ops)) }

// Close releases a database whose Run was never started, and never will be;
// Run closes by itself.
func (db *DB) Close() error {
	if !db.running.CompareAndSwap(false, true) {
		return nil
	}
	return db.shut(store.ErrClosed)
}

// shut refuses new operations, fails those that wait and releases everything.
func (db *DB) shut(why error) error {
	db.refuse(why)
	db.drain()
	return db.release()
}

func (db *DB) release() error {
	db.closed.Store(true)
	var errs []error
	if db.queries != nil {
		db.queries.close()
	}
	if db.read != nil {
		errs = append(errs, db.read.Close())
	}
	if db.write != nil {
		errs = append(errs, db.write.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.Unlock())
	}
	return errors.Join(errs...)
}

// now is the moment at which an operation is applied, in microseconds.
func now() kernel.Instant { return kernel.At(time.Now()) }
