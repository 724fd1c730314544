package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// applicationID marks the file as ours ("kctl").
const applicationID = 0x6b63746c

// Options tune a database; the zero value is right.
type Options struct {
	// Readers is how many reads run at once; 0 means 4.
	Readers int
	// Queue is how many operations may wait for the writer; 0 means 1024.
	Queue int
	// Resident bounds what stays folded in memory, in steps and executions
	// together; 0 means 400,000 (roughly 150 MB).
	Resident int
	// OnCommit is told of every operation after its commit, in commit order, by
	// the writer: it must not block.
	OnCommit func([]store.Committed)
	// Stats is told of every batch; may be nil.
	Stats store.Stats
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

	mu      sync.RWMutex // guards stopped against a send on ops
	stopped error
	running atomic.Bool
	closed  atomic.Bool // reads fail from now on, in whatever words
	opened  time.Time
}

var _ store.Store = (*DB)(nil)

// ErrLocked says that another process has the database open.
var ErrLocked = errors.New("another kernelctl process has this database open")

// Open opens or creates the database file at path, takes its lock, brings its
// schema up to date and checks that it is one of ours, durable and readable.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database path %q: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return nil, fmt.Errorf("create the database's folder: %w", err)
	}
	db := &DB{path: abs, opts: withDefaults(opts), opened: time.Now()}
	db.log = db.opts.Logger
	db.lock = flock.New(abs + ".lock")
	held, err := db.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", abs+".lock", err)
	}
	if !held {
		return nil, fmt.Errorf("%w: %s (stop it, or give this one another --db)", ErrLocked, abs)
	}
	if err := db.connect(ctx); err != nil {
		return nil, errors.Join(err, db.release())
	}
	return db, nil
}

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

func (db *DB) connect(ctx context.Context) error {
	var err error
	if db.write, err = sql.Open("sqlite", dsn(db.path, writerParams())); err != nil {
		return fmt.Errorf("open %s: %w", db.path, err)
	}
	db.write.SetMaxOpenConns(1)
	if err := db.checkFile(ctx); err != nil {
		return fmt.Errorf("open %s: %w", db.path, explain(err))
	}
	if err := migrate(ctx, db.write, db.path, db.log); err != nil {
		return fmt.Errorf("open %s: %w", db.path, explain(err))
	}
	if db.read, err = sql.Open("sqlite", dsn(db.path, readerParams())); err != nil {
		return fmt.Errorf("open %s for reading: %w", db.path, err)
	}
	db.read.SetMaxOpenConns(db.opts.Readers)
	db.read.SetMaxIdleConns(db.opts.Readers)
	if db.queries, err = prepareQueries(ctx, db.read); err != nil {
		return fmt.Errorf("open %s for reading: %w", db.path, explain(err))
	}
	db.ops = make(chan *operation, db.opts.Queue)
	db.chores = make(chan *operation, 4)
	return nil
}

// checkFile refuses a file that is not ours or cannot be made durable.
func (db *DB) checkFile(ctx context.Context) error {
	var mode string
	var level, id, tables int
	for _, q := range []struct {
		sql string
		to  any
	}{
		{"PRAGMA application_id", &id},
		{"SELECT count(*) FROM sqlite_schema", &tables},
		{"PRAGMA journal_mode", &mode},
		{"PRAGMA synchronous", &level},
	} {
		if err := db.write.QueryRowContext(ctx, q.sql).Scan(q.to); err != nil {
			return err
		}
	}
	if tables > 0 && id != applicationID {
		return errors.New("the file is a SQLite database of something else: give another --db")
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
			"cache_size(-16384)",
			"temp_store(MEMORY)",
		},
		"_dqs": {"0"},
	}
}

func readerParams() url.Values {
	return url.Values{
		"_busy_timeout": {busyTimeout},
		"_pragma":       {"wal_autocheckpoint(0)", "cache_size(-16384)", "temp_store(MEMORY)"},
		"_query_only":   {"1"},
		"_dqs":          {"0"},
	}
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

// explain adds what an operator can do to the errors that SQLite gives.
func explain(err error) error {
	switch code(err) & 0xff {
	case codeFull:
		return fmt.Errorf("the disk is full: free some space: %w", err)
	case codeReadOnly, codeCantOpen, codePerm:
		return fmt.Errorf("the database file or its folder cannot be written: check owner, mode and mount: %w", err)
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("the file is damaged or no database: keep it, and restore a backup: %w", err)
	case codeBusy, codeLocked:
		return fmt.Errorf("another program holds the database: %w", err)
	}
	if err != nil && strings.Contains(err.Error(), "no such file") {
		return fmt.Errorf("the database's folder does not exist: %w", err)
	}
	return err
}
