package storetest

import (
	"errors"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// faulty does something while writing fails, once or for as long as it lasts.
func (m *machine) faulty(t *rapid.T) {
	w := m.w
	w.fail(m.fault(t))
	w.faulty = true
	defer func() {
		w.faulty = false
		w.fail(nil)
	}()
	rapid.SampledFrom([]func(*rapid.T){m.agent, m.agent, m.agent, m.dispatch, m.person, m.due, m.create}).Draw(t, "under it")(t)
}

// fault is one that the store survives.
func (m *machine) fault(t *rapid.T) Fault {
	full := m.w.d.Faults.Full
	n := rapid.IntRange(0, 8).Draw(t, "fault")
	again := rapid.Bool().Draw(t, "again")
	switch {
	case n == 0 && again:
		return always(BeforeCommit, full)
	case n == 0:
		return nth(1, BeforeCommit, full)
	case again:
		return from(n, BeforeStatement, full)
	}
	return nth(n, BeforeStatement, full)
}

// batch has several executions act in one commit. Some of the operations may
// fail by themselves, and so may the writing.
func (m *machine) batch(t *rapid.T) {
	w := m.w
	all := w.present()
	n := rapid.IntRange(2, max(2, min(4, len(all)))).Draw(t, "size")
	if n > len(all) {
		t.Skip("too few")
	}
	var ops []*operation
	var closures []func(store.Tx) error
	for _, x := range all[len(all)-n:] {
		w.adopt(x)
		op := w.plan(x, m.command(t, x))
		fn := op.closure
		if rapid.IntRange(0, 5).Draw(t, "refused") == 0 {
			fn = func(tx store.Tx) error { return errors.Join(op.closure(tx), errRefused) }
		}
		ops, closures = append(ops, op), append(closures, fn)
	}
	if rapid.Bool().Draw(t, "faults") {
		w.fail(m.fault(t))
	}
	errs := w.together(closures...)
	w.fail(nil)
	for i, err := range errs {
		switch {
		case err == nil:
			w.settle(ops[i])
		case !errors.Is(err, errRefused) && !errors.Is(err, store.ErrUnavailable):
			w.t.Fatalf("an operation of a batch: %v", err)
		}
	}
	for _, op := range ops {
		w.checkMemory(op.m)
	}
}

// command is one that no other execution has a part in.
func (m *machine) command(t *rapid.T, x *model) kernel.Command {
	switch rapid.IntRange(0, 5).Draw(t, "command") {
	case 0:
		return &kernel.Heartbeat{Caller: m.holder(t, x)}
	case 1:
		return &kernel.FinishStep{Caller: m.holder(t, x), Step: m.step(t, x), Succeeded: true, Outcome: kernel.NewBody([]byte("1"))}
	case 2:
		return &kernel.SendSignal{SignalType: "go", Payload: kernel.NewBody([]byte("1"))}
	case 3:
		return &kernel.ClaimDispatch{Dispatch: x.lease.ID, Timeout: leaseTimeout}
	}
	s := m.submission(t, x)
	if s.ruling.Limit != nil && s.ruling.Limit.Scope != kernel.PerExecution {
		s.ruling.Limit = nil
	}
	return m.w.submitCommand(x, s)
}
