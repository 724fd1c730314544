package storetest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// together runs closures in one batch, in order, and returns their errors.
func (w *world) together(closures ...func(store.Tx) error) []error {
	w.t.Helper()
	held, release := make(chan struct{}), make(chan struct{})
	var hold sync.Once
	errs := make([]error, len(closures)+1)
	var group sync.WaitGroup
	group.Go(func() {
		errs[0] = w.update(func(store.Tx) error {
			hold.Do(func() { close(held) })
			<-release
			return nil
		})
	})
	<-held
	for i, fn := range closures {
		group.Go(func() { errs[i+1] = w.update(fn) })
		for w.d.Queued(w.store) <= i {
			runtime.Gosched()
		}
	}
	close(release)
	group.Wait()
	return errs[1:]
}

// fail makes the store fail where fault says.
func (w *world) fail(fault Fault) {
	w.t.Helper()
	if err := w.d.Fail(w.store, fault); err != nil {
		w.t.Fatalf("Fail: %v", err)
	}
}

// nth fails at the n-th time (from 1) that a point is passed.
func nth(n int, at Point, err error) Fault {
	return func(p Point) error {
		if p != at {
			return nil
		}
		if n--; n == 0 {
			return err
		}
		return nil
	}
}

// from fails from the n-th time on.
func from(n int, at Point, err error) Fault {
	return func(p Point) error {
		if p != at {
			return nil
		}
		if n--; n <= 0 {
			return err
		}
		return nil
	}
}

// always fails at a point.
func always(at Point, err error) Fault {
	return func(p Point) error {
		if p == at {
			return err
		}
		return nil
	}
}

// running are executions in flight whose attempt has submitted something.
func (w *world) running(n int) []*model {
	w.t.Helper()
	models := make([]*model, n)
	for i := range models {
		models[i] = w.create(creation{})
		w.submit(models[i], submission{caller: w.start(models[i]), key: "first"})
	}
	return models
}

// next is the same submit as the one before, which only the counters of the
// attempt tell from it.
func (w *world) next(m *model) *operation {
	return w.plan(m, w.submitCommand(m, submission{caller: m.lease.Holder, key: "second"}))
}

var errRefused = errors.New("refused after it wrote")

// testRefusedOperation has an operation of a batch fail by itself after it
// wrote: it leaves no trace, and the others happen.
func testRefusedOperation(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.running(4)
	good, bad, heartbeat, last := w.next(m[0]), w.next(m[1]), w.plan(m[2], &kernel.Heartbeat{Caller: m[2].lease.Holder}), w.next(m[3])
	errs := w.together(
		good.closure,
		func(tx store.Tx) error { return errors.Join(bad.closure(tx), errRefused) },
		func(tx store.Tx) error { return errors.Join(heartbeat.closure(tx), errRefused) }, // wrote nothing
		last.closure,
	)
	if errs[0] != nil || errs[3] != nil || !errors.Is(errs[1], errRefused) || !errors.Is(errs[2], errRefused) {
		t.Fatalf("errors of the batch: %v; want the second and the third to be refused", errs)
	}
	w.settle(good)
	w.settle(last)
	w.check()
	for _, x := range m {
		w.do(x, w.submitCommand(x, submission{caller: x.lease.Holder, key: "third"}))
	}
	w.restart()
	w.check()
	w.verify()
}

// testPanickingOperation has one panic: it fails, and nobody else.
func testPanickingOperation(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.running(2)
	good, bad := w.next(m[0]), w.next(m[1])
	errs := w.together(
		func(tx store.Tx) error {
			if err := bad.closure(tx); err != nil {
				return err
			}
			panic("a fault of the operation")
		},
		good.closure,
	)
	if errs[0] == nil || errs[1] != nil {
		t.Fatalf("errors of the batch: %v; want the first to fail", errs)
	}
	w.settle(good)
	w.check()
}

// testFaultInABatch fails once, at any statement or at the commit: every
// operation is tried again alone and happens, once.
func testFaultInABatch(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{Resident: 1})
	defer w.close()
	m := w.running(3)
	for n := range 12 {
		fault := nth(n, BeforeStatement, d.Faults.Full)
		if n == 0 {
			fault = nth(1, BeforeCommit, d.Faults.Full)
		}
		var ops []*operation
		var closures []func(store.Tx) error
		for _, x := range m {
			w.adopt(x)
			op := w.plan(x, w.submitCommand(x, submission{caller: x.lease.Holder}))
			ops, closures = append(ops, op), append(closures, op.closure)
		}
		w.fail(fault)
		for i, err := range w.together(closures...) {
			if err != nil {
				t.Fatalf("fault %d: operation %d: %v, want it to be tried again", n, i, err)
			}
		}
		w.fail(nil)
		for _, op := range ops {
			w.settle(op)
		}
		w.check()
	}
	w.kill()
	w.check()
	w.verify()
}

// testFullDisk refuses what would be written while there is no space, serves
// what needs none, and goes on when there is space again.
func testFullDisk(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.running(2)
	for _, at := range []Point{BeforeStatement, BeforeCommit} {
		w.fail(always(at, d.Faults.Full))
		for _, x := range m {
			if _, err := w.try(x, w.submitCommand(x, submission{caller: x.lease.Holder, target: "other"})); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a submit to a full disk: %v, want %v", err, store.ErrUnavailable)
			}
			w.do(x, &kernel.Heartbeat{Caller: x.lease.Holder})
			w.submit(x, submission{caller: x.lease.Holder, key: "first"}) // the answer is remembered
		}
		if err := w.update(func(tx store.Tx) error { return tx.Probe(w.now) }); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Probe of a full disk: %v, want %v", err, store.ErrUnavailable)
		}
		w.fail(nil)
		w.check()
		for _, x := range m {
			w.submit(x, submission{caller: x.lease.Holder, target: "other"})
		}
	}
	w.check()
	w.restart()
	w.check()
	w.verify()
}

// testBusyDatabase waits for somebody else who holds the database for a
// moment, and gives up without harm when it takes too long.
func testBusyDatabase(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.running(1)[0]
	w.fail(nth(1, BeforeStatement, d.Faults.Busy))
	w.submit(m, submission{caller: m.lease.Holder})
	w.fail(always(BeforeStatement, d.Faults.Busy))
	if _, err := w.try(m, w.submitCommand(m, submission{caller: m.lease.Holder})); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a submit to a database that is held: %v, want %v", err, store.ErrUnavailable)
	}
	w.fail(nil)
	w.submit(m, submission{caller: m.lease.Holder})
	w.check()
}

// testFailedFlush stops the store: what is on the disk is unknown until it is
// opened again.
func testFailedFlush(t *testing.T, d Driver) {
	for name, at := range map[string]Point{"before": BeforeCommit, "after": AfterCommit, "statement": BeforeStatement} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d, t.TempDir(), Options{})
			m := w.running(2)
			w.check()
			first, second := w.next(m[0]), w.next(m[1])
			w.fail(always(at, d.Faults.IO))
			for i, err := range w.together(first.closure, second.closure) {
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("operation %d: %v, want %v", i, err, store.ErrUnavailable)
				}
			}
			if err := <-w.ended; err == nil {
				t.Error("Run goes on after a failed flush")
			}
			w.end()
			w.end = nil
			if err := w.update(func(store.Tx) error { return nil }); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Update afterwards: %v, want %v", err, store.ErrUnavailable)
			}
			if _, err := w.store.Execution(context.Background(), m[0].id); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a read afterwards: %v, want %v", err, store.ErrUnavailable)
			}
			if at == AfterCommit {
				w.settle(first)
				w.settle(second)
			}
			w.open()
			for _, x := range w.models {
				x.fresh, x.crash = true, true
			}
			w.check()
			w.verify()
		})
	}
}
