package kernel

func (p *planner) signal(c *SendSignal) error {
	s := p.s
	if s.Status.Terminal() {
		return reject(TerminalExecution, "the execution is already %s", s.Status)
	}
	id := SignalID{p.mint.UUID()}
	p.plan.Answer.Signal = id
	p.emitBody(EventID{}, &SignalReceived{Signal: id, SignalType: c.SignalType, Key: c.Key}, c.Payload)
	if b := s.Block; b != nil && b.Reason == BlockedOnSignal && b.Signal == c.SignalType {
		ref, _ := p.gated()
		p.emit(EventID{}, &StepSucceeded{StepRef: ref})
		p.resume(ReasonSignalReceived, ReasonSignal)
	}
	return nil
}

func (p *planner) expireWait() error {
	b := p.s.Block
	if b == nil || b.Reason != BlockedOnSignal || b.TimeoutAt.IsZero() || b.TimeoutAt > p.at {
		return nil
	}
	ref, step := p.gated()
	p.emitBody(step.Last, &StepFailed{StepRef: ref}, errorBody("reason", ReasonSignalTimeout))
	p.resume(ReasonWaitTimedOut, ReasonWaitTimedOut)
	return nil
}
