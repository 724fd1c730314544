package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// perKind is a counter for each kind of step; an unknown kind counts nowhere.
type perKind [kernel.Local + 1]prometheus.Counter

func (p *perKind) inc(k kernel.StepKind) {
	if int(k) < len(p) && p[k] != nil {
		p[k].Inc()
	}
}

var kinds = []kernel.StepKind{kernel.ToolCall, kernel.LLMCall, kernel.Local}

// byKind are the counters of one value of the second label.
func byKind(vec *prometheus.CounterVec, value string) (p perKind) {
	for _, k := range kinds {
		p[k] = vec.WithLabelValues(k.String(), value)
	}
	return p
}

// steps counts what was recorded of steps.
type steps struct {
	allowed, denied, awaiting, limited, parked  perKind
	succeeded, failed, indeterminate, cancelled perKind
	input, output                               prometheus.Counter // tokens
}

func newSteps(f factory) steps {
	decisions := f.counters("steps_total", "New steps that the policy decided.", "kind", "decision")
	outcomes := f.counters("step_outcomes_total", "Steps that ended after they were decided.", "kind", "outcome")
	tokens := f.counters("llm_tokens_total", "Tokens that the responses of recorded LLM calls report.", "direction")
	return steps{
		allowed: byKind(decisions, "allowed"), denied: byKind(decisions, "denied"), awaiting: byKind(decisions, "awaiting_approval"),
		limited: byKind(decisions, "rate_limited"), parked: byKind(decisions, "parked"),
		succeeded: byKind(outcomes, "succeeded"), failed: byKind(outcomes, "failed"),
		indeterminate: byKind(outcomes, "indeterminate"), cancelled: byKind(outcomes, "cancelled"),
		input: tokens.WithLabelValues("input"), output: tokens.WithLabelValues("output"),
	}
}

// count takes one event. A verdict of people allows and denies steps, too, but
// decides none anew.
func (s *steps) count(data kernel.Data, verdict bool) {
	switch d := data.(type) {
	case *kernel.StepAllowed:
		if !verdict {
			s.allowed.inc(d.Kind)
		}
	case *kernel.StepDenied:
		if !verdict {
			s.denied.inc(d.Kind)
		}
	case *kernel.StepAwaitingApproval:
		s.awaiting.inc(d.Kind)
	case *kernel.StepRateLimited:
		if d.Parked {
			s.parked.inc(d.Kind)
		} else {
			s.limited.inc(d.Kind)
		}
	case *kernel.StepSucceeded:
		s.succeeded.inc(d.Kind)
		if d.Usage != nil {
			s.input.Add(float64(max(0, d.Usage.InputTokens)))
			s.output.Add(float64(max(0, d.Usage.OutputTokens)))
		}
	case *kernel.StepFailed:
		if d.Indeterminate {
			s.indeterminate.inc(d.Kind)
		} else {
			s.failed.inc(d.Kind)
		}
	case *kernel.StepCancelled:
		s.cancelled.inc(d.Kind)
	case *kernel.StepProposed, *kernel.StepExecuting, // decided, or ended, by another event
		*kernel.ExecutionCreated, *kernel.ExecutionStarted, *kernel.ExecutionBlocked, *kernel.ExecutionResumed,
		*kernel.ExecutionCompleted, *kernel.ExecutionFailed, *kernel.ExecutionCancelled,
		*kernel.DispatchQueued, *kernel.DispatchAcked, *kernel.DeliveryFailed, *kernel.DeliveryDiscarded,
		*kernel.ApprovalRequested, *kernel.ApprovalGranted, *kernel.ApprovalDenied, *kernel.ApprovalExpired, *kernel.SignalReceived:
	}
}

// submits counts the answers to submits.
type submits struct {
	answers [kernel.Recorded]perKind // by decision
	replays perKind
}

func newSubmits(f factory) (s submits) {
	answers := f.counters("submits_total", "Submits answered, by the decision that the agent was told.", "kind", "decision")
	replays := f.counters("replay_hits_total", "Submits answered from the record: effects that did not run twice.", "kind")
	for d := kernel.Proceed; d < kernel.Recorded; d++ {
		s.answers[d] = byKind(answers, d.String())
	}
	for _, k := range kinds {
		s.replays[k] = replays.WithLabelValues(k.String())
	}
	return s
}

func (s *submits) count(k kernel.StepKind, d kernel.Decision) {
	if int(d) >= len(s.answers) {
		return
	}
	s.answers[d].inc(k)
	if d == kernel.Replay {
		s.replays.inc(k)
	}
}
