package kernel

import "time"

func (p *planner) submit(c *SubmitStep) error {
	if p.s.Status.Terminal() {
		p.plan.Answer = Answer{Decision: ExecutionTerminal}
		return nil
	}
	l := p.lease()
	switch l.standing(c.Caller) {
	case live:
		if l.Lost() {
			p.replace(ReasonRestarted, ReasonRestart)
			return superseded()
		}
		p.proveDelivery()
		l.renew(p.at)
	case released:
		if l.Memory == nil { // its counters are lost: no identity can be derived any more
			return superseded()
		}
	case stale, lapsed:
		return superseded()
	}
	switch {
	case c.Kind < ToolCall || c.Kind > Local || c.Idempotency < SafeToRetry || c.Idempotency > AtMostOnce:
		return reject(Conflict, "a step of unknown kind or idempotency")
	case (c.Wait != nil) != ReservedTarget(c.Kind, c.Target):
		return reject(Conflict, "local steps whose target begins with %q are waits: choose another target", signalPrefix)
	}
	if !c.Key.IsZero() {
		if kept, ok := l.Memory.Keys[c.Key]; ok {
			if kept.Request != c.Request {
				return reject(Conflict, "this Idempotency-Key was used in this attempt for another submit: use a new key for each call")
			}
			p.plan.Answer = kept.Answer
			return nil
		}
	}
	err := p.resolve(c)
	if err == nil && !c.Key.IsZero() {
		p.plan.key, p.plan.keep = c.Key, &Remembered{Request: c.Request, Answer: p.plan.Answer}
	}
	return err
}

// resolve finds the step that is meant. What is recorded of it answers; only a
// step that is not recorded is decided anew.
func (p *planner) resolve(c *SubmitStep) error {
	id, occurrence := c.FirstID, p.lease().Memory.Counters[c.FirstID]
	if occurrence > 0 {
		id = DeriveStepID(p.s.ID, c.Kind, c.Target, c.ArgsHash, occurrence)
	}
	ref := StepRef{Step: id, Kind: c.Kind, Target: c.Target, Dispatch: c.Caller.Dispatch, Attempt: c.Caller.Attempt}
	step := p.s.Steps[id]
	// A granted wait would block anew, so it may no more start than a new step.
	starts := step == nil || c.Wait != nil && step.Status == StepStatusAllowed
	switch {
	case starts && !p.lease().Live():
		p.hold(c, ref)
		return nil
	case step == nil:
		p.propose(c, ref, occurrence)
		return nil
	}
	p.count(c.FirstID)
	return p.known(c, step, ref)
}

// hold answers an attempt that was released, because the execution is blocked
// or a step of it is parked: nothing new may start.
func (p *planner) hold(c *SubmitStep, ref StepRef) {
	p.plan.Answer = Answer{Decision: ExecutionBlockedDecision, Step: ref.Step}
	if park := p.s.Park; park != nil && park.Step == ref.Step {
		wait := max(time.Millisecond, park.RetryAt.Sub(p.at)) // it is due, only the timer has not come round yet
		p.plan.Answer = Answer{Decision: BlockedByPolicy, Step: ref.Step, Rule: c.Ruling.Rule, RetryAfter: wait}
	}
}

func (p *planner) count(first StepID) { p.plan.advance, p.plan.counts = first, true }

func (p *planner) known(c *SubmitStep, step *Step, ref StepRef) error {
	switch step.Status {
	case StepStatusSucceeded, StepStatusFailed:
		p.plan.Answer = Answer{Decision: Replay, Step: ref.Step, Failed: step.Status == StepStatusFailed, BodyPos: step.ResultPos}
	case StepStatusDenied:
		p.plan.Answer = Answer{Decision: Denied, Step: ref.Step, Reason: step.Reason, Rule: step.Rule}
	case StepStatusAwaitingApproval:
		p.plan.Answer = Answer{Decision: BlockedByPolicy, Step: ref.Step, Approval: step.Approval, Rule: step.Rule}
	case StepStatusAllowed:
		p.execute(c, ref, step.Last)
	case StepStatusExecuting:
		return p.again(c, step, ref)
	case StepStatusProposed, StepStatusCancelled:
		return reject(Conflict, "step %s is %s", ref.Step, step.Status)
	}
	return nil
}

// again meets a step whose outcome was never reported.
func (p *planner) again(c *SubmitStep, step *Step, ref StepRef) error {
	switch {
	case step.Wait:
		p.plan.Answer = Answer{Decision: BlockedByPolicy, Step: ref.Step}
	case step.Dispatch == ref.Dispatch && step.Attempt == ref.Attempt:
		return reject(Conflict, "step %s is executing in this very attempt: report its outcome, do not start it again", ref.Step)
	case step.Idempotency != SafeToRetry:
		body := NewBody([]byte(`{"reason":"` + ReasonIndeterminate + `","message":"an earlier attempt started this step and never reported its outcome: whether the effect ran is unknown"}`))
		p.emitBody(step.Last, &StepFailed{StepRef: ref, Indeterminate: true}, body)
		p.progress()
		p.plan.Answer = Answer{Decision: Replay, Step: ref.Step, Failed: true, Body: body.JSON}
	default:
		p.execute(c, ref, step.Last)
	}
	return nil
}

// propose decides a step that is not recorded.
func (p *planner) propose(c *SubmitStep, ref StepRef, occurrence uint32) {
	p.emitBody(p.s.Acked, &StepProposed{StepRef: ref, ArgsHash: c.ArgsHash, Occurrence: occurrence, Idempotency: c.Idempotency}, c.Args)
	if _, unknown := p.s.Indeterminate[c.FirstID]; unknown && c.Idempotency != SafeToRetry {
		p.deny(ref, RuleIndeterminateRetry, "an identical at_most_once step failed with an unknown outcome: it may have run", Digest{})
		p.record(c)
		return
	}
	if limit := c.Ruling.Limit; limit != nil {
		if ok, next := c.Bucket.free(limit, p.at); !ok {
			p.limit(c, ref, next)
			return
		}
		p.plan.Slot = true
	}
	p.record(c)
	p.rule(c, ref)
}

// limit refuses or parks a submit that is over its rate limit.
func (p *planner) limit(c *SubmitStep, ref StepRef, next Instant) {
	wait := next.Sub(p.at)
	_, before := p.s.WasParked[ref.Step]
	ev := &StepRateLimited{StepRef: ref, Rule: c.Ruling.Rule, Reason: ReasonRateLimited}
	p.plan.Answer = Answer{Decision: RateLimited, Step: ref.Step, Rule: ev.Rule, Reason: ev.Reason, RetryAfter: wait}
	if wait <= c.Ruling.Limit.MaxWait && !before {
		ev.Parked, ev.RetryAt = true, next
		p.plan.Answer = Answer{Decision: BlockedByPolicy, Step: ref.Step, Rule: ev.Rule, RetryAfter: wait}
		p.release()
	}
	p.emit(EventID{}, ev).Ruled = c.Ruling.Bundle
}

// rule carries out the ruling, the budget looked at first.
func (p *planner) rule(c *SubmitStep, ref StepRef) {
	r := &c.Ruling
	action, reason := r.Action, r.Reason
	if b := r.Budget; b != nil && p.s.Tokens >= b.MaxTokens && (action != Deny || b.OnExceed == Deny) { // using more allows no more
		action, reason = b.OnExceed, ReasonBudget
	}
	switch action {
	case Allow:
		p.emit(EventID{}, &StepAllowed{StepRef: ref, Rule: r.Rule}).Ruled = r.Bundle
		p.execute(c, ref, EventID{})
	case RequireApproval:
		p.requestApproval(c, ref, reason)
	case Deny:
		p.deny(ref, r.Rule, reason, r.Bundle)
	default: // an unknown action fails closed
		p.deny(ref, r.Rule, ReasonPolicyDenied, r.Bundle)
	}
}

func (p *planner) deny(ref StepRef, rule, reason string, bundle Digest) {
	if reason == "" {
		reason = ReasonPolicyDenied
	}
	p.emitBody(EventID{}, &StepDenied{StepRef: ref, Rule: rule, Reason: reason}, errorBody("reason", reason, "rule_id", rule)).Ruled = bundle
	p.plan.Answer = Answer{Decision: Denied, Step: ref.Step, Reason: reason, Rule: rule}
}

func (p *planner) requestApproval(c *SubmitStep, ref StepRef, reason string) {
	r := &c.Ruling
	timeout := r.Approval.Timeout
	if timeout <= 0 {
		timeout = c.Approval
	}
	id := ApprovalID{p.mint.UUID()}
	p.emit(EventID{}, &StepAwaitingApproval{StepRef: ref, Rule: r.Rule}).Ruled = r.Bundle
	p.emit(EventID{}, &ApprovalRequested{
		Approval: id, Step: ref.Step, Rule: r.Rule, Reason: reason, Message: r.Approval.Message,
		Approvers: r.Approval.Approvers, TimeoutAt: p.at.Add(timeout),
	})
	p.emit(EventID{}, &ExecutionBlocked{Reason: BlockedOnApproval, Step: ref.Step, Approval: id})
	p.release()
	p.plan.Answer = Answer{Decision: BlockedByPolicy, Step: ref.Step, Approval: id, Rule: r.Rule}
}

// execute starts an allowed step; a wait takes its signal or blocks.
func (p *planner) execute(c *SubmitStep, ref StepRef, cause EventID) {
	p.emit(cause, &StepExecuting{StepRef: ref})
	p.plan.Answer = Answer{Decision: Proceed, Step: ref.Step}
	if c.Wait == nil {
		return
	}
	for i := range p.s.Signals {
		if sig := &p.s.Signals[i]; sig.Type == c.Wait.SignalType {
			p.plan.Answer = Answer{Decision: Replay, Step: ref.Step, BodyPos: sig.Pos}
			p.emit(EventID{}, &StepSucceeded{StepRef: ref}).Cause = sig.Event
			return
		}
	}
	p.emit(EventID{}, &ExecutionBlocked{Reason: BlockedOnSignal, Step: ref.Step, Signal: c.Wait.SignalType, TimeoutAt: c.Wait.TimeoutAt})
	p.release()
	p.plan.Answer = Answer{Decision: BlockedByPolicy, Step: ref.Step}
}

// record marks a new step record: it counts as an occurrence, and as progress.
func (p *planner) record(c *SubmitStep) {
	p.count(c.FirstID)
	p.progress()
}

// progress resets the claims that count towards the limit.
func (p *planner) progress() { p.lease().Claims = 0 }
