package wire

import "encoding/json"

// The payload types below are for readers: one for each family of events, with
// the fields of all its types. Which type carries which field is in the comment
// of each; docs/events.md is the reference.

// ExecutionPayload is the payload of execution.* events.
type ExecutionPayload struct {
	ExecutionID string            `json:"execution_id"`
	Status      ExecutionStatus   `json:"status"`
	AgentID     string            `json:"agent_id,omitempty"`    // created
	Labels      map[string]string `json:"labels,omitempty"`      // created
	DeadlineAt  *Time             `json:"deadline_at,omitempty"` // created
	DispatchID  string            `json:"dispatch_id,omitempty"` // started
	Attempt     int64             `json:"attempt,omitempty"`     // started
	Reason      string            `json:"reason,omitempty"`      // blocked, resumed, failed, cancelled
	Ref         string            `json:"ref,omitempty"`         // blocked: a step id or a type of signal
	ApprovalID  string            `json:"approval_id,omitempty"` // blocked on an approval; else null
	StepID      string            `json:"step_id,omitempty"`     // blocked on a signal: the step that waits
	TimeoutAt   *Time             `json:"timeout_at,omitempty"`  // blocked on a signal: null for ever
	Output      json.RawMessage   `json:"output,omitempty"`      // completed
}

// StepPayload is the payload of step.* events.
type StepPayload struct {
	StepID        string          `json:"step_id"`
	StepType      StepKind        `json:"step_type"`
	Target        string          `json:"target"`
	DispatchID    string          `json:"dispatch_id"`
	Attempt       int64           `json:"attempt"`
	ArgsHash      string          `json:"args_hash,omitempty"`     // proposed
	Occurrence    uint32          `json:"occurrence,omitempty"`    // proposed
	Idempotency   Idempotency     `json:"idempotency,omitempty"`   // proposed
	RuleID        string          `json:"rule_id,omitempty"`       // allowed, denied, awaiting_approval, rate_limited
	Reason        string          `json:"reason,omitempty"`        // denied, rate_limited
	Parked        bool            `json:"parked,omitempty"`        // rate_limited
	RetryAt       *Time           `json:"retry_at,omitempty"`      // rate_limited: null when refused
	Usage         *Usage          `json:"usage,omitempty"`         // succeeded
	Error         json.RawMessage `json:"error,omitempty"`         // denied, failed, cancelled
	Indeterminate bool            `json:"indeterminate,omitempty"` // failed: whether the effect ran is unknown
}

// ApprovalPayload is the payload of approval.* events.
type ApprovalPayload struct {
	ApprovalID  string         `json:"approval_id"`
	StepID      string         `json:"step_id"`
	ExecutionID string         `json:"execution_id"`
	Status      ApprovalStatus `json:"status"`
	Approvers   []string       `json:"approvers,omitempty"`  // requested
	TimeoutAt   *Time          `json:"timeout_at,omitempty"` // requested
	Message     string         `json:"message,omitempty"`    // requested
	RuleID      string         `json:"rule_id,omitempty"`    // requested
	Reason      string         `json:"reason,omitempty"`     // requested
	DecidedBy   string         `json:"decided_by,omitempty"` // granted, denied
	Rationale   string         `json:"rationale,omitempty"`  // granted, denied
}

// DispatchPayload is the payload of dispatch.* events.
type DispatchPayload struct {
	DispatchID    string         `json:"dispatch_id"`
	ExecutionID   string         `json:"execution_id"`
	Status        DispatchStatus `json:"status"`
	Attempt       int64          `json:"attempt"`
	Reason        string         `json:"reason,omitempty"`          // queued
	Error         string         `json:"error,omitempty"`           // failed
	HTTPStatus    int            `json:"http_status,omitempty"`     // failed: 0 when there was no answer
	NextAttemptAt *Time          `json:"next_attempt_at,omitempty"` // failed: null on the last
}

// SignalPayload is the payload of signal.received.
type SignalPayload struct {
	ExecutionID    string          `json:"execution_id"`
	SignalID       string          `json:"signal_id"`
	SignalType     string          `json:"signal_type"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"` // when it came with one
	Payload        json.RawMessage `json:"payload"`
}
