package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// load folds an execution back into memory from its rows, which hold the same
// as a fold of its log would give, at a cost that does not grow with its events.
func (w *writer) load(id kernel.ExecutionID) (*resident, error) {
	r := &resident{state: kernel.State{ID: id}}
	s := &r.state
	found, err := one(w.sql.loadExecution, func(row []driver.Value) error { return scanExecution(s, row) }, id.UUID[:])
	if err := notFound(found, err, "execution %s", id); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		from *stmt
		scan func(row []driver.Value) error
	}{
		{w.sql.loadHead, func(row []driver.Value) error {
			s.LastSeq, s.UpdatedAt = asInt(row[0]), kernel.Instant(asInt(row[2]))
			copyTo(s.Head[:], row[1])
			return nil
		}},
		{w.sql.loadDispatch, func(row []driver.Value) error { scanDispatch(s, &r.lease, row); return nil }},
		{w.sql.loadSteps, func(row []driver.Value) error { scanStep(s, row); return nil }},
		{w.sql.loadBlock, func(row []driver.Value) error { scanBlock(s, row); return nil }},
		{w.sql.loadParks, func(row []driver.Value) error { scanPark(s, row); return nil }},
		{w.sql.loadSignals, func(row []driver.Value) error {
			sig := kernel.Signal{Pos: asInt(row[0]), Type: asText(row[3])}
			copyTo(sig.ID.UUID[:], row[1])
			copyTo(sig.Event.UUID[:], row[2])
			s.Signals = append(s.Signals, sig)
			return nil
		}},
	} {
		if err := part.from.query(part.scan, s.No); err != nil {
			return nil, fmt.Errorf("load execution %s: %w", id, err)
		}
	}
	if s.Status.Terminal() {
		s.Signals = nil
	}
	return r, w.loadMemory(r)
}

func scanExecution(s *kernel.State, row []driver.Value) error {
	s.No, s.Agent, s.Status = asInt(row[0]), kernel.AgentID(asText(row[1])), kernel.Status(asInt(row[2]))
	s.CreatedAt, s.Deadline = kernel.Instant(asInt(row[3])), kernel.Instant(asInt(row[4]))
	s.Failure, s.OutputPos = asText(row[5]), asInt(row[7])
	copyTo(s.Outcome[:], row[6])
	copyTo(s.Created.UUID[:], row[9])
	if labels := asBytes(row[8]); labels != nil {
		return json.Unmarshal(labels, &s.Labels)
	}
	return nil
}

func scanDispatch(s *kernel.State, l *kernel.Lease, row []driver.Value) {
	d := &l.Dispatch
	copyTo(d.ID.UUID[:], row[0])
	d.Status, d.Attempt, d.Claims = kernel.DispatchStatus(asInt(row[1])), asInt(row[2]), int(asInt(row[3]))
	d.NotBefore, d.Timeout, d.Acked = kernel.Instant(asInt(row[4])), micros(asInt(row[5])), asInt(row[6]) != 0
	copyTo(d.Holder.Dispatch.UUID[:], row[7])
	d.Holder.Attempt = asInt(row[8])
	copyTo(s.Queued.UUID[:], row[9])
	copyTo(s.Acked.UUID[:], row[10])
}

func scanStep(s *kernel.State, row []driver.Value) {
	var id kernel.StepID
	copyTo(id[:], row[0])
	step := &kernel.Step{
		No: asInt(row[1]), Kind: kernel.StepKind(asInt(row[2])), Status: kernel.StepStatus(asInt(row[3])),
		Idempotency: kernel.Idempotency(asInt(row[4])), Occurrence: uint32(asInt(row[5])), Attempt: asInt(row[6]),
		CreatedAt: kernel.Instant(asInt(row[7])), StartedAt: kernel.Instant(asInt(row[8])), Target: asText(row[9]), Rule: asText(row[10]),
	}
	copyTo(step.ArgsHash[:], row[11])
	copyTo(step.Dispatch.UUID[:], row[12])
	copyTo(step.Last.UUID[:], row[13])
	copyTo(step.Approval.UUID[:], row[14])
	step.Wait = !step.StartedAt.IsZero() && kernel.ReservedTarget(step.Kind, step.Target)
	scanResult(step, row[15:])
	if s.Steps == nil {
		s.Steps = make(map[kernel.StepID]*kernel.Step, 8)
	}
	s.Steps[id] = step
	if step.Usage != nil {
		s.Tokens += step.Usage.InputTokens + step.Usage.OutputTokens
	}
	if len(row) > 20 && asInt(row[20]) != 0 {
		s.MarkIndeterminate(step)
	}
}

// scanResult reads the columns of step_results: status, pos, at, tokens,
// indeterminate, reason; all NULL while the step has not ended.
func scanResult(step *kernel.Step, row []driver.Value) {
	if row[0] == nil {
		return
	}
	step.Status, step.ResultPos, step.CompletedAt = kernel.StepStatus(asInt(row[0])), asInt(row[1]), kernel.Instant(asInt(row[2]))
	if row[3] != nil {
		step.Usage = &kernel.Usage{InputTokens: asInt(row[3]), OutputTokens: asInt(row[4])}
	}
	step.Reason = asText(row[6])
}

func scanBlock(s *kernel.State, row []driver.Value) {
	b := &kernel.Block{Reason: kernel.BlockReason(asInt(row[0])), Signal: asText(row[4]), TimeoutAt: kernel.Instant(asInt(row[5]))}
	copyTo(b.Step[:], row[1])
	copyTo(b.Approval.UUID[:], row[2])
	copyTo(b.Requested.UUID[:], row[3])
	s.Block = b
}

func scanPark(s *kernel.State, row []driver.Value) {
	var p kernel.Park
	copyTo(p.Step[:], row[0])
	if s.WasParked == nil {
		s.WasParked = make(map[kernel.StepID]struct{}, 1)
	}
	s.WasParked[p.Step] = struct{}{}
	if p.RetryAt = kernel.Instant(asInt(row[2])); !p.RetryAt.IsZero() {
		copyTo(p.Event.UUID[:], row[1])
		s.Park = &p
	}
}

// loadMemory brings back what an attempt in flight submitted, if it left
// memory in an orderly way, and when its lease ends.
func (w *writer) loadMemory(r *resident) error {
	if r.state.Status.Terminal() {
		return nil
	}
	opened := kernel.At(w.db.opened)
	r.lease.ExpiresAt = opened.Add(r.lease.Timeout)
	found, err := one(w.sql.loadLease, func(row []driver.Value) error {
		r.lease.ExpiresAt = leaseEnd(opened, kernel.Instant(asInt(row[0])), kernel.Instant(asInt(row[1])))
		if row[2] != nil {
			r.lease.Memory = decodeMemory(asBytes(row[2]))
		}
		return nil
	}, r.state.No)
	if err != nil || !found {
		return err
	}
	// From here on the memory grows, and a row that stayed would be an old one:
	// it goes in this transaction, or r goes from memory with a rollback. It is
	// no change of the operation's, which may fail by itself and keep it.
	w.tx.touch(r)
	err = w.tx.exec(w.sql.deleteLease, r.state.No)
	w.tx.writes--
	return err
}

// leaseEnd is when a stored lease ends. Across a restart it goes on with what
// was left of it: while the service was away the agent could not renew it.
func leaseEnd(opened, expires, stored kernel.Instant) kernel.Instant {
	if stored < opened {
		return opened.Add(expires.Sub(stored))
	}
	return expires
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
