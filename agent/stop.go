package agent

import (
	"context"
	"errors"
	"fmt"
)

// ErrStop is what every error below is, as errors.Is tells: the run must end
// now, and the execution is not failed by that. Once a run has got such an
// error, every further call of the run returns the same one, and the context of
// the agent function is cancelled with it as its cause. Return it, or return
// anything: the SDK reports nothing for a run that was stopped.
var ErrStop = errors.New("agent: the run must end")

var (
	// ErrBlocked says that the execution waits for an approval, a signal, or room in a
	// rate limit. The kernel starts a new run when it goes on. Effects that
	// are under way are not cancelled, and their outcomes are still recorded.
	ErrBlocked = fmt.Errorf("%w: the execution is blocked and goes on in a later run", ErrStop)
	// ErrSuperseded says that the kernel has handed the execution to a newer run, as it
	// does when a lease lapses.
	ErrSuperseded = fmt.Errorf("%w: a newer run has taken over", ErrStop)
	// ErrTerminal says that the execution is completed, failed or cancelled.
	ErrTerminal = fmt.Errorf("%w: the execution is over", ErrStop)
	// ErrUnavailable says that the kernel could not be reached, or kept failing, for as
	// long as the [RetryPolicy] allows. The lease lapses and the kernel starts
	// a new run: an outage of the kernel is not a failure of the agent. The
	// error also wraps what went wrong last.
	ErrUnavailable = fmt.Errorf("%w: the kernel does not answer", ErrStop)
	// ErrShutdown says that [Agent.Shutdown] ran out of time. The lease lapses and the
	// kernel starts a new run.
	ErrShutdown = fmt.Errorf("%w: the agent shuts down", ErrStop)

	// errReturned is for calls that a goroutine makes behind the back of an
	// agent function that has returned.
	errReturned = fmt.Errorf("%w: the agent function has returned", ErrStop)
)

// cancelsEffects says whether a stop makes effects under way worthless. A block
// does not: the kernel still records their outcomes, and cutting one off would
// leave an effect of which nobody knows whether it ran. The same goes for a
// kernel that may be back in a moment.
func cancelsEffects(stop error) bool {
	return !errors.Is(stop, ErrBlocked) && !errors.Is(stop, ErrUnavailable)
}

// isCancellation says whether an effect's error is the echo of a stop, not an
// outcome of its own.
func isCancellation(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrStop)
}

// halt records why the run must end and returns the error that its calls give
// from now on: the first one wins, so that all of them tell the same story.
func (r *Run) halt(stop error) error {
	r.mu.Lock()
	if r.stop == nil {
		r.stop = stop
	}
	first := r.stop
	var doomed []*effect
	if cancelsEffects(stop) {
		for e := range r.effects {
			doomed = append(doomed, e)
		}
	}
	r.mu.Unlock()
	r.cancel(first)
	for _, e := range doomed {
		e.cancel(stop)
	}
	return first
}

// stopped is nil while the run may go on.
func (r *Run) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
}

// verdict turns the error of a request into what the caller of the SDK gets,
// and stops the run when the error says so.
func (r *Run) verdict(ctx context.Context, err error) error {
	var api *APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && api.Code == codeLeaseSuperseded:
		return r.halt(ErrSuperseded)
	case errors.As(err, &api) && api.Code == codeExecutionTerminal:
		return r.halt(ErrTerminal)
	case api != nil && api.Status < 500 && api.Status != 429:
		return err
	case ctx.Err() != nil:
		if stop := r.stopped(); stop != nil {
			return stop
		}
		return err
	default:
		return r.halt(fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
}
