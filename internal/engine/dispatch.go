package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Delivery is what a claimed dispatch delivers.
type Delivery struct {
	Execution  kernel.ExecutionID
	Attempt    kernel.Holder
	Lease      time.Duration // in force for this attempt
	WebhookURL string
	Secret     string
}

// Claim takes a due dispatch; ok is false when there is nothing to deliver any more.
func (e *Engine) Claim(ctx context.Context, id kernel.ExecutionID, agent kernel.AgentID, dispatch kernel.DispatchID) (d Delivery, ok bool, err error) {
	a, known := e.agents.get(agent)
	if !known {
		return d, false, notFound("agent %q is not registered", agent)
	}
	answer, err := e.run(ctx, id, &kernel.ClaimDispatch{Dispatch: dispatch, Timeout: e.leaseTimeout(a)}, nil)
	if err != nil || answer.Claimed == nil {
		return d, false, err
	}
	return Delivery{
		Execution: id, Attempt: answer.Claimed.Attempt, Lease: answer.Claimed.Timeout,
		WebhookURL: a.WebhookURL, Secret: a.Secret,
	}, true, nil
}

func (e *Engine) leaseTimeout(a *Agent) time.Duration {
	if a.Lease >= MinLeaseTimeout {
		return a.Lease
	}
	return e.opts.LeaseTimeout
}

// Acked records that a delivery was taken.
func (e *Engine) Acked(ctx context.Context, id kernel.ExecutionID, attempt kernel.Holder) error {
	_, err := e.run(ctx, id, &kernel.RecordDelivery{Attempt: attempt, Acked: true}, nil)
	return err
}

// DeliveryFailed records that a delivery was not taken; httpStatus is 0 when
// there was no answer.
func (e *Engine) DeliveryFailed(ctx context.Context, id kernel.ExecutionID, attempt kernel.Holder, why string, httpStatus int) error {
	_, err := e.run(ctx, id, &kernel.RecordDelivery{
		Attempt: attempt, Error: why, HTTPStatus: httpStatus,
		MaxAttempts: e.opts.MaxAttempts, Jitter: rand.Float64(), //nolint:gosec // jitter needs no secrecy
	}, nil)
	return err
}

// Lapse takes an execution from the attempt in flight if its lease is over.
// Otherwise it reports when it will be; zero when nothing is in flight.
func (e *Engine) Lapse(ctx context.Context, id kernel.ExecutionID) (next kernel.Instant, err error) {
	seed := newSeed()
	err = e.store.Update(ctx, func(tx store.Tx) error {
		next = 0
		s, l, err := tx.Load(id)
		if err != nil {
			return err
		}
		c := &kernel.LapseLease{MaxAttempts: e.opts.MaxAttempts}
		kernel.Stamp(c, max(kernel.At(time.Now()), s.UpdatedAt), seed)
		if l.Live() && l.ExpiresAt > c.At {
			next = l.ExpiresAt
			return nil
		}
		_, _, err = apply(tx, s, l, c)
		return err
	})
	return next, err
}

// Restart replaces an attempt whose delivery an unclean stop cut off.
func (e *Engine) Restart(ctx context.Context, id kernel.ExecutionID) error {
	_, err := e.run(ctx, id, &kernel.RestartDispatch{}, nil)
	return err
}

// Unpark dispatches again after the wait for a rate limit.
func (e *Engine) Unpark(ctx context.Context, id kernel.ExecutionID) error {
	_, err := e.run(ctx, id, &kernel.Unpark{}, nil)
	return err
}

// ExpireWait ends a wait for a signal whose time is over.
func (e *Engine) ExpireWait(ctx context.Context, id kernel.ExecutionID) error {
	_, err := e.run(ctx, id, &kernel.ExpireWait{}, nil)
	return err
}

// PassDeadline cancels an execution whose deadline passed.
func (e *Engine) PassDeadline(ctx context.Context, id kernel.ExecutionID) error {
	_, err := e.run(ctx, id, &kernel.CancelExecution{Reason: kernel.ReasonDeadline}, nil)
	if r, ok := IsRejection(err); ok && r.Code == kernel.Conflict {
		return nil // it has ended meanwhile
	}
	return err
}

// Expire deletes up to limit executions that ended before a moment, when the
// store has nothing better to do, and reports how many.
func (e *Engine) Expire(ctx context.Context, before kernel.Instant, limit int) (n int, err error) {
	err = e.store.Chore(ctx, func(tx store.Tx) error {
		n, err = tx.Expire(before, limit)
		return err
	})
	if n > 0 { // which ones is not told; this is seldom, and reading a header again costs little
		e.headers.reset()
	}
	return n, err
}
