package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// payload reads the payload of an event; the zero value when it is not what
// this version knows.
func payload[T any](e wire.Event) (p T) {
	if json.Unmarshal(e.Payload, &p) != nil {
		return *new(T)
	}
	return p
}

// eventDetail is what an event says, on one line.
func eventDetail(e wire.Event) printer.Cell {
	return printer.Cell{
		Text:  detail(e, func(id string) string { return id }),
		Short: detail(e, printer.ShortID),
	}
}

func detail(e wire.Event, name func(string) string) string {
	family, _, _ := strings.Cut(string(e.Type), ".")
	switch family {
	case "execution":
		return executionEvent(e.Type, payload[wire.ExecutionPayload](e), name)
	case "step":
		return stepEvent(payload[wire.StepPayload](e), name)
	case "approval":
		return approvalEvent(payload[wire.ApprovalPayload](e), name)
	case "dispatch":
		return dispatchEvent(payload[wire.DispatchPayload](e))
	case "signal":
		p := payload[wire.SignalPayload](e)
		return words(p.SignalType, string(p.Payload))
	}
	return string(e.Payload) // a type that this version does not know
}

func executionEvent(t wire.EventType, p wire.ExecutionPayload, name func(string) string) string {
	switch t {
	case wire.EventExecutionCreated:
		return words("agent "+p.AgentID, labels(p.Labels))
	case wire.EventExecutionStarted:
		return fmt.Sprintf("attempt %d", p.Attempt)
	case wire.EventExecutionBlocked:
		if p.ApprovalID != "" {
			return words(p.Reason, name(p.ApprovalID))
		}
		return words(p.Reason, p.Ref)
	case wire.EventExecutionCompleted:
		return string(p.Output)
	default:
		return p.Reason
	}
}

func stepEvent(p wire.StepPayload, name func(string) string) string {
	about := []string{string(p.StepType), p.Target, name(p.StepID)}
	if p.RuleID != "" {
		about = append(about, "rule "+p.RuleID)
	}
	if p.Reason != "" {
		about = append(about, p.Reason)
	}
	if len(p.Error) > 0 && string(p.Error) != "null" {
		about = append(about, string(p.Error))
	}
	if p.Usage != nil {
		about = append(about, fmt.Sprintf("tokens %d/%d", p.Usage.InputTokens, p.Usage.OutputTokens))
	}
	if p.Parked && p.RetryAt != nil {
		about = append(about, "until "+p.RetryAt.String())
	}
	return words(about...)
}

func approvalEvent(p wire.ApprovalPayload, name func(string) string) string {
	about := []string{name(p.ApprovalID)}
	if p.DecidedBy != "" {
		about = append(about, "by "+p.DecidedBy)
	}
	if len(p.Approvers) > 0 {
		about = append(about, "approvers "+strings.Join(p.Approvers, ","))
	}
	return words(append(about, p.Rationale, p.Message)...)
}

func dispatchEvent(p wire.DispatchPayload) string {
	about := []string{fmt.Sprintf("attempt %d", p.Attempt), p.Reason, p.Error}
	if p.HTTPStatus != 0 {
		about = append(about, fmt.Sprintf("HTTP %d", p.HTTPStatus))
	}
	if p.NextAttemptAt != nil {
		about = append(about, "next "+p.NextAttemptAt.String())
	}
	return words(about...)
}

// words joins what is there.
func words(parts ...string) string {
	var there []string
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, " ")
}
