package wire

import "encoding/json"

// StepKind is what a step does.
type StepKind string

// The kinds of step.
const (
	KindToolCall StepKind = "tool_call"
	KindLLMCall  StepKind = "llm_call"
	KindLocal    StepKind = "local"
)

// StepStatus is where a step stands.
type StepStatus string

// The statuses of a step.
const (
	StepProposed         StepStatus = "proposed"
	StepAllowed          StepStatus = "allowed" // granted, and not run yet
	StepDenied           StepStatus = "denied"  // terminal
	StepAwaitingApproval StepStatus = "awaiting_approval"
	StepExecuting        StepStatus = "executing"
	StepSucceeded        StepStatus = "succeeded" // terminal
	StepFailed           StepStatus = "failed"    // terminal
	StepCancelled        StepStatus = "cancelled" // terminal; whether the effect ran is unknown
)

// StepsTerminal is the value of the query parameter status that asks for the
// steps that are succeeded, failed or denied.
const StepsTerminal = "terminal"

// StepStatuses lists every status.
func StepStatuses() []StepStatus {
	return []StepStatus{
		StepProposed, StepAllowed, StepDenied, StepAwaitingApproval,
		StepExecuting, StepSucceeded, StepFailed, StepCancelled,
	}
}

// Idempotency says what to do with a step whose outcome a crash lost.
type Idempotency string

// The idempotency modes.
const (
	SafeToRetry Idempotency = "safe_to_retry" // run it again; the default
	AtMostOnce  Idempotency = "at_most_once"  // never run it again; its outcome is recorded as indeterminate
)

// SubmitStep is the body of POST /v0/executions/{id}/steps.
type SubmitStep struct {
	Kind        StepKind        `json:"kind"`
	Target      string          `json:"target"`
	Args        json.RawMessage `json:"args,omitempty"` // any value; absent means null
	Idempotency Idempotency     `json:"idempotency,omitempty"`
}

// CompleteStep is the body of POST /v0/executions/{id}/steps/{step_id}/complete.
type CompleteStep struct {
	Result json.RawMessage `json:"result,omitempty"` // any value; absent means null
}

// FailStep is the body of POST /v0/executions/{id}/steps/{step_id}/fail.
type FailStep struct {
	Error json.RawMessage `json:"error,omitempty"` // any value but null
}

// Usage is what an llm_call cost.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Step is the record of one effect.
type Step struct {
	StepID      string          `json:"step_id"`
	ExecutionID string          `json:"execution_id"`
	Kind        StepKind        `json:"kind"`
	Target      string          `json:"target"`
	Status      StepStatus      `json:"status"`
	Idempotency Idempotency     `json:"idempotency"`
	Args        json.RawMessage `json:"args"`
	ArgsHash    string          `json:"args_hash"`  // SHA-256 of the canonical args
	Occurrence  uint32          `json:"occurrence"` // among equal submits of one attempt, from 0
	DispatchID  string          `json:"dispatch_id"`
	Attempt     int64           `json:"attempt"` // that started it last
	RuleID      string          `json:"rule_id"`
	ApprovalID  *string         `json:"approval_id"`
	Result      json.RawMessage `json:"result"`
	Error       json.RawMessage `json:"error"`
	Usage       *Usage          `json:"usage"`
	CreatedAt   Time            `json:"created_at"`
	StartedAt   *Time           `json:"started_at"`
	CompletedAt *Time           `json:"completed_at"`
}
