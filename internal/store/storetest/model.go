package storetest

import (
	"maps"
	"slices"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// model is one execution as the pure rules have it.
type model struct {
	id     kernel.ExecutionID
	state  kernel.State
	lease  kernel.Lease
	log    []kernel.Record
	chain  kernel.Chain
	past   []kernel.Holder // attempts that were claimed
	fresh  bool            // its lease was not looked at since the store was opened
	crash  bool            // and the store was killed since
	erased bool            // by retention
}

// save keeps a plan, as a store has to.
func (m *model) save(w *world, p *kernel.Plan) {
	for i := range p.Events {
		e := &p.Events[i]
		w.pos++
		e.Pos = w.pos
		w.bodies[e.Pos] = e.Body
		payload := kernel.AppendPayload(nil, m.id, e.Data)
		m.state.Head = m.chain.Next(m.state.Head, m.id, e, payload)
		m.log = append(m.log, kernel.Record{Event: e, Payload: string(payload), Hash: m.state.Head})
		m.state.Fold(e)
		w.project(m, e)
	}
	p.Settle(&m.lease)
	if c := p.Answer.Claimed; c != nil {
		m.past = append(m.past, c.Attempt)
	}
}

// project keeps the approvals, as reads show them.
func (w *world) project(m *model, e *kernel.Event) {
	decide := func(id kernel.ApprovalID, to kernel.ApprovalStatus, by, rationale string) {
		a := w.approval(id)
		a.Status, a.DecidedBy, a.DecidedAt, a.Rationale = to, by, e.At, rationale
	}
	switch d := e.Data.(type) {
	case *kernel.ApprovalRequested:
		step := m.state.Steps[d.Step]
		w.approvals = append(w.approvals, &store.Approval{
			ApprovalFacts: kernel.ApprovalFacts{ID: d.Approval, Status: kernel.ApprovalStatusPending, Approvers: d.Approvers, TimeoutAt: d.TimeoutAt},
			Execution:     m.id, Step: d.Step, Agent: m.state.Agent, Kind: step.Kind, Target: step.Target, Args: w.bodies[step.No],
			Rule: d.Rule, Reason: d.Reason, Message: d.Message, CreatedAt: e.At,
		})
	case *kernel.ApprovalGranted:
		decide(d.Approval, kernel.ApprovalStatusGranted, d.DecidedBy, d.Rationale)
	case *kernel.ApprovalDenied:
		decide(d.Approval, kernel.ApprovalStatusDenied, d.DecidedBy, d.Rationale)
	case *kernel.ApprovalExpired:
		decide(d.Approval, kernel.ApprovalStatusExpired, "", "")
	case *kernel.ExecutionCancelled:
		for _, a := range w.approvals {
			if a.Execution == m.id && a.Status == kernel.ApprovalStatusPending {
				a.Status = kernel.ApprovalStatusCancelled
			}
		}
	default: // says nothing about approvals
	}
}

func (w *world) approval(id kernel.ApprovalID) *store.Approval {
	for _, a := range w.approvals {
		if a.ID == id {
			return a
		}
	}
	w.t.Fatalf("no approval %s was requested", id)
	return nil
}

// steps are the model's recorded steps as reads show them, in order.
func (m *model) steps(w *world) []store.Step {
	var steps []store.Step
	for id, s := range m.state.Steps {
		step := store.Step{ID: id, Step: *s, Execution: m.id, Args: w.bodies[s.No], Outcome: w.bodies[s.ResultPos]}
		step.Last, step.Wait = kernel.EventID{}, false // not for reading
		steps = append(steps, step)
	}
	slices.SortFunc(steps, func(a, b store.Step) int { return int(a.No - b.No) })
	return steps
}

// execution is the model's execution as reads show it.
func (m *model) execution(w *world) store.Execution {
	s := &m.state
	return store.Execution{
		No: s.No, ID: m.id, Agent: s.Agent, Status: s.Status, Input: w.bodies[s.No], Output: w.bodies[s.OutputPos], Failure: s.Failure,
		Labels: s.Labels, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Deadline: s.Deadline, LastSeq: s.LastSeq,
	}
}

// events are the model's log as reads show it.
func (m *model) events() []store.Event {
	var events []store.Event
	for _, r := range m.log {
		e := store.Event{
			Execution: m.id, Seq: r.Event.Seq, ID: r.Event.ID, Cause: r.Event.Cause,
			Type: r.Event.Type(), At: r.Event.At, Payload: r.Payload,
		}
		if e.Type.BodyField() != "" {
			e.Body = r.Event.Body
		}
		events = append(events, e)
	}
	return events
}

// timers are what falls due in the model, in no order.
func (m *model) timers(w *world) []store.Timer {
	var timers []store.Timer
	add := func(kind store.TimerKind, at kernel.Instant, approval kernel.ApprovalID) {
		if !at.IsZero() {
			timers = append(timers, store.Timer{Kind: kind, At: at, Execution: m.id, Approval: approval})
		}
	}
	for _, a := range w.approvals {
		if a.Execution == m.id && a.Status == kernel.ApprovalStatusPending {
			add(store.TimerApproval, a.TimeoutAt, a.ID)
		}
	}
	if b := m.state.Block; b != nil && b.Reason == kernel.BlockedOnSignal {
		add(store.TimerWait, b.TimeoutAt, kernel.ApprovalID{})
	}
	if p := m.state.Park; p != nil {
		add(store.TimerPark, p.RetryAt, kernel.ApprovalID{})
	}
	if !m.state.Status.Terminal() {
		add(store.TimerDeadline, m.state.Deadline, kernel.ApprovalID{})
	}
	return timers
}

func cloneState(s *kernel.State) *kernel.State {
	c := *s
	c.Labels, c.Indeterminate, c.WasParked = maps.Clone(s.Labels), maps.Clone(s.Indeterminate), maps.Clone(s.WasParked)
	c.Signals = slices.Clone(s.Signals)
	c.Steps = make(map[kernel.StepID]*kernel.Step, len(s.Steps))
	for id, step := range s.Steps {
		copied := *step
		if copied.Status.Terminal() {
			copied.Last = kernel.EventID{} // nothing follows from a step that has ended
		}
		c.Steps[id] = &copied
	}
	return &c
}

func cloneLease(l *kernel.Lease) *kernel.Lease {
	c := *l
	if l.Memory != nil {
		c.Memory = &kernel.Memory{Counters: maps.Clone(l.Memory.Counters), Keys: maps.Clone(l.Memory.Keys)}
	}
	return &c
}
