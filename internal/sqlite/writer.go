package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/agentkernel/kernelctl/internal/store"
)

const (
	maxBatch      = 256     // operations in one commit
	maxBatchBytes = 4 << 20 // of bodies in one commit: bounds how long a small one waits for large ones
	idleAfter     = time.Second
	busyRetries   = 3
	walTooBig     = 64 << 20
)

// operation is one closure on its way through the writer.
type operation struct {
	ctx    context.Context
	fn     func(store.Tx) error
	bodies []packed
	err    error
	done   chan struct{} // one token, when err is final
}

func newOperation() any { return &operation{done: make(chan struct{}, 1)} }

// Update implements [store.Writer].
func (db *DB) Update(ctx context.Context, fn func(store.Tx) error, bodies ...store.Body) error {
	return db.submit(ctx, db.ops, fn, bodies)
}

// Chore is Update for maintenance: it runs only when nothing else waits.
func (db *DB) Chore(ctx context.Context, fn func(store.Tx) error) error {
	return db.submit(ctx, db.chores, fn, nil)
}

func (db *DB) submit(ctx context.Context, queue chan<- *operation, fn func(store.Tx) error, bodies []store.Body) error {
	op, _ := db.operations.Get().(*operation) // the pool makes nothing else
	op.ctx, op.fn, op.err = ctx, fn, nil
	op.bodies = db.pack(ctx, op.bodies[:0], bodies)
	db.mu.RLock()
	if why := db.stopped; why != nil {
		db.mu.RUnlock()
		return why
	}
	select {
	case queue <- op:
		db.mu.RUnlock()
	default:
		db.mu.RUnlock()
		return store.ErrOverloaded
	}
	// Once queued it will be answered: giving up here would leave it unknown
	// whether it happened. A context that ends before its turn is skipped.
	<-op.done
	err := op.err
	op.ctx, op.fn = nil, nil
	clear(op.bodies)
	db.operations.Put(op)
	return err
}

// writer is the state of the goroutine that writes.
type writer struct {
	db     *DB
	conn   conn
	sql    statements
	cache  cache
	tx     tx
	batch  []*operation
	wrote  bool // since the last checkpoint
	broken error

	refusals refusals
}

// Run implements [store.Store].
func (db *DB) Run(ctx context.Context) (err error) {
	if !db.running.CompareAndSwap(false, true) {
		return errors.New("the store runs already")
	}
	defer func() { err = errors.Join(err, db.shut(store.ErrClosed)) }()
	c, err := db.write.Conn(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("open the writer's connection: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return c.Raw(func(raw any) (err error) {
		below, err := newConn(raw)
		if err != nil {
			return err
		}
		w := &writer{db: db, conn: below, batch: make([]*operation, 0, maxBatch)}
		defer func() { err = errors.Join(err, w.conn.close()) }()
		if err := w.start(); err != nil {
			db.refuse(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
			return fmt.Errorf("start the writer: %w", explain(err))
		}
		return w.loop(ctx)
	})
}

func (w *writer) start() error {
	w.cache.init(w.db.opts.Resident)
	if err := w.sql.prepare(&w.conn); err != nil {
		return err
	}
	w.tx.w = w
	return w.tx.start()
}

func (w *writer) loop(ctx context.Context) error {
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	for w.broken == nil {
		select {
		case op := <-w.db.ops:
			w.run(op, w.db.ops)
			idle.Reset(idleAfter)
			continue
		case <-ctx.Done(): // also when there is always something to do
			return w.finish()
		default:
		}
		select {
		case op := <-w.db.ops:
			w.run(op, w.db.ops)
		case op := <-w.db.chores:
			w.run(op, nil)
		case <-idle.C:
			if w.rest() {
				idle.Reset(time.Hour)
				continue
			}
		case <-ctx.Done():
			return w.finish()
		}
		idle.Reset(idleAfter)
	}
	return w.stop()
}

// stop ends the work on a database that cannot be trusted any more.
func (w *writer) stop() error {
	w.db.refuse(fmt.Errorf("%w: %w", store.ErrUnavailable, w.broken))
	return fmt.Errorf("the database cannot be trusted any more: %w", explain(w.broken))
}

// rest copies the log into the file while there is nothing else to do, and
// reports whether nothing is left to copy: readers can hold it up.
func (w *writer) rest() (done bool) {
	if !w.wrote {
		return true
	}
	mode := w.sql.checkpoint
	if _, wal := w.db.Sizes(); wal > walTooBig {
		mode = w.sql.truncate
	}
	done, err := w.checkpoint(mode)
	if err != nil {
		w.db.log.Warn("checkpoint", slog.Any("err", explain(err)))
	}
	w.wrote = !done
	return done
}

// checkpoint never waits for readers: nobody could write meanwhile.
func (w *writer) checkpoint(mode *stmt) (done bool, err error) {
	if err := w.conn.once("PRAGMA busy_timeout(0)"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, w.conn.once("PRAGMA busy_timeout("+busyTimeout+")")) }()
	err = mode.query(func(row []driver.Value) error { // busy, frames in the log, frames copied
		done = asInt(row[0]) == 0 && asInt(row[1]) == asInt(row[2])
		return nil
	})
	return done, err
}

// finish serves what is queued, stores the leases and checkpoints.
func (w *writer) finish() error {
	w.db.refuse(store.ErrClosed)
	for w.broken == nil {
		select {
		case op := <-w.db.ops:
			w.run(op, w.db.ops)
			continue
		case op := <-w.db.chores:
			w.run(op, nil)
			continue
		default:
		}
		if err := w.storeLeases(); err != nil {
			return fmt.Errorf("store the leases: %w", explain(err))
		}
		// All of it is on the disk already: what was not copied now is at the next start.
		if _, err := w.checkpoint(w.sql.truncate); err != nil {
			w.db.log.Warn("checkpoint", slog.Any("err", explain(err)))
		}
		return nil
	}
	return w.stop()
}

// refuse makes every later Update fail with why, unless one was given before.
func (db *DB) refuse(why error) {
	db.mu.Lock()
	if db.stopped == nil {
		db.stopped = why
	}
	db.mu.Unlock()
}

// drain fails what is queued still. Nothing is added any more.
func (db *DB) drain() {
	for {
		var op *operation
		select {
		case op = <-db.ops:
		case op = <-db.chores:
		default:
			return
		}
		op.err = db.stopped
		op.done <- struct{}{}
	}
}

// run serves first and whatever else waits in more, in one commit.
func (w *writer) run(first *operation, more <-chan *operation) {
	w.batch = append(w.batch[:0], first)
	began := time.Now()
	err := w.fill(more)
	applied := time.Now()
	wrote := w.tx.began
	if err == nil {
		err = w.tx.commit()
	}
	switch {
	case err != nil:
		w.recover(err)
	case wrote:
		w.refusals.committed(w.db.log)
	}
	if s := w.db.opts.Stats; s != nil {
		s.Batch(len(w.batch), applied.Sub(began), time.Since(applied), wrote)
	}
	committed := w.tx.takeCommitted()
	for i, op := range w.batch {
		if op.err == nil {
			w.db.bases.keep(op.bodies)
		}
		op.done <- struct{}{}
		w.batch[i] = nil
	}
	if len(committed) > 0 {
		w.db.opts.OnCommit(committed)
	}
}

// fill applies operations until none waits or the batch is full. An error
// means that the transaction has to be undone.
func (w *writer) fill(more <-chan *operation) error {
	for i := 0; ; i++ {
		if err := w.apply(w.batch[i]); err != nil {
			return err
		}
		if len(w.batch) == maxBatch || w.tx.bytes >= maxBatchBytes || more == nil {
			return nil
		}
		select {
		case op := <-more:
			w.batch = append(w.batch, op)
		default:
			return nil
		}
	}
}

// apply runs one closure. Its own error stands when it wrote nothing; once it
// has, the transaction holds half an operation and has to be undone.
func (w *writer) apply(op *operation) (undo error) {
	if op.err = op.ctx.Err(); op.err != nil {
		return nil //nolint:nilerr // given up before its turn: nothing is to be undone
	}
	writes, plans := w.tx.writes, len(w.tx.settled)
	op.err = w.call(op)
	switch {
	case w.tx.failed != nil:
		return w.tx.failed
	case op.err == nil:
		return nil
	case w.tx.writes != writes || code(op.err) != 0:
		return op.err
	}
	w.tx.unsettle(plans)
	return nil
}

func (w *writer) call(op *operation) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.db.log.Error("an operation panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			w.tx.writes++ // whatever it did is undone
			err = fmt.Errorf("operation panicked: %v", p)
		}
	}()
	for i := range op.bodies {
		op.bodies[i].pos = 0
	}
	w.tx.bodies = op.bodies
	return op.fn(&w.tx)
}

// recover undoes the batch and runs its operations again, each in a
// transaction of its own, so that one that cannot be stored does not take the
// others with it.
func (w *writer) recover(cause error) {
	w.tx.rollback()
	if fatal(cause) {
		w.broken = cause
	}
	var busy error
	for _, op := range w.batch {
		switch {
		case w.broken != nil:
			op.err = fmt.Errorf("%w: %w", store.ErrUnavailable, w.broken)
		case busy != nil: // waiting again for each of them would take minutes
			op.err = busy
		default:
			if op.err = w.alone(op); isBusy(op.err) {
				busy = op.err
			}
		}
	}
}

func (w *writer) alone(op *operation) error {
	var err error
	for range busyRetries {
		if err := op.ctx.Err(); err != nil {
			return err
		}
		if err = w.call(op); err == nil || w.tx.failed != nil {
			err = w.tx.commit()
		}
		if err == nil {
			return nil
		}
		w.tx.rollback()
		if fatal(err) {
			w.broken = err
		}
		if w.broken != nil || !isBusy(err) {
			break
		}
	}
	if w.broken != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, w.broken)
	}
	if code(err) != 0 {
		w.refusals.refused(w.db.log, err)
		return fmt.Errorf("%w: %w", store.ErrUnavailable, explain(err))
	}
	return err
}

func isBusy(err error) bool { return code(err)&0xff == codeBusy }
