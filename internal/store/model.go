package store

import (
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// Execution is an execution as reads show it.
type Execution struct {
	No        int64
	ID        kernel.ExecutionID
	Agent     kernel.AgentID
	Status    kernel.Status
	Input     []byte // JSON
	Output    []byte // JSON; nil until completed
	Failure   string
	Labels    map[string]string
	CreatedAt kernel.Instant
	UpdatedAt kernel.Instant
	Deadline  kernel.Instant
	LastSeq   int64
}

// Header is what never changes of an execution.
type Header struct {
	No     int64
	ID     kernel.ExecutionID
	Agent  kernel.AgentID
	Labels map[string]string
}

// ExecutionQuery selects executions.
type ExecutionQuery struct {
	Agent  kernel.AgentID // "": any
	Status kernel.Status  // 0: any
	Labels [][2]string    // all must match
	Before int64          // 0: from the newest
	Limit  int
}

// Event is an event as the log shows it.
type Event struct {
	Execution kernel.ExecutionID
	Seq       int64
	ID        kernel.EventID
	Cause     kernel.EventID
	Type      kernel.EventType
	At        kernel.Instant
	Payload   string // lean JSON object
	Body      []byte // only where the payload shows it
}

// Step is a step as reads show it.
type Step struct {
	ID kernel.StepID
	kernel.Step
	Execution kernel.ExecutionID
	Args      []byte
	Outcome   []byte // result or error, by Status
}

// Approval is an approval as reads show it.
type Approval struct {
	kernel.ApprovalFacts
	Execution kernel.ExecutionID
	Step      kernel.StepID
	Agent     kernel.AgentID
	Kind      kernel.StepKind
	Target    string
	Args      []byte
	Rule      string
	Reason    string
	Message   string
	CreatedAt kernel.Instant
	DecidedAt kernel.Instant
	Rationale string
}

// ApprovalQuery selects approvals.
type ApprovalQuery struct {
	Status    kernel.ApprovalStatus // 0: any
	Agent     kernel.AgentID
	Execution kernel.ExecutionID
	Limit     int
}

// AgentSpec is what registers an agent.
type AgentSpec struct {
	ID         kernel.AgentID
	WebhookURL string
	Secret     string
	Lease      time.Duration // 0: the service's default
}

// Agent is a registered agent.
type Agent struct {
	AgentSpec
	RegisteredAt kernel.Instant
	UpdatedAt    kernel.Instant
	Bundle       []byte // nil: no policy is loaded
	BundleSum    kernel.Digest
	BundleAt     kernel.Instant
}

// SignalRequest is what a signal asked for, to compare a repeat with.
type SignalRequest struct {
	Type    string
	Payload kernel.Digest
}

// QueuePlace is a place in the order of due dispatches.
type QueuePlace struct {
	NotBefore kernel.Instant
	No        int64
}

// DueDispatch is a dispatch that waits to be claimed.
type DueDispatch struct {
	No        int64
	Execution kernel.ExecutionID
	Agent     kernel.AgentID
	Dispatch  kernel.DispatchID
	NotBefore kernel.Instant
}

// InFlight is an attempt in flight, as it was stored last.
type InFlight struct {
	No        int64
	Execution kernel.ExecutionID
	Acked     bool
	ExpiresAt kernel.Instant // when its lease ends, as far as the rows tell
	Stored    bool           // the attempt's memory is stored
}

// TimerKind says what falls due.
type TimerKind uint8

// The kinds of timer.
const (
	TimerApproval TimerKind = iota + 1 // an approval's time is over
	TimerWait                          // a wait for a signal is over
	TimerDeadline                      // an execution's deadline passed
	TimerPark                          // a parked step's slot may be free
)

// Timer is something that falls due.
type Timer struct {
	Kind      TimerKind
	At        kernel.Instant
	Execution kernel.ExecutionID
	Approval  kernel.ApprovalID
}

// Counts says how many there are.
type Counts struct {
	Executions       map[kernel.Status]int64
	PendingApprovals int64
	QueuedDispatches int64
}
