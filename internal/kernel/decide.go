package kernel

import "fmt"

// Decide applies the rules: what command c comes to in state s under lease l.
// It changes neither. An error is always a *[Rejection]; the plan that comes
// with one is empty but for two cases, in which its events are to be saved
// before the refusal is answered: a submit of an attempt that lost its
// counters, and a decision on an approval whose time was over.
func Decide(s *State, l *Lease, c Command) (Plan, error) {
	p := newPlanner(s, l, c.meta())
	if err := p.decide(c); err != nil {
		if !p.saveAnyway {
			return Plan{Lease: *l}, err
		}
		return p.plan, err
	}
	return p.plan, nil
}

func (p *planner) decide(c Command) error {
	if _, create := c.(*CreateExecution); create != (p.s.Status == 0) {
		if create {
			return reject(Conflict, "the execution exists already")
		}
		return reject(NotFound, "there is no such execution")
	}
	switch c := c.(type) {
	case *CreateExecution:
		return p.create(c)
	case *SubmitStep:
		return p.submit(c)
	case *FinishStep:
		return p.finishStep(c)
	case *FinishExecution:
		return p.finishExecution(c)
	case *CancelExecution:
		return p.cancel(c)
	case *DecideApproval:
		return p.decideApproval(c)
	case *SendSignal:
		return p.signal(c)
	case *ClaimDispatch:
		return p.claim(c)
	case *RecordDelivery:
		return p.delivery(c)
	case *LapseLease:
		return p.lapse(c)
	case *RestartDispatch:
		return p.restart()
	case *Unpark:
		return p.unpark()
	case *ExpireWait:
		return p.expireWait()
	case *Heartbeat:
		return p.heartbeat(c)
	case *PublishDelta:
		return p.delta(c)
	default: // fail closed
		return reject(Conflict, "unknown command %T", c)
	}
}

// planner collects the plan of one command.
type planner struct {
	s    *State
	at   Instant
	mint *Mint
	plan Plan

	saveAnyway bool // the events stand although the command is refused
}

func newPlanner(s *State, l *Lease, m *Meta) *planner {
	mint := m.Mint
	return &planner{s: s, at: m.At, mint: &mint, plan: Plan{Lease: *l}}
}

func (p *planner) lease() *Lease { return &p.plan.Lease }

// emit adds an event. The first of an operation was caused by cause; all that
// follow were caused by the first.
func (p *planner) emit(cause EventID, d Data) *Event {
	if len(p.plan.Events) > 0 {
		cause = p.plan.Events[0].ID
	} else {
		p.plan.Events = make([]Event, 0, 4)
	}
	p.plan.Events = append(p.plan.Events, Event{
		Seq: p.s.LastSeq + int64(len(p.plan.Events)) + 1, ID: EventID{p.mint.UUID()}, Cause: cause, At: p.at, Data: d,
	})
	return &p.plan.Events[len(p.plan.Events)-1]
}

func (p *planner) emitBody(cause EventID, d Data, b Body) *Event {
	e := p.emit(cause, d)
	e.Body, e.Digest = b.JSON, b.Digest
	return e
}

func (p *planner) create(c *CreateExecution) error {
	labels := c.Labels
	if len(labels) == 0 {
		labels = nil // one way to have none, as it is read back
	}
	p.emitBody(EventID{}, &ExecutionCreated{Agent: c.Agent, Labels: labels, Deadline: c.Deadline}, c.Input)
	p.enqueue(ReasonCreated)
	return nil
}

// enqueue creates a dispatch, due at once.
func (p *planner) enqueue(reason string) {
	l := p.lease()
	id := DispatchID{p.mint.UUID()}
	l.Dispatch = Dispatch{ID: id, Status: DispatchPending, NotBefore: p.at, Holder: l.Holder}
	l.Memory, l.ExpiresAt = nil, 0
	p.emit(EventID{}, &DispatchQueued{Dispatch: id, Reason: reason})
}

// release ends the dispatch in flight.
func (p *planner) release() {
	p.lease().Status = DispatchDone
}

// resume ends a block and sends the agent on.
func (p *planner) resume(why, dispatch string) {
	p.emit(EventID{}, &ExecutionResumed{Reason: why})
	p.enqueue(dispatch)
}

func reject(code Code, format string, args ...any) error {
	return &Rejection{Code: code, Message: fmt.Sprintf(format, args...)}
}

func superseded() error {
	return reject(LeaseSuperseded, "this attempt no longer owns the execution: stop without failing it; the attempt that does owns the rest")
}
