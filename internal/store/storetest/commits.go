package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// testCommitted tells of every operation after its commit, in commit order.
func testCommitted(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	w.live()
	m := w.running(2)
	good, bad := w.next(m[0]), w.next(m[1])
	w.together(func(tx store.Tx) error { return errors.Join(bad.closure(tx), errRefused) }, good.closure)
	w.settle(good)
	w.close() // whatever it had to tell is told
	var want []kernel.Record
	for _, m := range w.models {
		want = append(want, m.log...)
	}
	byPosition := make([]kernel.Record, len(want))
	for _, r := range want {
		byPosition[r.Event.Pos-1] = r
	}
	var got []kernel.Record
	claims := 0
	for _, c := range w.committed {
		got = append(got, c.Records...)
		if _, ok := c.Command.(*kernel.ClaimDispatch); ok {
			claims++
			if len(c.Records) != 0 || c.Dispatch.Status != kernel.DispatchInFlight || c.ExpiresAt.IsZero() {
				t.Errorf("a claim is told as %+v", c)
			}
		}
		if len(c.Records) == 0 && c.Dispatch == (kernel.Dispatch{}) {
			t.Errorf("%T is told, and stored nothing", c.Command)
		}
	}
	if diff := gocmp.Diff(byPosition, got, equal...); diff != "" {
		t.Errorf("records (-model +told):\n%s", diff)
	}
	if claims == 0 {
		t.Error("no claim was told")
	}
}

// testCommittedFacts tells what a timer has to know.
func testCommittedFacts(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	last := func() store.Committed {
		t.Helper()
		w.restart() // whatever it had to tell is told
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.committed[len(w.committed)-1]
	}
	m := w.create(creation{deadline: w.now.Add(time.Hour)})
	if c := last(); c.Execution != m.id || c.No != m.state.No || c.Agent != "mailer" || c.Status != kernel.StatusPending ||
		c.WakeAt != m.state.Deadline || c.Dispatch != m.lease.Dispatch {
		t.Errorf("a creation is told as %+v", c)
	}
	h := w.start(m)
	w.submit(m, submission{caller: h, ruling: ask})
	if c := last(); c.Status != kernel.StatusBlocked || c.WakeAt != m.state.Block.TimeoutAt || c.Dispatch.Status != kernel.DispatchDone {
		t.Errorf("a block is told as %+v", c)
	}
	w.decide(m, kernel.ApprovalStatusGranted, "alice", "")
	if c := last(); !c.WakeAt.IsZero() || c.Dispatch.Status != kernel.DispatchPending {
		t.Errorf("a grant is told as %+v", c)
	}
}

// testReadYourWrites reads after every answer what it said, with many at it.
func testReadYourWrites(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	const writers, rounds = 8, 20
	var wrong atomic.Int64
	done := make(chan error, writers)
	for i := range writers {
		go func() {
			id := kernel.AgentID(rune('a' + i))
			done <- func() error {
				for n := range rounds {
					spec := store.AgentSpec{ID: id, WebhookURL: "http://x", Secret: "s", Lease: time.Duration(n) * time.Second}
					if err := w.update(func(tx store.Tx) error { return tx.PutAgent(spec, kernel.Instant(n+1)) }); err != nil {
						return err
					}
					a, err := w.store.Agent(context.Background(), id)
					if err != nil {
						return err
					}
					if a.UpdatedAt != kernel.Instant(n+1) || a.Lease != spec.Lease {
						wrong.Add(1)
					}
				}
				return nil
			}()
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d reads did not see what was answered before", n)
	}
}

// testContexts leaves out an operation whose caller has gone before its turn.
func testContexts(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ran := false
	err := w.store.Update(ctx, func(store.Tx) error { ran = true; return nil })
	if !errors.Is(err, context.Canceled) || ran {
		t.Errorf("Update with a context that ended: %v, ran: %t", err, ran)
	}
}

// testChore does maintenance like anything else, while nothing else waits.
func testChore(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	if err := w.store.Chore(context.Background(), func(tx store.Tx) error { return tx.Probe(w.now) }); err != nil {
		t.Errorf("Chore: %v", err)
	}
	if err := w.store.Chore(context.Background(), func(store.Tx) error { return errRefused }); !errors.Is(err, errRefused) {
		t.Errorf("Chore that fails: %v, want %v", err, errRefused)
	}
	w.close()
	if err := w.store.Chore(context.Background(), func(store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Chore after the end: %v, want %v", err, store.ErrClosed)
	}
}

// testEnded refuses everything after an orderly end, and runs only once.
func testEnded(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	w.close()
	if err := w.update(func(store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Update after the end: %v, want %v", err, store.ErrClosed)
	}
	if _, err := w.store.Agents(context.Background()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Agents after the end: %v, want %v", err, store.ErrClosed)
	}
	if err := w.store.Run(context.Background()); err == nil {
		t.Error("Run twice: no error")
	}
}
