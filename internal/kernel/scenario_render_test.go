package kernel_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

func canonicalDigest(json string) kernel.Digest { return canonjson.Digest([]byte(json)) }

func (s *script) renderOutcome(out outcome) []string {
	lines := []string{s.renderAnswer(&out)}
	for i := range out.events {
		e := &out.events[i]
		line := fmt.Sprintf("%2d %s", e.Seq, e.Type()) + s.renderData(e)
		if s.causes {
			line += " <- " + s.cause(e.Cause)
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *script) cause(id kernel.EventID) string {
	for _, r := range s.world.log {
		if r.Event.ID == id {
			return strconv.FormatInt(r.Event.Seq, 10)
		}
	}
	return "outside"
}

func (s *script) renderAnswer(out *outcome) string {
	if out.err != nil {
		text := "!! " + out.err.Code.String()
		if out.err.Code != kernel.LeaseSuperseded {
			text += ": " + s.shorten(out.err.Message)
		}
		if out.err.Status != 0 {
			text += fmt.Sprintf(" (status=%s)", out.err.Status)
		}
		return text
	}
	a, text := &out.answer, "->"
	if a.Decision != 0 {
		text += " " + a.Decision.String()
	}
	if a.Step != (kernel.StepID{}) {
		text += " " + s.step(a.Step)
	}
	if a.Decision == kernel.Replay {
		outcome := " result "
		if a.Failed {
			outcome = " error "
		}
		text += outcome + s.world.body(a)
	}
	if !a.Approval.IsZero() {
		text += " approval=" + s.approval(a.Approval)
	}
	text += field("rule", a.Rule) + field("reason", a.Reason)
	if a.RetryAfter != 0 {
		text += " retry_after=" + a.RetryAfter.String()
	}
	if c := a.Claimed; c != nil {
		text += fmt.Sprintf(" claimed %s lease=%s", s.attempt(c.Attempt.Dispatch, c.Attempt.Attempt), c.Timeout)
	}
	if !a.Signal.IsZero() {
		text += " signal"
	}
	if a.Unchanged {
		text += " unchanged"
	}
	if text == "->" {
		text += " ok"
		if len(out.events) == 0 {
			text = "-> nothing"
		}
	}
	return text
}

// shorten puts the names of steps and approvals for their ids.
func (s *script) shorten(message string) string {
	for _, id := range s.name().steps {
		message = strings.ReplaceAll(message, id.String(), s.step(id))
	}
	for _, id := range s.name().approvals {
		message = strings.ReplaceAll(message, id.String(), s.approval(id))
	}
	return strings.ReplaceAll(message, kernel.StepID{0xff}.String(), "#99")
}

func field(name, value string) string {
	switch {
	case value == "":
		return ""
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == '"' }):
		return " " + name + "=" + strconv.Quote(value)
	}
	return " " + name + "=" + value
}

// renderData shows the payload of an event but for what it repeats.
func (s *script) renderData(e *kernel.Event) string {
	switch d := e.Data.(type) {
	case *kernel.ExecutionCreated:
		text := field("agent", string(d.Agent)) + body("input", e)
		for _, k := range slices.Sorted(keys(d.Labels)) {
			text += field("label", k+":"+d.Labels[k])
		}
		if !d.Deadline.IsZero() {
			text += " deadline_at=" + s.time(d.Deadline)
		}
		return text
	case *kernel.ExecutionStarted:
		return " " + s.attempt(d.Dispatch, d.Attempt)
	case *kernel.ExecutionBlocked:
		if d.Reason == kernel.BlockedOnSignal {
			return fmt.Sprintf(" reason=%s ref=%s step=%s timeout_at=%s", d.Reason, d.Signal, s.step(d.Step), s.time(d.TimeoutAt))
		}
		return fmt.Sprintf(" reason=%s ref=%s approval=%s", d.Reason, s.step(d.Step), s.approval(d.Approval))
	case *kernel.ExecutionResumed:
		return field("reason", d.Reason)
	case *kernel.ExecutionCompleted:
		return body("output", e)
	case *kernel.ExecutionFailed:
		return field("reason", d.Reason)
	case *kernel.ExecutionCancelled:
		return field("reason", d.Reason)
	case *kernel.DispatchQueued:
		return " " + s.attempt(d.Dispatch, d.Attempt) + field("reason", d.Reason)
	case *kernel.DispatchAcked:
		return " " + s.attempt(d.Dispatch, d.Attempt)
	case *kernel.DeliveryFailed:
		return fmt.Sprintf(" %s status=%s%s http_status=%d next_attempt_at=%s",
			s.attempt(d.Dispatch, d.Attempt), d.Status, field("error", d.Error), d.HTTPStatus, s.time(d.NextAttemptAt))
	case *kernel.DeliveryDiscarded:
		return " " + s.attempt(d.Dispatch, d.Attempt)
	case *kernel.ApprovalRequested:
		return fmt.Sprintf(" %s %s%s%s approvers=%v timeout_at=%s%s",
			s.approval(d.Approval), s.step(d.Step), field("rule", d.Rule), field("reason", d.Reason), d.Approvers, s.time(d.TimeoutAt), field("message", d.Message))
	case *kernel.ApprovalGranted:
		return " " + s.approval(d.Approval) + " " + s.step(d.Step) + field("decided_by", d.DecidedBy) + field("rationale", d.Rationale)
	case *kernel.ApprovalDenied:
		return " " + s.approval(d.Approval) + " " + s.step(d.Step) + field("decided_by", d.DecidedBy) + field("rationale", d.Rationale)
	case *kernel.ApprovalExpired:
		return " " + s.approval(d.Approval) + " " + s.step(d.Step)
	case *kernel.SignalReceived:
		return field("type", d.SignalType) + field("key", d.Key) + body("payload", e)
	}
	return s.renderStepData(e)
}

func (s *script) renderStepData(e *kernel.Event) string {
	ref := func(r *kernel.StepRef) string { return " " + s.step(r.Step) }
	by := func(r *kernel.StepRef) string { return ref(r) + " by=" + s.attempt(r.Dispatch, r.Attempt) }
	switch d := e.Data.(type) {
	case *kernel.StepProposed:
		return fmt.Sprintf("%s %s %s%s occurrence=%d %s", by(&d.StepRef), d.Kind, d.Target, body("args", e), d.Occurrence, d.Idempotency)
	case *kernel.StepAllowed:
		return ref(&d.StepRef) + field("rule", d.Rule)
	case *kernel.StepDenied:
		return ref(&d.StepRef) + field("rule", d.Rule) + field("reason", d.Reason) + body("error", e)
	case *kernel.StepAwaitingApproval:
		return ref(&d.StepRef) + field("rule", d.Rule)
	case *kernel.StepRateLimited:
		return ref(&d.StepRef) + field("rule", d.Rule) + field("reason", d.Reason) + fmt.Sprintf(" parked=%t retry_at=%s", d.Parked, s.time(d.RetryAt))
	case *kernel.StepExecuting:
		return by(&d.StepRef)
	case *kernel.StepSucceeded:
		text := by(&d.StepRef) + body("result", e)
		if d.Usage != nil {
			text += fmt.Sprintf(" usage=%d+%d", d.Usage.InputTokens, d.Usage.OutputTokens)
		}
		return text
	case *kernel.StepFailed:
		text := by(&d.StepRef) + body("error", e)
		if d.Indeterminate {
			text += " indeterminate"
		}
		return text
	case *kernel.StepCancelled:
		return ref(&d.StepRef) + body("error", e)
	}
	s.fatalf("event %T is not rendered", e.Data)
	return ""
}

func body(name string, e *kernel.Event) string {
	if e.Body == nil {
		return ""
	}
	return " " + name + "=" + string(e.Body)
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s *script) renderState() []string {
	st := &s.world.state
	line := st.Status.String() + field("failure_reason", st.Failure)
	if st.Tokens != 0 {
		line += fmt.Sprintf(" tokens=%d", st.Tokens)
	}
	lines := []string{line}
	for _, id := range s.name().steps {
		step := st.Steps[id]
		if step == nil {
			continue
		}
		text := fmt.Sprintf("%s %s %s/%d %s", s.step(id), step.Kind, step.Target, step.Occurrence, step.Status)
		text += field("rule", step.Rule) + field("reason", step.Reason) + " by=" + s.attempt(step.Dispatch, step.Attempt)
		if !step.Approval.IsZero() {
			text += " approval=" + s.approval(step.Approval)
		}
		lines = append(lines, text)
	}
	for _, a := range s.world.approvals {
		lines = append(lines, s.approval(a.ID)+" "+a.Status.String()+field("decided_by", a.DecidedBy))
	}
	if b := st.Block; b != nil {
		text := "waits for " + b.Reason.String()
		if b.Reason == kernel.BlockedOnApproval {
			text += " " + s.approval(b.Approval)
		} else {
			text += " " + b.Signal
		}
		if !b.TimeoutAt.IsZero() {
			text += " until " + s.time(b.TimeoutAt)
		}
		lines = append(lines, text)
	}
	if p := st.Park; p != nil {
		lines = append(lines, "waits for a slot for "+s.step(p.Step)+" until "+s.time(p.RetryAt))
	}
	for _, sig := range st.Signals {
		lines = append(lines, "signal "+sig.Type+" was not taken yet")
	}
	return lines
}

func (s *script) renderLease() []string {
	l := &s.world.lease
	text := s.attempt(l.ID, l.Attempt) + " " + l.Status.String() + fmt.Sprintf(" claims=%d", l.Claims)
	if l.Status.Waiting() {
		text += " due=" + s.time(l.NotBefore)
	}
	if l.Live() {
		text += fmt.Sprintf(" acked=%t expires=%s", l.Acked, s.time(l.ExpiresAt))
		if l.Lost() {
			text += " lost"
		}
	}
	if l.Holder != (kernel.Holder{}) {
		text += " newest=" + s.attempt(l.Holder.Dispatch, l.Holder.Attempt)
	}
	return []string{text}
}
