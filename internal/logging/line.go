package logging

import (
	"log/slog"
	"strings"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// message is the event's type in words: "execution created".
func message(t kernel.EventType) string { return words[min(int(t), len(words)-1)] }

var words = func() []string {
	all := []string{"unknown event"}
	for _, t := range kernel.EventTypes() {
		all = append(all, strings.NewReplacer(".", " ", "_", " ").Replace(t.String()))
	}
	return append(all, all[0])
}()

// attrs are what a line says of an event.
func attrs(c *store.Committed, e *kernel.Event) []slog.Attr {
	out := make([]slog.Attr, 0, 9)
	out = append(out, Execution(c.Execution), Agent(c.Agent), slog.Int64("event_seq", e.Seq))
	return append(out, details(e.Data)...)
}

// details are what a line says of one type of event. Bodies, labels and the
// words of people stay in the log of events.
func details(data kernel.Data) []slog.Attr {
	switch d := data.(type) {
	case *kernel.ExecutionCreated, *kernel.ExecutionCompleted:
		return nil
	case *kernel.ExecutionStarted:
		return attempt(d.Dispatch, d.Attempt)
	case *kernel.ExecutionBlocked:
		if d.Reason == kernel.BlockedOnSignal {
			return []slog.Attr{reason(d.Reason.String()), Step(d.Step), slog.String("signal_type", d.Signal)}
		}
		return []slog.Attr{reason(d.Reason.String()), Step(d.Step), Approval(d.Approval)}
	case *kernel.ExecutionResumed:
		return []slog.Attr{reason(d.Reason)}
	case *kernel.ExecutionFailed:
		return []slog.Attr{reason(d.Reason)}
	case *kernel.ExecutionCancelled:
		return []slog.Attr{reason(d.Reason)}
	case *kernel.DispatchQueued:
		return attempt(d.Dispatch, d.Attempt, reason(d.Reason))
	case *kernel.DispatchAcked:
		return attempt(d.Dispatch, d.Attempt)
	case *kernel.DeliveryFailed:
		return failure(d)
	case *kernel.DeliveryDiscarded:
		return attempt(d.Dispatch, d.Attempt)
	case *kernel.StepProposed:
		return step(&d.StepRef)
	case *kernel.StepAllowed:
		return step(&d.StepRef, rule(d.Rule))
	case *kernel.StepDenied:
		return step(&d.StepRef, rule(d.Rule))
	case *kernel.StepAwaitingApproval:
		return step(&d.StepRef, rule(d.Rule))
	case *kernel.StepRateLimited:
		return step(&d.StepRef, rule(d.Rule), slog.Bool("parked", d.Parked))
	case *kernel.StepExecuting:
		return step(&d.StepRef)
	case *kernel.StepSucceeded:
		return step(&d.StepRef)
	case *kernel.StepFailed:
		return step(&d.StepRef, slog.Bool("indeterminate", d.Indeterminate))
	case *kernel.StepCancelled:
		return step(&d.StepRef)
	case *kernel.ApprovalRequested:
		return []slog.Attr{Approval(d.Approval), Step(d.Step), rule(d.Rule), slog.String("timeout_at", d.TimeoutAt.String())}
	case *kernel.ApprovalGranted:
		return []slog.Attr{Approval(d.Approval), Step(d.Step), slog.String("decided_by", d.DecidedBy)}
	case *kernel.ApprovalDenied:
		return []slog.Attr{Approval(d.Approval), Step(d.Step), slog.String("decided_by", d.DecidedBy)}
	case *kernel.ApprovalExpired:
		return []slog.Attr{Approval(d.Approval), Step(d.Step)}
	case *kernel.SignalReceived:
		return []slog.Attr{slog.String("signal_id", d.Signal.String()), slog.String("signal_type", d.SignalType)}
	}
	return nil
}

func reason(s string) slog.Attr { return slog.String("reason", s) }

func rule(id string) slog.Attr { return slog.String("rule_id", id) }

func attempt(id kernel.DispatchID, n int64, more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{Dispatch(id), slog.Int64("attempt", n)}, more...)
}

func failure(d *kernel.DeliveryFailed) []slog.Attr {
	out := attempt(d.Dispatch, d.Attempt, slog.String("status", d.Status.String()), slog.String("error", d.Error))
	if d.HTTPStatus != 0 {
		out = append(out, slog.Int("http_status", d.HTTPStatus))
	}
	if !d.NextAttemptAt.IsZero() {
		out = append(out, slog.String("next_attempt_at", d.NextAttemptAt.String()))
	}
	return out
}

func step(r *kernel.StepRef, more ...slog.Attr) []slog.Attr {
	out := attempt(r.Dispatch, r.Attempt, Step(r.Step), slog.String("step_type", r.Kind.String()), slog.String("target", r.Target))
	return append(out, more...)
}
