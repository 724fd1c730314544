package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// family is the first word of a type of event.
func family(t wire.EventType) string {
	f, _, _ := strings.Cut(string(t), ".")
	return f
}

// describe says in a few clean words what an event tells, and which step it is
// about.
func describe(e wire.Event) (detail, step string) {
	switch family(e.Type) {
	case "execution":
		var p wire.ExecutionPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			return text.Clean(executionDetail(e.Type, p)), p.StepID
		}
	case "step":
		var p wire.StepPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			return text.Clean(stepDetail(e.Type, p)), p.StepID
		}
	case "approval":
		var p wire.ApprovalPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			return text.Clean(approvalDetail(e.Type, p)), p.StepID
		}
	case "dispatch":
		var p wire.DispatchPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			return text.Clean(dispatchDetail(p)), ""
		}
	case "signal":
		var p wire.SignalPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			return text.Clean(p.SignalType), ""
		}
	}
	return text.Clean(compact(e.Payload, 512)), ""
}

func executionDetail(t wire.EventType, p wire.ExecutionPayload) string {
	switch {
	case t == wire.EventExecutionCreated:
		return strings.TrimSpace(p.AgentID + "  " + labels(p.Labels))
	case t == wire.EventExecutionStarted:
		return fmt.Sprintf("attempt %d", p.Attempt)
	case p.ApprovalID != "":
		return p.Reason + " " + short(p.ApprovalID)
	case t == wire.EventExecutionCompleted:
		return compact(p.Output, 512)
	}
	return p.Reason
}

func stepDetail(t wire.EventType, p wire.StepPayload) string {
	what := string(p.StepType) + " " + p.Target
	switch t {
	case wire.EventStepProposed:
		return what
	case wire.EventStepSucceeded:
		if p.Usage != nil {
			return fmt.Sprintf("%s  %d in / %d out", p.Target, p.Usage.InputTokens, p.Usage.OutputTokens)
		}
		return p.Target
	case wire.EventStepRateLimited:
		if p.Parked {
			return p.Target + "  parked by rule " + p.RuleID
		}
		return p.Target + "  refused by rule " + p.RuleID
	case wire.EventStepFailed:
		s := p.Target + "  " + compact(p.Error, 256)
		if p.Indeterminate {
			s += "  whether the effect ran is unknown"
		}
		return s
	}
	s := p.Target
	if p.RuleID != "" {
		s += "  rule " + p.RuleID
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s
}

func approvalDetail(t wire.EventType, p wire.ApprovalPayload) string {
	s := short(p.ApprovalID)
	if t == wire.EventApprovalRequested {
		if len(p.Approvers) > 0 {
			s += "  of " + strings.Join(p.Approvers, ", ")
		}
		return s + "  " + p.Message
	}
	if p.DecidedBy != "" {
		s += "  by " + p.DecidedBy
	}
	if p.Rationale != "" {
		s += ": " + p.Rationale
	}
	return s
}

func dispatchDetail(p wire.DispatchPayload) string {
	var parts []string
	if p.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", p.Attempt))
	}
	if p.Reason != "" {
		parts = append(parts, p.Reason)
	}
	if p.Error != "" {
		parts = append(parts, p.Error)
	}
	if p.HTTPStatus > 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", p.HTTPStatus))
	}
	if p.NextAttemptAt != nil {
		parts = append(parts, "again at "+clock(*p.NextAttemptAt))
	}
	return strings.Join(parts, "  ")
}
