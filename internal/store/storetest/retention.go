package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// expire removes what ended before now, in the store and in the model.
func (w *world) expire(limit int) int {
	w.t.Helper()
	var n int
	err := w.update(func(tx store.Tx) (err error) {
		n, err = tx.Expire(w.now, limit)
		return err
	})
	if err != nil {
		w.t.Fatalf("Expire: %v", err)
	}
	return n
}

// forget has the model agree that executions are gone.
func (w *world) forget(gone ...*model) {
	for _, m := range gone {
		m.erased = true
		for i := len(w.approvals) - 1; i >= 0; i-- {
			if w.approvals[i].Execution == m.id {
				w.approvals = append(w.approvals[:i], w.approvals[i+1:]...)
			}
		}
	}
}

// testRetention removes every trace of what has ended, and nothing else.
func testRetention(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.live()
	var before, ended []*model
	for _, m := range w.models {
		switch {
		case !m.state.Status.Terminal():
		case m.state.UpdatedAt < w.now:
			before = append(before, m)
		default: // just now
			ended = append(ended, m)
		}
	}
	if len(before) == 0 || len(ended) == 0 {
		t.Fatalf("%d executions ended before, %d just now: the test has to have some of each", len(before), len(ended))
	}
	if n := w.expire(100); n != len(before) {
		t.Errorf("Expire: %d, want the %d that ended before", n, len(before))
	}
	w.forget(before...)
	w.check()
	ended = append(ended, before...)
	w.advance(time.Second)
	var total int
	for {
		n := w.expire(2)
		if n > 2 {
			t.Fatalf("Expire: %d, want at most 2", n)
		}
		if total += n; n == 0 {
			break
		}
	}
	if total != len(ended)-len(before) {
		t.Errorf("Expire removed %d, want %d", total, len(ended)-len(before))
	}
	w.forget(ended...)
	w.check()
	w.restart()
	for _, m := range ended {
		w.gone(m)
	}
	w.create(creation{key: "create", labels: map[string]string{"env": "prod"}}) // the key is free again
	w.check()
	w.verify()
}

// gone asks for an execution in every way.
func (w *world) gone(m *model) {
	w.t.Helper()
	ctx := context.Background()
	missing := func(what string, err error) {
		w.t.Helper()
		if !errors.Is(err, store.ErrNotFound) {
			w.t.Errorf("%s of an expired execution: %v, want %v", what, err, store.ErrNotFound)
		}
	}
	none := func(what string, n int, err error) {
		w.t.Helper()
		if n != 0 || err != nil {
			w.t.Errorf("%s of an expired execution: %d, %v; want none", what, n, err)
		}
	}
	missing("Load", w.update(func(tx store.Tx) error { _, _, err := tx.Load(m.id); return err }))
	_, err := w.store.Execution(ctx, m.id)
	missing("Execution", err)
	events, err := w.store.Events(ctx, m.state.No, m.id, 0, 10, nil)
	none("Events", len(events), err)
	steps, err := w.store.Steps(ctx, m.id)
	none("Steps", len(steps), err)
	approvals, err := w.store.Approvals(ctx, store.ApprovalQuery{Execution: m.id, Limit: 10})
	none("Approvals", len(approvals), err)
	for k, v := range m.state.Labels {
		page, _, err := w.store.Executions(ctx, store.ExecutionQuery{Labels: [][2]string{{k, v}}, Limit: 10})
		none("Executions by label", len(page), err)
	}
	for _, r := range m.log {
		_, err := w.store.Body(ctx, r.Event.Pos)
		missing(fmt.Sprintf("Body %d", r.Event.Pos), err)
	}
	for name := range w.buckets {
		if strings.HasPrefix(name, store.ExecutionBuckets(m.state.No)) {
			if calls := w.slots(name); len(calls) > 0 {
				w.t.Errorf("bucket %s of an expired execution: %v", name, calls)
			}
		}
	}
}

// testRetentionOfLargeExecutions goes on until none is left, although it stops
// before its limit, so that nobody waits long.
func testRetentionOfLargeExecutions(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	const each, signals = 4, 1500
	for range each {
		m := w.create(creation{})
		// Past the model, which is too slow for thousands of events.
		err := w.update(func(tx store.Tx) error {
			for range signals {
				if err := w.command(tx, m, &kernel.SendSignal{SignalType: "go", Payload: kernel.NewBody([]byte("1"))}); err != nil {
					return err
				}
			}
			return w.command(tx, m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
		})
		if err != nil {
			t.Fatal(err)
		}
		w.pos += signals + 2 // execution.cancelled, dispatch.discarded
	}
	w.advance(time.Second)
	calls := 0
	for n := 10; n == 10; calls++ {
		n = w.expire(10)
	}
	if calls < 2 {
		t.Errorf("%d events were removed in one go: everybody waits for that", each*signals)
	}
	w.forget(w.models...)
	w.check()
	w.verify()
}

// testReadsBesideRetention reads logs while they are removed: a page is there or
// it is not, and never a part of it.
func testReadsBesideRetention(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	const executions, page = 40, 3
	for range executions {
		m := w.create(creation{})
		w.do(m, &kernel.SendSignal{SignalType: "go", Payload: kernel.NewBody([]byte("1"))})
		w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
	}
	w.advance(time.Second)
	var readers sync.WaitGroup
	began, removed := make(chan struct{}), make(chan struct{})
	readers.Go(func() {
		for round := 0; ; round++ {
			left := 0
			for _, m := range w.models {
				for after := 0; after < len(m.log); after += page {
					events, err := w.store.Events(context.Background(), m.state.No, m.id, int64(after), page, nil)
					if n := len(events); err != nil || n != 0 && n != min(page, len(m.log)-after) {
						t.Errorf("%d events of %d after %d: %v", n, len(m.log), after, err)
					}
					left += len(events)
				}
			}
			if round == 0 {
				close(began)
			}
			select {
			case <-removed:
				if left == 0 {
					return
				}
			default:
			}
		}
	})
	<-began
	for w.expire(1) > 0 {
	}
	close(removed)
	readers.Wait()
	w.forget(w.models...)
	w.check()
}

// command carries out a command that must not be refused.
func (w *world) command(tx store.Tx, m *model, c kernel.Command) error {
	s, l, err := tx.Load(m.id)
	if err != nil {
		return err
	}
	kernel.Stamp(c, w.now, w.seed())
	plan, err := kernel.Decide(s, l, c)
	if err != nil {
		return err
	}
	return tx.Save(s, l, c, &plan)
}

// testPositionsAfterRetention removes the newest execution: its number and
// positions are not given again, not even by the next process.
func testPositionsAfterRetention(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	for range 3 {
		m := w.create(creation{})
		w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
		w.advance(time.Second)
		if n := w.expire(10); n != 1 {
			t.Fatalf("Expire: %d, want 1", n)
		}
		w.forget(m)
		w.restart()
	}
	w.create(creation{}) // settle compares its position with the model's
	w.check()
	w.verify()
}
