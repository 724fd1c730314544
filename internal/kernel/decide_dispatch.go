package kernel

import "time"

// The backoff between deliveries: exponential with full jitter, so that the
// dispatches of an agent that was down do not come back all at once.
const (
	backoffBase = time.Second
	backoffCap  = 30 * time.Second
)

// Backoff is the delay after the n-th claim in a row that came to nothing
// (n ≥ 1), for a jitter in [0, 1).
func Backoff(n int, jitter float64) time.Duration {
	longest := backoffCap
	if n <= 5 { // the fifth is the last below the cap
		longest = backoffBase << (max(1, n) - 1)
	}
	return time.Duration(jitter * float64(longest))
}

func (p *planner) claim(c *ClaimDispatch) error {
	l := p.lease()
	if p.s.Status.Terminal() || l.ID != c.Dispatch || !l.Status.Waiting() || l.NotBefore > p.at {
		return nil
	}
	l.Attempt++
	l.Claims++
	l.Status, l.Acked, l.Timeout = DispatchInFlight, false, c.Timeout
	l.Holder = Holder{Dispatch: l.ID, Attempt: l.Attempt}
	l.ExpiresAt, l.Memory = p.at.Add(c.Timeout), newMemory()
	p.plan.Answer.Claimed = &Claimed{Attempt: l.Holder, Timeout: c.Timeout}
	return nil
}

// proveDelivery records the ack of the attempt in flight, if nothing has yet:
// its 200 and the agent's first write race.
func (p *planner) proveDelivery() {
	l := p.lease()
	if !l.Live() || l.Acked {
		return
	}
	l.Acked = true
	p.emit(p.s.Queued, &DispatchAcked{Dispatch: l.ID, Attempt: l.Attempt})
	if p.s.Status == StatusPending {
		p.emit(EventID{}, &ExecutionStarted{Dispatch: l.ID, Attempt: l.Attempt})
	}
}

// delivery takes the outcome of a webhook. It adds nothing when the attempt is
// not in flight any more, or proved its delivery by a write.
func (p *planner) delivery(c *RecordDelivery) error {
	l := p.lease()
	if l.standing(c.Attempt) != live || l.Acked {
		return nil
	}
	if c.Acked {
		p.proveDelivery()
		return nil
	}
	p.giveBack(c.Error, c.HTTPStatus, c.MaxAttempts, Backoff(l.Claims, c.Jitter))
	return nil
}

// giveBack ends the attempt in flight without an outcome and reports whether
// a next one follows.
func (p *planner) giveBack(why string, httpStatus, maxAttempts int, delay time.Duration) bool {
	l := p.lease()
	ev := &DeliveryFailed{Dispatch: l.ID, Attempt: l.Attempt, Error: why, HTTPStatus: httpStatus}
	if l.Claims >= maxAttempts {
		ev.Status, l.Status = DispatchExhausted, DispatchExhausted
		p.emit(p.s.Queued, ev)
		p.emit(EventID{}, &ExecutionFailed{Reason: ReasonExhausted})
		return false
	}
	ev.Status, ev.NextAttemptAt = DispatchFailed, p.at.Add(delay)
	l.Status, l.NotBefore, l.Memory = DispatchFailed, ev.NextAttemptAt, nil
	p.emit(p.s.Queued, ev)
	return true
}

func (p *planner) lapse(c *LapseLease) error {
	l := p.lease()
	if !l.Live() || l.ExpiresAt > p.at || p.s.Status.Terminal() {
		return nil
	}
	if p.giveBack(ReasonLeaseLapsed, 0, c.MaxAttempts, 0) {
		p.requeue(ReasonLeaseLapsed)
	}
	return nil
}

// restart replaces an attempt whose delivery was cut off by an unclean stop:
// whether its webhook arrived is unknown, and it has written nothing.
func (p *planner) restart() error {
	if l := p.lease(); l.Lost() && !l.Acked && !p.s.Status.Terminal() {
		p.replace(ReasonRestarted, ReasonRestart)
	}
	return nil
}

// replace ends the attempt in flight for a reason that is the service's own:
// the next one goes out at once, and the claim does not count.
func (p *planner) replace(why, queued string) {
	l := p.lease()
	l.Claims = max(0, l.Claims-1)
	p.emit(p.s.Queued, &DeliveryFailed{Dispatch: l.ID, Attempt: l.Attempt, Error: why, Status: DispatchFailed, NextAttemptAt: p.at})
	p.requeue(queued)
	p.saveAnyway = true
}

// requeue enqueues the next attempt of the same dispatch, due at once.
func (p *planner) requeue(reason string) {
	l := p.lease()
	l.Status, l.NotBefore = DispatchPending, p.at
	p.emit(EventID{}, &DispatchQueued{Dispatch: l.ID, Attempt: l.Attempt, Reason: reason})
}

func (p *planner) unpark() error {
	park := p.s.Park
	if park == nil || park.RetryAt > p.at || p.s.Status.Terminal() {
		return nil
	}
	p.enqueue(ReasonRateLimit)
	p.plan.Events[0].Cause = park.Event
	return nil
}

func (p *planner) heartbeat(c *Heartbeat) error {
	if p.s.Status.Terminal() {
		if c.Caller != (Holder{}) && c.Caller != p.lease().Holder {
			return superseded()
		}
		return reject(TerminalExecution, "the execution is already %s: stop", p.s.Status)
	}
	if !p.lease().Live() || c.Caller != (Holder{}) && p.lease().standing(c.Caller) != live {
		return superseded()
	}
	if c.Caller != (Holder{}) { // else it may be an older attempt's, and proves nothing
		p.proveDelivery()
	}
	p.lease().renew(p.at)
	return nil
}

func (p *planner) delta(c *PublishDelta) error {
	l := p.lease()
	if c.Caller != (Holder{}) {
		switch l.standing(c.Caller) {
		case live:
			p.proveDelivery()
			l.renew(p.at)
		case released:
		case stale, lapsed:
			return superseded()
		}
	} else if l.Live() {
		l.renew(p.at)
	}
	step := p.s.Steps[c.Step]
	if step == nil {
		return reject(NotFound, "no step %s in this execution", c.Step)
	}
	if step.Status != StepStatusExecuting {
		return reject(Conflict, "step %s is %s, not executing: nobody listens to its output any more", c.Step, step.Status)
	}
	if p.s.Status.Terminal() {
		return reject(TerminalExecution, "the execution is already %s: nobody listens to its output any more", p.s.Status)
	}
	return nil
}
