package kernel

import (
	"cmp"
	"slices"
)

func (p *planner) finishStep(c *FinishStep) error {
	standing := p.lease().standing(c.Caller)
	if standing == stale {
		return superseded()
	}
	if p.s.Status.Terminal() {
		p.plan.Answer = Answer{Decision: ExecutionTerminal, Step: c.Step}
		return nil
	}
	step := p.s.Steps[c.Step]
	if step == nil {
		return reject(NotFound, "no step %s in this execution: submit it first", c.Step)
	}
	if standing == live {
		p.proveDelivery()
		p.lease().renew(p.at)
	}
	switch {
	case step.Status == StepStatusSucceeded || step.Status == StepStatusFailed:
		p.plan.Answer = Answer{Decision: Replay, Step: c.Step, Failed: step.Status == StepStatusFailed, BodyPos: step.ResultPos}
		return nil
	case step.Wait && step.Status == StepStatusExecuting:
		return reject(Conflict, "step %s waits for a signal: only the signal or its timeout ends it", c.Step)
	case step.Status != StepStatusExecuting:
		return reject(Conflict, "step %s is %s, not executing: submit it and act on the decision first", c.Step, step.Status)
	}
	ref := StepRef{Step: c.Step, Kind: step.Kind, Target: step.Target, Dispatch: c.Caller.Dispatch, Attempt: c.Caller.Attempt}
	if c.Succeeded {
		p.emitBody(step.Last, &StepSucceeded{StepRef: ref, Usage: countable(step.Kind, c.Usage)}, c.Outcome)
	} else {
		p.emitBody(step.Last, &StepFailed{StepRef: ref}, c.Outcome)
	}
	p.progress()
	p.plan.Answer = Answer{Decision: Recorded, Step: c.Step}
	return nil
}

// maxTokens is more than any call can use; it keeps sums of counts from overflowing.
const maxTokens = 1 << 40

// countable is the usage as far as it counts: an agent that reports nonsense
// neither gains budget by it nor gets an error.
func countable(kind StepKind, u *Usage) *Usage {
	if u == nil || kind != LLMCall || u.InputTokens < 0 || u.OutputTokens < 0 || u.InputTokens > maxTokens || u.OutputTokens > maxTokens {
		return nil
	}
	return u
}

func (p *planner) finishExecution(c *FinishExecution) error {
	l, s := p.lease(), p.s
	standing := l.standing(c.Caller)
	if standing == stale || standing == lapsed && !s.Status.Terminal() {
		return superseded()
	}
	if s.Status.Terminal() {
		same := s.Status == StatusCompleted && c.Succeeded && c.Canonical == s.Outcome ||
			s.Status == StatusFailed && !c.Succeeded && c.Reason == s.Failure
		if same && l.Status == DispatchDone { // not given up on: it was this attempt that said so
			p.plan.Answer = Answer{Decision: Recorded, Unchanged: true}
			return nil
		}
		return reject(TerminalExecution, "the execution is already %s", s.Status)
	}
	if s.Status == StatusBlocked {
		return reject(Conflict, "the execution is blocked: exit, and finish it in the attempt that comes after the block")
	}
	if standing == live {
		p.proveDelivery()
	}
	if c.Succeeded {
		p.emitBody(s.Acked, &ExecutionCompleted{}, c.Output).Ruled = c.Canonical
	} else {
		p.emit(s.Acked, &ExecutionFailed{Reason: c.Reason})
	}
	p.release()
	p.plan.Answer = Answer{Decision: Recorded}
	return nil
}

// cancel ends the execution from outside: whether steps in flight ran is unknown.
func (p *planner) cancel(c *CancelExecution) error {
	if p.s.Status.Terminal() {
		return reject(Conflict, "the execution is already %s", p.s.Status)
	}
	var cause EventID
	if c.Reason == ReasonDeadline {
		if p.s.Deadline.IsZero() || p.s.Deadline > p.at {
			return nil
		}
		cause = p.s.Created
	}
	body := errorBody("reason", ReasonCancelled)
	for _, open := range p.s.openSteps() {
		step := open.step
		ref := StepRef{Step: open.id, Kind: step.Kind, Target: step.Target, Dispatch: step.Dispatch, Attempt: step.Attempt}
		p.emitBody(cause, &StepCancelled{StepRef: ref}, body)
	}
	p.emit(cause, &ExecutionCancelled{Reason: c.Reason})
	l := p.lease()
	switch {
	case l.Status.Waiting():
		l.Attempt++
		l.Status, l.Holder = DispatchDiscarded, Holder{Dispatch: l.ID, Attempt: l.Attempt}
		p.emit(EventID{}, &DeliveryDiscarded{Dispatch: l.ID, Attempt: l.Attempt})
	case l.Status == DispatchInFlight:
		p.release()
	}
	return nil
}

type openStep struct {
	id   StepID
	step *Step
}

// openSteps are the steps that have not ended, in order of proposal.
func (s *State) openSteps() []openStep {
	var open []openStep
	for id, step := range s.Steps {
		if !step.Status.Terminal() {
			open = append(open, openStep{id, step})
		}
	}
	slices.SortFunc(open, func(a, b openStep) int { return cmp.Compare(a.step.No, b.step.No) })
	return open
}
