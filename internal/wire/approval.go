package wire

import "encoding/json"

// ApprovalStatus is where an approval stands.
type ApprovalStatus string

// The statuses of an approval.
const (
	ApprovalPending   ApprovalStatus = "pending"
	ApprovalGranted   ApprovalStatus = "granted"
	ApprovalDenied    ApprovalStatus = "denied"
	ApprovalExpired   ApprovalStatus = "expired"
	ApprovalCancelled ApprovalStatus = "cancelled" // its execution was cancelled first
)

// ApprovalsAll is the value of the query parameter status that asks for
// approvals of every status.
const ApprovalsAll = "all"

// ApprovalStatuses lists every status.
func ApprovalStatuses() []ApprovalStatus {
	return []ApprovalStatus{
		ApprovalPending, ApprovalGranted, ApprovalDenied, ApprovalExpired, ApprovalCancelled,
	}
}

// Approval is a decision that a person has to make on a step, with all that
// they need to make it.
type Approval struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"execution_id"`
	StepID      string          `json:"step_id"`
	AgentID     string          `json:"agent_id"`
	Status      ApprovalStatus  `json:"status"`
	Kind        StepKind        `json:"kind"`
	Target      string          `json:"target"`
	Args        json.RawMessage `json:"args"`
	RuleID      string          `json:"rule_id"`
	Reason      string          `json:"reason"`    // of the rule
	Message     string          `json:"message"`   // of the rule, for who decides
	Approvers   List[string]    `json:"approvers"` // empty: anyone may decide
	CreatedAt   Time            `json:"created_at"`
	TimeoutAt   Time            `json:"timeout_at"`
	DecidedBy   *string         `json:"decided_by"`
	DecidedAt   *Time           `json:"decided_at"`
	Rationale   *string         `json:"rationale"`
}

// DecideApproval is the body of POST /v0/approvals/{id}/grant and …/deny.
type DecideApproval struct {
	DecidedBy string `json:"decided_by"` // not empty; taken at face value
	Rationale string `json:"rationale,omitempty"`
}
