package wire

import "encoding/json"

// ExecutionStatus is where an execution stands.
type ExecutionStatus string

// The statuses of an execution.
const (
	ExecutionPending   ExecutionStatus = "pending"   // until its first dispatch is acknowledged
	ExecutionRunning   ExecutionStatus = "running"   // an agent is at work, or will be again
	ExecutionBlocked   ExecutionStatus = "blocked"   // waits for an approval or a signal
	ExecutionCompleted ExecutionStatus = "completed" // terminal
	ExecutionFailed    ExecutionStatus = "failed"    // terminal
	ExecutionCancelled ExecutionStatus = "cancelled" // terminal
)

// ExecutionStatuses lists every status.
func ExecutionStatuses() []ExecutionStatus {
	return []ExecutionStatus{
		ExecutionPending, ExecutionRunning, ExecutionBlocked,
		ExecutionCompleted, ExecutionFailed, ExecutionCancelled,
	}
}

// Terminal reports whether nothing more can happen to the execution.
func (s ExecutionStatus) Terminal() bool {
	return s == ExecutionCompleted || s == ExecutionFailed || s == ExecutionCancelled
}

// The failure reasons that the service itself gives; an agent gives its own.
const (
	ReasonClientCancelled   = "client_cancelled"
	ReasonDeadlineExceeded  = "deadline_exceeded"
	ReasonDispatchExhausted = "dispatch_exhausted"
)

// CreateExecution is the body of POST /v0/executions.
type CreateExecution struct {
	AgentID        string            `json:"agent_id"`
	Input          json.RawMessage   `json:"input,omitempty"` // any value; absent and null mean {}
	Labels         map[string]string `json:"labels,omitempty"`
	DeadlineAt     *Time             `json:"deadline_at,omitempty"`     // in the future; not with TimeoutSeconds
	TimeoutSeconds *int64            `json:"timeout_seconds,omitempty"` // at least 1
}

// Execution is one run of an agent, as every read shows it.
type Execution struct {
	ID            string          `json:"id"`
	AgentID       string          `json:"agent_id"`
	Status        ExecutionStatus `json:"status"`
	Input         json.RawMessage `json:"input"`
	Output        json.RawMessage `json:"output"`         // null until it completes
	FailureReason string          `json:"failure_reason"` // empty when there is none
	Labels        Labels          `json:"labels"`
	ParentID      *string         `json:"parent_id"` // reserved; always null
	CreatedAt     Time            `json:"created_at"`
	UpdatedAt     Time            `json:"updated_at"`
	DeadlineAt    *Time           `json:"deadline_at"`
	LastEventSeq  int64           `json:"last_event_seq"`
}

// ExecutionList is a page of GET /v0/executions, newest first.
type ExecutionList struct {
	Executions List[Execution] `json:"executions"`
	NextCursor string          `json:"next_cursor"` // empty on the last page
}

// CompleteExecution is the body of POST /v0/executions/{id}/complete.
type CompleteExecution struct {
	Output json.RawMessage `json:"output,omitempty"` // any value; absent means null
}

// FailExecution is the body of POST /v0/executions/{id}/fail.
type FailExecution struct {
	Error string `json:"error"` // not empty
}
