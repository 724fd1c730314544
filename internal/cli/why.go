package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newWhy(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Say in one sentence why an execution does not move",
		Long: `Says in one sentence what an execution waits for: a person, a signal, a webhook
that is tried again, a lease that must lapse, a slot of a rate limit, a step that
runs, or an agent that has been silent; and which command helps. Of one that has
ended it says how.`,
		Example: `  kernelctl why 9f3a71c2
  kernelctl why 9f3a71c2 -o json | jq -r .next`,
		Args: takes(1, 1, "the id of an execution"),
	}
	cmd.RunE = f.do(traits{}, func(ctx context.Context, s *session) error {
		x, c, err := s.execution(ctx, s.args[0])
		if err != nil {
			return err
		}
		facts, err := gather(ctx, c, x)
		if err != nil {
			return err
		}
		facts.now = s.now()
		r := facts.explain()
		r.Next = s.f.hint(r.Next)
		return s.printReason(r)
	})
	return cmd
}

// reason is why an execution does not move.
type reason struct {
	ExecutionID string               `json:"execution_id"`
	Status      wire.ExecutionStatus `json:"status"`
	Cause       string               `json:"cause"` // see the causes below
	Sentence    string               `json:"sentence"`
	Since       *wire.Time           `json:"since"`
	Until       *wire.Time           `json:"until"` // when it moves by itself, at the latest
	Next        string               `json:"next"`  // a command that helps; may be empty
}

// The causes, for programs.
const (
	causeEnded     = "ended"
	causeApproval  = "approval"
	causeSignal    = "signal"
	causeDelivery  = "delivery"   // the first webhook has not been answered
	causeRetry     = "retry"      // a webhook failed and is tried again
	causeRateLimit = "rate_limit" // a step waits for a slot
	causeStep      = "step"       // a step runs
	causeGranted   = "granted"    // a step may run, and the agent has not taken it up
	causeSilent    = "silent"     // the agent says nothing
	causeUnknown   = "unknown"
)

// blockedOnSignal is the reason of an execution that waits for a signal, in the
// event that says so.
const blockedOnSignal = "signal"

// facts are what a reason is drawn from.
type facts struct {
	now       time.Time
	x         wire.Execution
	events    []wire.Event // the last ones, oldest first
	steps     []wire.Step
	approvals []wire.Approval // pending
	agent     wire.Agent
}

// lookBackEvents is how much of the log a reason is drawn from.
const lookBackEvents = 500

func gather(ctx context.Context, c *client.Client, x wire.Execution) (f facts, err error) {
	f.x = x
	if f.events, err = c.ListEvents(ctx, x.ID, max(x.LastEventSeq-lookBackEvents, 0), wire.MaxEventsLimit); err != nil {
		return f, err
	}
	if f.steps, err = c.ListSteps(ctx, x.ID, ""); err != nil {
		return f, err
	}
	if f.approvals, err = c.ListApprovals(ctx, client.ApprovalFilter{ExecutionID: x.ID, Limit: wire.MaxApprovalsLimit}); err != nil {
		return f, err
	}
	f.agent, err = c.GetAgent(ctx, x.AgentID)
	if client.CodeOf(err) == wire.CodeNotFound { // deleted; the execution has ended then
		err = nil
	}
	return f, err
}

// explain finds the first reason that fits.
func (f facts) explain() reason {
	r := reason{ExecutionID: f.x.ID, Status: f.x.Status}
	switch f.x.Status {
	case wire.ExecutionCompleted, wire.ExecutionFailed, wire.ExecutionCancelled:
		return f.ended(r)
	case wire.ExecutionBlocked:
		return f.blocked(r)
	case wire.ExecutionPending:
		return f.undelivered(r)
	case wire.ExecutionRunning:
		return f.running(r)
	}
	r.Cause, r.Sentence = causeUnknown, fmt.Sprintf("Its status is %s, which this kernelctl does not know.", f.x.Status)
	return r
}

func (f facts) ago(t wire.Time) string     { return printer.Since(f.now.Sub(t.Time)) }
func (f facts) lasting(t wire.Time) string { return printer.Duration(f.now.Sub(t.Time)) }
func (f facts) left(t wire.Time) string    { return printer.Left(t.Sub(f.now)) }
func (f facts) short() string              { return printer.ShortID(f.x.ID) }

func (f facts) ended(r reason) reason {
	at := f.x.UpdatedAt
	r.Cause, r.Since, r.Next = causeEnded, &at, "kernelctl events list "+f.short()
	switch f.x.Status {
	case wire.ExecutionCompleted:
		r.Sentence, r.Next = fmt.Sprintf("It completed %s.", f.ago(at)), "kernelctl ex get "+f.short()
	case wire.ExecutionFailed:
		r.Sentence = fmt.Sprintf("It failed %s: %s.", f.ago(at), f.x.FailureReason)
		if f.x.FailureReason == wire.ReasonDispatchExhausted {
			r.Sentence = fmt.Sprintf("It was given up %s, because no delivery to the agent came through; the last error was %s.", f.ago(at), f.lastFailure())
			r.Next = "kernelctl agents get " + f.x.AgentID
		}
	case wire.ExecutionCancelled, wire.ExecutionPending, wire.ExecutionRunning, wire.ExecutionBlocked:
		r.Sentence = fmt.Sprintf("It was cancelled %s: %s.", f.ago(at), f.x.FailureReason)
	}
	return r
}

// lastFailure is the error of the last delivery that failed.
func (f facts) lastFailure() string {
	if e, ok := f.last(wire.EventDispatchFailed); ok {
		return failureText(payload[wire.DispatchPayload](e))
	}
	return "not recorded"
}

func failureText(p wire.DispatchPayload) string {
	switch {
	case p.HTTPStatus != 0 && p.Error == "":
		return fmt.Sprintf("HTTP %d", p.HTTPStatus)
	case p.HTTPStatus != 0:
		return fmt.Sprintf("%s (HTTP %d)", p.Error, p.HTTPStatus)
	}
	return p.Error
}

// last is the newest event of one of some types.
func (f facts) last(types ...wire.EventType) (wire.Event, bool) {
	for i := len(f.events) - 1; i >= 0; i-- {
		for _, t := range types {
			if f.events[i].Type == t {
				return f.events[i], true
			}
		}
	}
	return wire.Event{}, false
}

func (f facts) blocked(r reason) reason {
	if len(f.approvals) > 0 {
		a := f.approvals[0]
		who := "anyone"
		if len(a.Approvers) > 0 {
			who = strings.Join(a.Approvers, " or ")
		}
		since, until := a.CreatedAt, a.TimeoutAt
		r.Cause, r.Since, r.Until = causeApproval, &since, &until
		r.Sentence = fmt.Sprintf("It has been waiting for %s for %s to decide approval %s of %s (rule %s); in %s it is denied.",
			f.lasting(a.CreatedAt), who, printer.ShortID(a.ID), a.Target, a.RuleID, f.left(a.TimeoutAt))
		r.Next = fmt.Sprintf("kernelctl ap grant %s --by NAME", printer.ShortID(a.ID))
		return r
	}
	if e, ok := f.last(wire.EventExecutionBlocked); ok {
		p, since := payload[wire.ExecutionPayload](e), e.OccurredAt
		r.Since = &since
		if p.Reason == blockedOnSignal {
			r.Cause, r.Until = causeSignal, p.TimeoutAt
			r.Sentence = fmt.Sprintf("It has been waiting for the signal %s for %s", p.Ref, f.lasting(since))
			if p.TimeoutAt != nil {
				r.Sentence += fmt.Sprintf("; in %s it gives up", f.left(*p.TimeoutAt))
			}
			r.Sentence += "."
			r.Next = fmt.Sprintf("kernelctl signals send %s %s", f.short(), p.Ref)
			return r
		}
	}
	r.Cause, r.Sentence = causeUnknown, "It is blocked, but nothing is pending: it resumes in a moment."
	r.Next = "kernelctl events list " + f.short()
	return r
}

// undelivered: no attempt has been acknowledged yet.
func (f facts) undelivered(r reason) reason {
	if failed, ok := f.waitingRetry(r); ok {
		return failed
	}
	since := f.x.CreatedAt
	if e, ok := f.last(wire.EventDispatchQueued); ok {
		since = e.OccurredAt
	}
	r.Cause, r.Since = causeDelivery, &since
	r.Sentence = fmt.Sprintf("Its first delivery to %s has been under way for %s, and the agent has not answered.", f.agent.WebhookURL, f.lasting(since))
	r.Next = "kernelctl agents get " + f.x.AgentID
	return r
}

// waitingRetry: the newest thing that happened to a dispatch is a failure.
func (f facts) waitingRetry(r reason) (reason, bool) {
	e, ok := f.last(wire.EventDispatchFailed, wire.EventDispatchAcked, wire.EventDispatchQueued)
	if !ok || e.Type != wire.EventDispatchFailed {
		return r, false
	}
	p, since := payload[wire.DispatchPayload](e), e.OccurredAt
	r.Cause, r.Since, r.Until = causeRetry, &since, p.NextAttemptAt
	when := "is tried again"
	if p.NextAttemptAt != nil {
		when = fmt.Sprintf("is tried again in %s, at %s", f.left(*p.NextAttemptAt), p.NextAttemptAt.Format("15:04:05Z"))
		if !p.NextAttemptAt.After(f.now) {
			when = "is being tried again now"
		}
	}
	r.Sentence = fmt.Sprintf("Delivery %d to the agent failed %s with %s; it %s.", p.Attempt, f.ago(since), failureText(p), when)
	r.Next = "kernelctl agents get " + f.x.AgentID
	return r, true
}

func (f facts) running(r reason) reason {
	if failed, ok := f.waitingRetry(r); ok {
		return failed
	}
	if parked, ok := f.parked(r); ok {
		return parked
	}
	if queued, ok := f.queued(r); ok {
		return queued
	}
	if step, ok := f.executing(r); ok {
		return step
	}
	return f.silent(r)
}

// parked: a step waits for a slot, and no dispatch has gone out since.
func (f facts) parked(r reason) (reason, bool) {
	e, ok := f.last(wire.EventStepRateLimited, wire.EventDispatchQueued, wire.EventDispatchAcked, wire.EventStepAllowed)
	if !ok || e.Type != wire.EventStepRateLimited {
		return r, false
	}
	p, since := payload[wire.StepPayload](e), e.OccurredAt
	if !p.Parked || p.RetryAt == nil {
		return r, false
	}
	r.Cause, r.Since, r.Until = causeRateLimit, &since, p.RetryAt
	r.Sentence = fmt.Sprintf("Its step %s has been waiting for %s for a slot of the rate limit of rule %s, which is free in %s.",
		p.Target, f.lasting(since), p.RuleID, f.left(*p.RetryAt))
	r.Next = "kernelctl policies get " + f.x.AgentID
	return r, true
}

// queued: a dispatch is on its way, and the agent has not answered it.
func (f facts) queued(r reason) (reason, bool) {
	e, ok := f.last(wire.EventDispatchQueued, wire.EventDispatchAcked)
	if !ok || e.Type != wire.EventDispatchQueued {
		return r, false
	}
	p, since := payload[wire.DispatchPayload](e), e.OccurredAt
	r.Cause, r.Since = causeDelivery, &since
	r.Sentence = fmt.Sprintf("A delivery to %s (%s) has been under way for %s, and the agent has not answered.", f.agent.WebhookURL, p.Reason, f.lasting(since))
	if granted := f.withStatus(wire.StepAllowed); granted != nil && strings.HasPrefix(p.Reason, "approval_") {
		r.Cause = causeGranted
		r.Sentence = fmt.Sprintf("Its step %s was granted %s, and the agent has not come back for it yet.", granted.Target, f.ago(since))
	}
	r.Next = "kernelctl agents get " + f.x.AgentID
	return r, true
}

func (f facts) withStatus(status wire.StepStatus) *wire.Step {
	for i := len(f.steps) - 1; i >= 0; i-- {
		if f.steps[i].Status == status {
			return &f.steps[i]
		}
	}
	return nil
}

func (f facts) executing(r reason) (reason, bool) {
	st := f.withStatus(wire.StepExecuting)
	if st == nil || st.StartedAt == nil {
		return r, false
	}
	since := *st.StartedAt
	r.Cause, r.Since = causeStep, &since
	r.Sentence = fmt.Sprintf("Its step %s (%s) has been running for %s", st.Target, st.Kind, f.lasting(since))
	if n := f.countExecuting(); n > 1 {
		r.Sentence += fmt.Sprintf(", with %d others", n-1)
	}
	if e, ok := f.last(wire.EventDispatchAcked); ok && payload[wire.DispatchPayload](e).Attempt != st.Attempt {
		r.Sentence += fmt.Sprintf(", since an earlier attempt: the agent came back %s and has not reported it", f.ago(e.OccurredAt))
	}
	r.Sentence += "."
	r.Next = fmt.Sprintf("kernelctl steps get %s %s", f.short(), printer.ShortID(st.StepID))
	return r, true
}

func (f facts) countExecuting() (n int) {
	for _, st := range f.steps {
		if st.Status == wire.StepExecuting {
			n++
		}
	}
	return n
}

// silent: nothing is under way that the service knows of.
func (f facts) silent(r reason) reason {
	since, what := f.x.UpdatedAt, "the last event"
	if len(f.events) > 0 {
		e := f.events[len(f.events)-1]
		since, what = e.OccurredAt, string(e.Type)
	}
	r.Cause, r.Since = causeSilent, &since
	r.Sentence = fmt.Sprintf("It waits for nothing: the agent has been silent for %s, since %s", f.lasting(since), what)
	if lease := f.agent.LeaseTimeoutSeconds; lease > 0 {
		until := wire.At(since.Add(time.Duration(lease) * time.Second))
		r.Sentence += fmt.Sprintf("; without a heartbeat its lease of %ds lapses and it is dispatched again", lease)
		if until.After(f.now) {
			r.Until = &until
			r.Sentence += " in " + f.left(until)
		}
	} else {
		r.Sentence += "; without a heartbeat its lease lapses and it is dispatched again"
	}
	r.Sentence += "."
	r.Next = "kernelctl events tail " + f.short()
	return r
}

func (s *session) printReason(r reason) error {
	p := s.printer()
	if !p.Format.ForPerson() {
		return p.Value(r)
	}
	if _, err := fmt.Fprintln(s.out, printer.Clean(r.Sentence)); err != nil {
		return err
	}
	if r.Next != "" && !s.io.Quiet {
		s.io.Notef("next:  %s", printer.Clean(r.Next))
	}
	return nil
}
