package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Save implements [store.Tx].
func (t *tx) Save(s *kernel.State, l *kernel.Lease, c kernel.Command, p *kernel.Plan) error {
	r := t.w.cache.resident[s.ID]
	if r == nil {
		if err := t.mayCreate(p); err != nil {
			return err
		}
		r = &resident{state: *s, lease: *l}
		t.w.cache.put(r)
	}
	var records []kernel.Record
	status, waits := r.state.Status, r.state.Block.Waits()
	if len(p.Events) > 0 {
		t.touch(r)
		var err error
		if records, err = t.log(&r.state, p.Events); err != nil {
			return err
		}
		if err := t.project(&r.state, p.Events); err != nil {
			return err
		}
		t.w.cache.weigh(r)
	}
	before := r.lease
	t.settled = append(t.settled, settled{r, before, p})
	p.Settle(&r.lease)
	moved := r.lease.Dispatch != before.Dispatch
	if moved { // as it has when an event of the dispatch was written, whose id the row keeps
		t.touch(r)
		if err := t.putDispatch(r); err != nil {
			return err
		}
	}
	if len(records) > 0 || moved {
		done := committed(r, records, c)
		done.Before, done.WaitedFor = status, waits
		t.pending = append(t.pending, done)
	}
	return nil
}

// mayCreate reports whether the agent of a new execution is registered, before
// anything is written: it may have been deleted a moment ago.
func (t *tx) mayCreate(p *kernel.Plan) error {
	if len(p.Events) > 0 {
		if d, ok := p.Events[0].Data.(*kernel.ExecutionCreated); ok {
			_, err := t.agentNo(d.Agent)
			return err
		}
	}
	return errors.New("save: the execution was neither loaded nor is it new")
}

func committed(r *resident, records []kernel.Record, c kernel.Command) store.Committed {
	s := &r.state
	out := store.Committed{
		Execution: s.ID, No: s.No, Agent: s.Agent, Status: s.Status, Records: records,
		Dispatch: r.lease.Dispatch, ExpiresAt: r.lease.ExpiresAt, Command: c,
	}
	sooner := func(at kernel.Instant) {
		if !at.IsZero() && (out.WakeAt.IsZero() || at < out.WakeAt) {
			out.WakeAt = at
		}
	}
	if len(records) > 0 && records[0].Event.Type() == kernel.TypeExecutionCreated {
		sooner(s.Deadline)
	}
	if s.Block != nil {
		sooner(s.Block.TimeoutAt)
	}
	if s.Park != nil {
		sooner(s.Park.RetryAt)
	}
	return out
}

// log gives the events their positions, chains them and appends them.
func (t *tx) log(s *kernel.State, events []kernel.Event) ([]kernel.Record, error) {
	records := make([]kernel.Record, len(events))
	no := s.No
	if no == 0 {
		no = t.pos + 1 // this is execution.created
	}
	head := s.Head
	args := make([]any, 0, min(len(events), maxEventRows)*eventRowWidth)
	for i := range events {
		e := &events[i]
		t.pos++
		e.Pos = t.pos
		t.payload = kernel.AppendPayload(t.payload[:0], s.ID, e.Data)
		head = t.chain.Next(head, s.ID, e, t.payload)
		records[i] = kernel.Record{Event: e, Payload: string(t.payload), Hash: head}
		body := t.stored(e)
		t.bytes += len(body)
		args = append(args, e.Pos, no, e.Seq, int64(e.Type()), int64(e.At), e.ID.UUID[:],
			bytesOrNull(e.Cause.UUID[:], e.Cause.IsZero()), bytesOrNull(e.Ruled[:], e.Ruled.IsZero()),
			bytesOrNull(e.Digest[:], e.Digest.IsZero()), records[i].Hash[:], records[i].Payload, bytesOrNull(body, body == nil))
		if rows := len(args) / eventRowWidth; rows == maxEventRows || i == len(events)-1 {
			if err := t.exec(t.w.sql.events[rows-1], args...); err != nil {
				return nil, err
			}
			args = args[:0]
		}
	}
	s.Head = head
	return records, nil
}

// touchedStep is a step whose rows an operation writes.
type touchedStep struct {
	id     kernel.StepID
	fresh  bool              // proposed by this operation
	moved  bool              // or changed by it before it ended
	status kernel.StepStatus // to which it moved, its end aside
	last   kernel.EventID    // the event that moved it there
}

// project folds the events and brings the rows up to what the state says then.
// The log alone determines every row, so that they can be rebuilt from it.
func (t *tx) project(s *kernel.State, events []kernel.Event) error {
	var few [4]touchedStep
	steps := few[:0]
	status := s.Status
	for i := range events {
		e := &events[i]
		s.Fold(e)
		if err := t.projectEvent(s, e); err != nil {
			return err
		}
		steps = noteStep(steps, e)
	}
	if status != 0 && s.Status != status {
		if err := t.updateExecution(s); err != nil {
			return err
		}
	}
	for i := range steps {
		if err := t.projectStep(s, &steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// projectEvent writes the rows that follow from a single event.
func (t *tx) projectEvent(s *kernel.State, e *kernel.Event) error {
	q := &t.w.sql
	switch d := e.Data.(type) {
	case *kernel.ExecutionCreated:
		return t.insertExecution(s)
	case *kernel.ExecutionBlocked:
		b := s.Block
		return t.exec(q.insertBlock, s.No, int64(b.Reason), b.Step[:], bytesOrNull(b.Approval.UUID[:], b.Approval.IsZero()),
			bytesOrNull(b.Requested.UUID[:], b.Requested.IsZero()), textOrNull(b.Signal), intOrNull(int64(b.TimeoutAt)))
	case *kernel.ExecutionResumed:
		return t.exec(q.deleteBlock, s.No)
	case *kernel.ExecutionCompleted, *kernel.ExecutionFailed:
		return t.exec(q.endParks, s.No)
	case *kernel.ExecutionCancelled:
		return t.cancelled(s)
	case *kernel.DispatchQueued:
		if d.Reason == kernel.ReasonRateLimit {
			return t.exec(q.endParks, s.No)
		}
	case *kernel.StepRateLimited:
		if d.Parked {
			return t.exec(q.insertPark, s.No, d.Step[:], e.ID.UUID[:], int64(d.RetryAt))
		}
	case *kernel.StepSucceeded:
		if step := s.Steps[d.Step]; step != nil && step.Wait && step.ResultPos != e.Pos {
			return t.exec(q.takeSignal, step.ResultPos)
		}
	case *kernel.ApprovalRequested:
		return t.insertApproval(s, e, d)
	case *kernel.ApprovalGranted:
		return t.exec(q.decideApproval, d.Approval.UUID[:], int64(kernel.ApprovalStatusGranted), int64(e.At), d.DecidedBy, textOrNull(d.Rationale))
	case *kernel.ApprovalDenied:
		return t.exec(q.decideApproval, d.Approval.UUID[:], int64(kernel.ApprovalStatusDenied), int64(e.At), d.DecidedBy, textOrNull(d.Rationale))
	case *kernel.ApprovalExpired:
		return t.exec(q.decideApproval, d.Approval.UUID[:], int64(kernel.ApprovalStatusExpired), int64(e.At), nil, nil)
	case *kernel.SignalReceived:
		return t.exec(q.insertSignal, e.Pos, s.No, d.Signal.UUID[:], e.ID.UUID[:], d.SignalType, e.Digest[:], textOrNull(d.Key))
	default: // steps are written once an operation, not once an event
	}
	return nil
}

func (t *tx) insertExecution(s *kernel.State) error {
	var no int64
	found, err := one(t.w.sql.agentAny, func(row []driver.Value) error { no = asInt(row[0]); return nil }, string(s.Agent))
	if err := notFound(found, err, "agent %s", s.Agent); err != nil {
		return err
	}
	var labels any
	if len(s.Labels) > 0 {
		text, err := json.Marshal(s.Labels)
		if err != nil {
			return fmt.Errorf("labels: %w", err)
		}
		labels = string(text)
	}
	if err := t.exec(t.w.sql.insertExecution, s.No, s.ID.UUID[:], no, int64(s.Status), int64(s.CreatedAt), intOrNull(int64(s.Deadline)), labels); err != nil {
		return err
	}
	for k, v := range s.Labels {
		if err := t.exec(t.w.sql.insertLabel, k, v, s.No); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) updateExecution(s *kernel.State) error {
	ended := int64(0)
	if s.Status.Terminal() {
		ended = int64(s.UpdatedAt)
	}
	return t.exec(t.w.sql.updateExecution, s.No, int64(s.Status), intOrNull(ended), intOrNull(s.OutputPos),
		bytesOrNull(s.Outcome[:], s.Outcome.IsZero()), s.Failure)
}

// cancelled ends what the execution waited for; its pending approval goes with it.
func (t *tx) cancelled(s *kernel.State) error {
	q := &t.w.sql
	if err := t.exec(q.cancelApproval, s.No, int64(kernel.ApprovalStatusCancelled)); err != nil {
		return err
	}
	if err := t.exec(q.deleteBlock, s.No); err != nil {
		return err
	}
	return t.exec(q.endParks, s.No)
}

func (t *tx) insertApproval(s *kernel.State, e *kernel.Event, d *kernel.ApprovalRequested) error {
	step := s.Steps[d.Step]
	if step == nil {
		return fmt.Errorf("approval %s: no step %s", d.Approval, d.Step)
	}
	var approvers any
	if len(d.Approvers) > 0 {
		text, err := json.Marshal(d.Approvers)
		if err != nil {
			return fmt.Errorf("approvers: %w", err)
		}
		approvers = string(text)
	}
	return t.exec(t.w.sql.insertApproval, e.Pos, d.Approval.UUID[:], s.No, step.No, int64(kernel.ApprovalStatusPending),
		int64(e.At), int64(d.TimeoutAt), d.Rule, d.Reason, d.Message, approvers)
}

// noteStep keeps account of the steps that an operation touches. What it
// notes does not depend on where one operation ends and the next begins, save
// that a proposal and the event that decides it belong together.
func noteStep(steps []touchedStep, e *kernel.Event) []touchedStep {
	switch d := e.Data.(type) {
	case *kernel.StepProposed:
		return append(steps, touchedStep{id: d.Step, fresh: true, status: kernel.StepStatusProposed, last: e.ID})
	case *kernel.StepAllowed:
		return moveStep(steps, d.Step, kernel.StepStatusAllowed, e)
	case *kernel.StepAwaitingApproval:
		return moveStep(steps, d.Step, kernel.StepStatusAwaitingApproval, e)
	case *kernel.StepExecuting:
		return moveStep(steps, d.Step, kernel.StepStatusExecuting, e)
	case *kernel.StepDenied:
		steps, _ = noted(steps, d.Step)
	case *kernel.StepSucceeded:
		steps, _ = noted(steps, d.Step)
	case *kernel.StepFailed:
		steps, _ = noted(steps, d.Step)
	case *kernel.StepCancelled:
		steps, _ = noted(steps, d.Step)
	default: // a requested approval comes with the step's own event
	}
	return steps
}

func moveStep(steps []touchedStep, id kernel.StepID, to kernel.StepStatus, e *kernel.Event) []touchedStep {
	steps, step := noted(steps, id)
	step.moved, step.status, step.last = true, to, e.ID
	return steps
}

func noted(steps []touchedStep, id kernel.StepID) ([]touchedStep, *touchedStep) {
	for i := range steps {
		if steps[i].id == id {
			return steps, &steps[i]
		}
	}
	steps = append(steps, touchedStep{id: id})
	return steps, &steps[len(steps)-1]
}

// projectStep writes a step's row, and the row of its end. The step row of an
// ended step keeps what it said before.
func (t *tx) projectStep(s *kernel.State, touched *touchedStep) error {
	step := s.Steps[touched.id]
	if step == nil {
		return nil // refused or parked by a rate limit: not recorded
	}
	ended := step.Status.Terminal()
	switch {
	case touched.fresh:
		if err := t.exec(t.w.sql.insertStep, step.No, s.No, touched.id[:], int64(step.Kind), int64(touched.status), int64(step.Idempotency),
			int64(step.Occurrence), step.Attempt, int64(step.CreatedAt), intOrNull(int64(step.StartedAt)), step.Target, step.Rule,
			step.ArgsHash[:], step.Dispatch.UUID[:], touched.last.UUID[:], bytesOrNull(step.Approval.UUID[:], step.Approval.IsZero())); err != nil {
			return err
		}
	case touched.moved:
		if err := t.exec(t.w.sql.updateStep, step.No, int64(touched.status), step.Attempt, intOrNull(int64(step.StartedAt)),
			step.Dispatch.UUID[:], touched.last.UUID[:], bytesOrNull(step.Approval.UUID[:], step.Approval.IsZero())); err != nil {
			return err
		}
	}
	if !ended {
		return nil
	}
	var in, out, unknown any
	if step.Usage != nil {
		in, out = step.Usage.InputTokens, step.Usage.OutputTokens
	}
	if step.Indeterminate {
		unknown = int64(1)
	}
	return t.exec(t.w.sql.insertResult, step.No, int64(step.Status), step.ResultPos, int64(step.CompletedAt), in, out, unknown, textOrNull(step.Reason))
}

func (t *tx) putDispatch(r *resident) error {
	d, s := &r.lease.Dispatch, &r.state
	acked := int64(0)
	if d.Acked {
		acked = 1
	}
	return t.exec(t.w.sql.putDispatch, s.No, d.ID.UUID[:], int64(d.Status), d.Attempt, int64(d.Claims), int64(d.NotBefore),
		d.Timeout.Microseconds(), acked, d.Holder.Dispatch.UUID[:], d.Holder.Attempt, s.Queued.UUID[:], s.Acked.UUID[:])
}
