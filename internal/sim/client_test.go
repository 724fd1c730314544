package sim_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// client creates the n-th execution, sends it signals, and may cancel it.
func (w *world) client(n int) {
	r := w.rand("client", n)
	pause(upTo(r, w.shape.horizon))
	in := fmt.Appendf(nil, `{"program":%d}`, n)
	req := engine.Create{
		Agent: agentName(w.agentOf(n)), Input: in, Labels: map[string]string{"program": fmt.Sprint(n)},
		Key: fmt.Sprint("create-", n), Request: kernel.Sum(in),
	}
	if w.shape.deadlines && r.IntN(2) == 0 {
		req.Timeout = time.Duration(1+r.IntN(300)) * time.Second
	}
	var id kernel.ExecutionID
	create := func(ctx context.Context, e *engine.Engine) error {
		x, _, err := e.Create(ctx, req)
		if err == nil {
			w.h.created(n, x.ID, string(in))
			id = x.ID
		}
		return err
	}
	for w.retry(r, create) != nil || id.IsZero() {
		pause(time.Second)
	}
	if r.IntN(4) == 0 {
		at := upTo(r, []time.Duration{w.shape.horizon, 2 * time.Second}[r.IntN(2)])
		w.actors.Go(func() {
			pause(at)
			w.cancel(id)
		})
	}
	for k := 0; ; k++ {
		pause(time.Second + upTo(r, 20*time.Second))
		var x store.Execution
		if w.retry(r, func(ctx context.Context, e *engine.Engine) (err error) {
			x, err = e.Reader().Execution(ctx, id)
			return err
		}) != nil || x.Status.Terminal() {
			if x.Status.Terminal() {
				w.signal(id, signals[0], fmt.Sprintf("%d-late", n))
				return
			}
			continue
		}
		// In the end only who waits gets one: a commit of anything else may wake
		// what should have woken by itself.
		if !w.calm.Load() && r.IntN(3) == 0 || x.Status == kernel.StatusBlocked {
			w.signal(id, signals[r.IntN(len(signals))], fmt.Sprintf("%d-%d", n, k))
		}
	}
}

func (w *world) signal(id kernel.ExecutionID, signalType, key string) {
	r := w.rand("signal", key)
	payload := fmt.Appendf(nil, `{"key":%q}`, key)
	send := func(ctx context.Context, e *engine.Engine) error {
		got, err := e.Signal(ctx, id, signalType, payload, key)
		if err == nil {
			w.h.signalled(id, key, got)
		}
		return err
	}
	if w.chance(r, w.shape.doubled) {
		again := child(r)
		w.actors.Go(func() {
			pause(upTo(again, time.Minute))
			_ = w.call(again, send)
		})
	}
	_ = w.retry(r, send)
}

func (w *world) cancel(id kernel.ExecutionID) {
	r := w.rand("cancel", w.h.number(id))
	_ = w.retry(r, func(ctx context.Context, e *engine.Engine) error {
		err := e.Cancel(ctx, id)
		if err == nil {
			w.h.ended(id, ending{status: kernel.StatusCancelled, failure: kernel.ReasonClientCancelled})
		}
		return err
	})
}

// approver looks after the approvals, in several moods, until all is over.
func (w *world) approver() {
	r := w.rand("approver")
	var late []kernel.ApprovalID
	seen := make(map[kernel.ApprovalID]bool)
	for !w.over() {
		pause(100*time.Millisecond + upTo(r, 10*time.Second))
		var pending []store.Approval
		_ = w.call(r, func(ctx context.Context, e *engine.Engine) (err error) {
			pending, err = e.Reader().Approvals(ctx, store.ApprovalQuery{Status: kernel.ApprovalStatusPending, Limit: 100})
			return err
		})
		for i := range pending {
			id := pending[i].ID
			if seen[id] && r.IntN(4) > 0 {
				continue
			}
			seen[id] = true
			switch r.IntN(8) {
			case 0: // leaves it to the clock
			case 1:
				late = append(late, id)
			case 2:
				w.decide(id, "mallory", true)
			case 3: // two people at once
				w.actors.Go(func() { w.decide(id, "alice", true) })
				w.actors.Go(func() { w.decide(id, "bob", false) })
			case 4:
				w.decide(id, "bob", false)
			default:
				w.decide(id, "alice", true)
			}
		}
		if len(late) > 0 && r.IntN(5) == 0 {
			w.decide(late[0], "alice", r.IntN(2) == 0)
			late = late[1:]
		}
	}
}

func (w *world) decide(id kernel.ApprovalID, by string, grant bool) {
	r := w.rand("decide", by, grant, w.h.decisions.Add(1))
	verdict := kernel.ApprovalStatusDenied
	if grant {
		verdict = kernel.ApprovalStatusGranted
	}
	err := w.retry(r, func(ctx context.Context, e *engine.Engine) error {
		err := e.Decide(ctx, id, verdict, by, "")
		if err == nil {
			w.h.decided(id, verdict, by)
		}
		return err
	})
	if err != nil && !errors.Is(err, errLost) {
		if _, ok := engine.IsRejection(err); !ok {
			w.t.Errorf("decide approval %s: %v", id, err)
		}
	}
}

// over reports whether faults have stopped and every execution has ended.
func (w *world) over() bool {
	return w.calm.Load() && w.current() != nil && len(w.open()) == 0
}

// reader looks at everything now and then: what has ended stays as it is.
func (w *world) reader() {
	r := w.rand("reader")
	for !w.over() {
		pause(upTo(r, 15*time.Second))
		_ = w.call(r, func(ctx context.Context, e *engine.Engine) error {
			all, _, err := e.Reader().Executions(ctx, store.ExecutionQuery{Limit: 1000})
			if err != nil {
				return err
			}
			for i := range all {
				x, err := e.Reader().Execution(ctx, all[i].ID)
				if err != nil {
					return err
				}
				w.h.saw(&x)
				steps, err := e.Reader().Steps(ctx, x.ID)
				if err != nil {
					return err
				}
				w.h.sawSteps(x.ID, steps)
			}
			return nil
		})
	}
}
