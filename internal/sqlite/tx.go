package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// tx is the writer's transaction: one for the whole batch. It begins with the
// first write, so that a batch of replays and heartbeats costs no flush.
type tx struct {
	w       *writer
	began   bool
	writes  int      // statements that changed something, ever
	bytes   int      // of bodies in this transaction, as they are stored
	bodies  []packed // of the operation at hand
	batch   uint64
	pos     int64 // the last position used
	saved   int64 // the last position committed
	chain   kernel.Chain
	payload []byte

	buckets   map[string]*kernel.Bucket
	kept      map[kernel.ExecutionID]kept // of executions dropped by a rollback
	used      []string                    // buckets changed in this transaction
	changed   []*resident                 // executions changed in this transaction
	evicted   []*resident                 // executions that left memory in this transaction
	settled   []settled                   // what to take back in memory
	failed    error                       // the database's: nothing of the transaction can stand
	pending   []store.Committed
	committed []store.Committed

	fault func(faultPoint) error // of tests, which make writing fail with it
}

// faultPoint is a place where a test can make writing fail.
type faultPoint int

const (
	beforeStatement faultPoint = iota
	beforeCommit
	afterCommit
)

// kept is what is nowhere else of an execution that a rollback dropped from
// memory: who holds it until when, and what the attempt submitted.
type kept struct {
	no    int64
	lease kernel.Lease
}

var _ store.Tx = (*tx)(nil)

func (t *tx) start() error {
	t.buckets = make(map[string]*kernel.Bucket)
	t.kept = make(map[kernel.ExecutionID]kept)
	if fault := t.w.db.opts.Fault; fault != nil {
		t.fault = func(at faultPoint) error { return fault(int(at)) }
	}
	err := t.w.sql.lastPos.query(func(row []driver.Value) error {
		t.pos = asInt(row[0])
		return nil
	})
	t.saved = t.pos
	return err
}

// exec runs a statement that writes. Once one has failed, nothing of the
// transaction can stand, whatever the operation makes of the error.
func (t *tx) exec(s *stmt, args ...any) error {
	if err := t.begin(); err != nil {
		return t.fail(err)
	}
	if t.fault != nil {
		if err := t.fault(beforeStatement); err != nil {
			return t.fail(err)
		}
	}
	if err := s.exec(args...); err != nil {
		return t.fail(err)
	}
	return nil
}

func (t *tx) fail(err error) error {
	if t.failed == nil {
		t.failed = err
	}
	return err
}

func (t *tx) begin() error {
	t.writes++
	if t.began {
		return nil
	}
	if err := t.w.sql.begin.exec(); err != nil {
		return err
	}
	t.began = true
	return t.w.evict()
}

func (t *tx) commit() error {
	if t.failed != nil {
		return t.failed
	}
	if !t.began {
		t.settle()
		return nil
	}
	if err := t.end(); err != nil {
		return err
	}
	t.began, t.w.wrote = false, true
	t.saved = t.pos
	t.settle()
	return nil
}

// end carries out the commit.
func (t *tx) end() error {
	if t.fault == nil {
		return t.w.sql.commit.exec()
	}
	if err := t.fault(beforeCommit); err != nil {
		return err
	}
	if err := t.w.sql.commit.exec(); err != nil {
		return err
	}
	return t.fault(afterCommit)
}

func (t *tx) settle() {
	t.committed = append(t.committed, t.pending...)
	t.reset()
}

// rollback forgets the transaction, and everything in memory that it touched.
func (t *tx) rollback() {
	if t.began {
		t.began = false
		// SQLite may have rolled back by itself (a full disk, say); then there is nothing to undo.
		if err := t.w.sql.rollback.exec(); err != nil && code(err) != codeError {
			t.w.broken = err
		}
	}
	t.unsettle(0)
	// Their states are read again from the rows; what their attempts submitted
	// is nowhere else. Of an execution that left memory and came back, the
	// state before it left is the right one.
	for _, r := range t.changed {
		t.w.cache.drop(r)
		t.keep(r)
	}
	for _, r := range t.evicted {
		if !r.state.Status.Terminal() {
			t.keep(r)
		}
	}
	for _, name := range t.used {
		delete(t.buckets, name)
	}
	t.pos = t.saved
	t.reset()
}

// unsettle takes back what plans did to leases, from the n-th on.
func (t *tx) unsettle(n int) {
	for i := len(t.settled) - 1; i >= n; i-- {
		t.settled[i].undo()
	}
	clear(t.settled[n:])
	t.settled = t.settled[:n]
}

func (t *tx) keep(r *resident) {
	if r.lease.Memory != nil || r.lease.Live() {
		t.kept[r.state.ID] = kept{r.state.No, r.lease}
	}
}

func (t *tx) reset() {
	clear(t.changed)
	clear(t.evicted)
	clear(t.pending)
	clear(t.settled)
	t.changed, t.evicted, t.used, t.pending, t.settled = t.changed[:0], t.evicted[:0], t.used[:0], t.pending[:0], t.settled[:0]
	t.bytes, t.failed = 0, nil
	t.batch++
}

func (t *tx) takeCommitted() []store.Committed {
	if len(t.committed) == 0 {
		return nil
	}
	out := t.committed
	t.committed = nil
	return out
}

// settled is the effect of one plan on a lease.
type settled struct {
	r      *resident
	before kernel.Lease
	plan   *kernel.Plan
}

func (s *settled) undo() { s.plan.Unsettle(&s.r.lease, s.before) }

// touch notes that r is not what the database says until the commit.
func (t *tx) touch(r *resident) {
	if r.touched != t.batch+1 {
		r.touched = t.batch + 1
		t.changed = append(t.changed, r)
	}
}

// Load implements [store.Tx].
func (t *tx) Load(id kernel.ExecutionID) (*kernel.State, *kernel.Lease, error) {
	r := t.w.cache.get(id)
	if r == nil {
		var err error
		if r, err = t.w.load(id); err != nil {
			return nil, nil, err
		}
		if k, ok := t.kept[id]; ok {
			r.lease = k.lease
			delete(t.kept, id)
		}
		t.w.cache.put(r)
	}
	return &r.state, &r.lease, nil
}

// Probe implements [store.Tx].
func (t *tx) Probe(at kernel.Instant) error { return t.exec(t.w.sql.probe, int64(at)) }

// one runs a query that gives at most one row and reports whether it did.
func one(s *stmt, each func(row []driver.Value) error, args ...any) (found bool, err error) {
	err = s.query(func(row []driver.Value) error {
		found = true
		return each(row)
	}, args...)
	return found, err
}

func notFound(found bool, err error, what string, args ...any) error {
	if err != nil || found {
		return err
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), store.ErrNotFound)
}
