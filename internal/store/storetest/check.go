package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// equal takes an absent list or map for an empty one: what is read back from a
// row cannot tell them apart. Ids are compared whole, which is faster.
var equal = []gocmp.Option{
	cmpopts.EquateEmpty(),
	// Comparing large bodies by reflection takes most of the suite's time.
	gocmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, gocmp.Comparer(bytes.Equal)),
	gocmp.Comparer(func(a, b kernel.UUID) bool { return a == b }),
	gocmp.Comparer(func(a, b kernel.Digest) bool { return a == b }),
	gocmp.Comparer(func(a, b kernel.StepID) bool { return a == b }),
}

// adopt looks at an execution for the first time since the store was opened:
// an orderly end must have kept everything; a kill may have lost the memory of
// the attempt, but may not have kept an older one.
func (w *world) adopt(m *model) {
	w.t.Helper()
	if err := w.tryAdopt(m); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// tryAdopt is adopt for a store that may fail.
func (w *world) tryAdopt(m *model) error {
	w.t.Helper()
	if !m.fresh || m.erased {
		return nil
	}
	s, l, err := w.tryLoad(m)
	if err != nil {
		return err
	}
	w.sameState(m, "loaded", s)
	if diff := gocmp.Diff(m.lease.Dispatch, l.Dispatch); diff != "" {
		w.t.Fatalf("dispatch of %s after a restart (-model +store):\n%s", m.id, diff)
	}
	lost := m.crash && l.Memory == nil
	if !m.state.Status.Terminal() && !lost {
		if diff := gocmp.Diff(m.lease.Memory, l.Memory, equal...); diff != "" {
			w.t.Fatalf("memory of the attempt of %s after a restart (killed: %t) (-model +store):\n%s", m.id, m.crash, diff)
		}
	}
	if longer := l.ExpiresAt.Sub(m.lease.ExpiresAt); l.Live() && !m.crash && (longer < 0 || longer > kernel.At(time.Now()).Sub(w.began)) {
		w.t.Fatalf("lease of %s: %s longer after a restart, want what was left of it", m.id, longer)
	}
	m.lease.Memory, m.lease.ExpiresAt = l.Memory, l.ExpiresAt
	m.fresh, m.crash = false, false
	return nil
}

// load is a copy of what the store holds of an execution.
func (w *world) load(m *model) (*kernel.State, *kernel.Lease) {
	w.t.Helper()
	s, l, err := w.tryLoad(m)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return s, l
}

func (w *world) tryLoad(m *model) (state *kernel.State, lease *kernel.Lease, err error) {
	err = w.update(func(tx store.Tx) error {
		s, l, err := tx.Load(m.id)
		if err == nil {
			state, lease = cloneState(s), cloneLease(l)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("Load(%s): %w", m.id, err)
	}
	return state, lease, err
}

func (w *world) sameState(m *model, what string, got *kernel.State) {
	w.t.Helper()
	if diff := gocmp.Diff(cloneState(&m.state), cloneState(got), equal...); diff != "" {
		w.t.Fatalf("%s state of %s (-model +store):\n%s", what, m.id, diff)
	}
}

// check compares everything that can be asked with the model.
func (w *world) check() {
	w.t.Helper()
	for _, m := range w.models {
		if m.erased {
			continue
		}
		w.adopt(m)
		w.checkMemory(m)
		w.checkReads(m)
	}
	w.checkLists()
	w.checkQueue()
}

// checkMemory compares what is held in memory, and what the rows say.
func (w *world) checkMemory(m *model) {
	w.t.Helper()
	s, l := w.load(m)
	w.sameState(m, "cached", s)
	want := cloneLease(&m.lease)
	if !l.Live() {
		want.ExpiresAt, l.ExpiresAt = 0, 0
	}
	if s.Status.Terminal() {
		want.Memory, l.Memory = nil, nil
	}
	if diff := gocmp.Diff(want, l, equal...); diff != "" {
		w.t.Fatalf("cached lease of %s (-model +store):\n%s", m.id, diff)
	}
	err := w.update(func(tx store.Tx) (err error) {
		s, l, err = w.d.Rows(tx, m.id)
		return err
	})
	if err != nil {
		w.t.Fatalf("load %s from its rows: %v", m.id, err)
	}
	w.sameState(m, "stored", s)
	if diff := gocmp.Diff(m.lease.Dispatch, l.Dispatch, equal...); diff != "" {
		w.t.Fatalf("stored dispatch of %s (-model +store):\n%s", m.id, diff)
	}
}

// checkReads compares all reads about one execution.
func (w *world) checkReads(m *model) {
	w.t.Helper()
	ctx := context.Background()
	x, err := w.store.Execution(ctx, m.id)
	w.same("Execution", m.execution(w), x, err)
	h, err := w.store.Header(ctx, m.id)
	w.same("Header", store.Header{No: m.state.No, ID: m.id, Agent: m.state.Agent, Labels: m.state.Labels}, h, err)
	events, err := w.store.Events(ctx, m.state.No, m.id, 0, len(m.log)+1, nil)
	w.same("Events", m.events(), events, err)
	steps, err := w.store.Steps(ctx, m.id)
	want := m.steps(w)
	w.same("Steps", want, steps, err)
	for _, step := range want {
		got, err := w.store.Step(ctx, m.id, step.ID)
		w.same("Step", step, got, err)
	}
	for _, r := range m.log {
		body, err := w.store.Body(ctx, r.Event.Pos)
		w.same("Body", r.Event.Body, body, err)
	}
}

// same fails unless a read gave what the model says.
func (w *world) same(what string, want, got any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	if diff := gocmp.Diff(want, got, equal...); diff != "" {
		w.t.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}

// present are the model's executions that retention has not removed.
func (w *world) present() []*model {
	return slices.DeleteFunc(slices.Clone(w.models), func(m *model) bool { return m.erased })
}

func (w *world) checkLists() {
	w.t.Helper()
	ctx := context.Background()
	counts := store.Counts{Executions: map[kernel.Status]int64{}}
	var list []store.Execution
	for _, m := range slices.Backward(w.present()) {
		list = append(list, m.execution(w))
		counts.Executions[m.state.Status]++
		if m.lease.Status.Waiting() {
			counts.QueuedDispatches++
		}
	}
	got, _, err := w.store.Executions(ctx, store.ExecutionQuery{Limit: len(w.models) + 1})
	w.same("Executions", list, got, err)

	approvals := make([]store.Approval, 0, len(w.approvals))
	for _, a := range w.approvals {
		approvals = append(approvals, *a)
		if a.Status == kernel.ApprovalStatusPending {
			counts.PendingApprovals++
		}
		one, err := w.store.Approval(ctx, a.ID)
		w.same("Approval", *a, one, err)
	}
	slices.SortStableFunc(approvals, func(a, b store.Approval) int { return cmp.Compare(a.TimeoutAt, b.TimeoutAt) })
	pending, err := w.store.Approvals(ctx, store.ApprovalQuery{Limit: len(approvals) + 1})
	w.same("Approvals", approvals, pending, err)

	n, err := w.store.Counts(ctx)
	w.same("Counts", counts, n, err)

	var agents []store.Agent
	for _, id := range slices.Sorted(maps.Keys(w.agents)) {
		agents = append(agents, *w.agents[id])
	}
	known, err := w.store.Agents(ctx)
	w.same("Agents", agents, known, err)
}

// checkQueue compares what is due. What an attempt in flight has left of its
// lease moves with the real clock, and is looked at elsewhere.
func (w *world) checkQueue() {
	w.t.Helper()
	ctx := context.Background()
	var due []store.DueDispatch
	var flying []store.InFlight
	var timers []store.Timer
	for _, m := range w.present() {
		l := &m.lease
		if l.Status.Waiting() {
			due = append(due, store.DueDispatch{No: m.state.No, Execution: m.id, Agent: m.state.Agent, Dispatch: l.ID, NotBefore: l.NotBefore})
		}
		if l.Live() {
			flying = append(flying, store.InFlight{No: m.state.No, Execution: m.id, Acked: l.Acked})
		}
		timers = append(timers, m.timers(w)...)
	}
	slices.SortFunc(due, func(a, b store.DueDispatch) int {
		return cmp.Or(cmp.Compare(a.NotBefore, b.NotBefore), cmp.Compare(a.No, b.No))
	})
	gotDue, err := w.store.DueDispatches(ctx, store.QueuePlace{}, len(due)+1)
	w.same("DueDispatches", due, gotDue, err)

	gotFlying, err := w.store.InFlight(ctx, 0, len(flying)+1)
	for i := range gotFlying {
		gotFlying[i].ExpiresAt, gotFlying[i].Stored = 0, false
	}
	w.same("InFlight", flying, gotFlying, err)

	order := func(a, b store.Timer) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Execution.UUID[:], b.Execution.UUID[:]))
	}
	slices.SortFunc(timers, order)
	const never = kernel.Instant(1 << 62)
	gotTimers, next, err := w.store.Timers(ctx, never, len(timers)+1)
	slices.SortStableFunc(gotTimers, order)
	w.same("Timers", timers, gotTimers, err)
	w.same("Timers: next", kernel.Instant(0), next, err)
}

// verify closes the store and checks its log and everything against it.
func (w *world) verify() {
	w.t.Helper()
	w.close()
	if err := w.d.Verify(context.Background(), w.folder); err != nil {
		w.t.Fatalf("Verify: %v", err)
	}
}
