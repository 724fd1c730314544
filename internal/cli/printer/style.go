package printer

import "github.com/agentkernel/kernelctl/internal/wire"

// Style is the colour of a word, out of the 16 of the terminal's own palette.
// The word is always printed: colour never carries the meaning alone.
type Style string

// The styles.
const (
	Plain  Style = ""
	Good   Style = "32" // green
	Bad    Style = "31" // red
	Warn   Style = "33" // yellow
	Active Style = "36" // cyan
	Dim    Style = "2"
	Bold   Style = "1"
)

// Paint colours text.
func (p *Printer) Paint(s Style, text string) string { return Paint(p.Color, s, text) }

// Paint colours text when on is true.
func Paint(on bool, s Style, text string) string {
	if !on || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// ExecutionStatus is the status of an execution.
func ExecutionStatus(s wire.ExecutionStatus) Cell {
	return Cell{Text: string(s), Style: executionStyle(s)}
}

func executionStyle(s wire.ExecutionStatus) Style {
	switch s {
	case wire.ExecutionRunning:
		return Active
	case wire.ExecutionBlocked:
		return Warn
	case wire.ExecutionCompleted:
		return Good
	case wire.ExecutionFailed:
		return Bad
	case wire.ExecutionCancelled, wire.ExecutionPending:
		return Dim
	}
	return Plain
}

// StepStatus is the status of a step.
func StepStatus(s wire.StepStatus) Cell {
	c := Cell{Text: string(s)}
	switch s {
	case wire.StepExecuting:
		c.Style = Active
	case wire.StepAwaitingApproval:
		c.Style = Warn
	case wire.StepSucceeded:
		c.Style = Good
	case wire.StepFailed, wire.StepDenied:
		c.Style = Bad
	case wire.StepCancelled, wire.StepProposed, wire.StepAllowed:
		c.Style = Dim
	}
	return c
}

// ApprovalStatus is the status of an approval.
func ApprovalStatus(s wire.ApprovalStatus) Cell {
	c := Cell{Text: string(s)}
	switch s {
	case wire.ApprovalPending:
		c.Style = Warn
	case wire.ApprovalGranted:
		c.Style = Good
	case wire.ApprovalDenied, wire.ApprovalExpired:
		c.Style = Bad
	case wire.ApprovalCancelled:
		c.Style = Dim
	}
	return c
}

// EventType is the type of an event, coloured by what it means.
func EventType(t wire.EventType) Cell {
	c := Cell{Text: string(t)}
	switch t {
	case wire.EventExecutionCompleted, wire.EventStepSucceeded, wire.EventApprovalGranted:
		c.Style = Good
	case wire.EventExecutionFailed, wire.EventStepFailed, wire.EventStepDenied, wire.EventApprovalDenied,
		wire.EventApprovalExpired, wire.EventDispatchFailed:
		c.Style = Bad
	case wire.EventExecutionBlocked, wire.EventStepAwaitingApproval, wire.EventApprovalRequested, wire.EventStepRateLimited:
		c.Style = Warn
	case wire.EventStepExecuting, wire.EventExecutionStarted, wire.EventExecutionResumed:
		c.Style = Active
	default:
	}
	return c
}
