package agent

import (
	"context"
	"sync"
)

// effect is one step of a run while it is under way.
type effect struct {
	run    *Run
	target string
	stepID string // set by the decision
	cancel context.CancelCauseFunc

	detach func() bool // undoes the watch on the caller's context

	mu     sync.Mutex
	deltas *publisher // made by the first delta
	closed bool       // no more deltas
}

type effectKey struct{}

// effectFrom is the effect whose function was given ctx, nil when there is none.
func effectFrom(ctx context.Context) *effect {
	e, _ := ctx.Value(effectKey{}).(*effect)
	return e
}

// begin registers an effect and makes the context of its function: cancelled
// with the caller's, save by a stop that leaves effects under way alone. The
// caller must end the effect.
func (r *Run) begin(ctx context.Context, target string) (context.Context, *effect, error) {
	if effectFrom(ctx) != nil {
		return nil, nil, ErrNested
	}
	if err := r.admit(ctx); err != nil {
		return nil, nil, err
	}
	inner := context.WithoutCancel(ctx)
	release := func() {}
	if at, ok := ctx.Deadline(); ok {
		inner, release = context.WithDeadline(inner, at)
	}
	inner, cancel := context.WithCancelCause(inner)
	e := &effect{run: r, target: target}
	e.cancel = func(cause error) {
		cancel(cause)
		release()
		e.closeDeltas()
	}
	inner = context.WithValue(inner, effectKey{}, e)

	r.mu.Lock()
	if stop := r.stop; stop != nil { // since admit
		r.mu.Unlock()
		e.cancel(stop)
		return nil, nil, stop
	}
	r.effects[e] = struct{}{}
	r.mu.Unlock()
	e.detach = context.AfterFunc(ctx, func() {
		// halt cancels the effects that a stop makes worthless by itself.
		if r.stopped() == nil {
			e.cancel(context.Cause(ctx))
		}
	})
	return inner, e, nil
}

// end forgets an effect and frees what it holds. It may be called twice.
func (e *effect) end() {
	e.detach()
	e.run.mu.Lock()
	delete(e.run.effects, e)
	e.run.mu.Unlock()
	e.cancel(context.Canceled)
}
