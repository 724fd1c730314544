package wire

import "encoding/json"

// DecisionName says what an agent is to do after it submitted or reported a step.
type DecisionName string

// The decisions.
const (
	DecisionProceed           DecisionName = "proceed"            // do the effect, then report it
	DecisionReplay            DecisionName = "replay"             // recorded already; do not do it again
	DecisionDenied            DecisionName = "denied"             // the policy or a person said no
	DecisionBlocked           DecisionName = "blocked"            // exit; the service dispatches again later
	DecisionExecutionBlocked  DecisionName = "execution_blocked"  // an earlier step waits; exit
	DecisionRateLimited       DecisionName = "rate_limited"       // a rule's limit refused it
	DecisionExecutionTerminal DecisionName = "execution_terminal" // the execution has ended; exit
	DecisionRecorded          DecisionName = "recorded"           // answers a report: it is stored
)

// DecisionNames lists every decision.
func DecisionNames() []DecisionName {
	return []DecisionName{
		DecisionProceed, DecisionReplay, DecisionDenied, DecisionBlocked,
		DecisionExecutionBlocked, DecisionRateLimited, DecisionExecutionTerminal, DecisionRecorded,
	}
}

// Decision answers a submit, a wait and the report of a step. It has only the
// keys that apply: a nil Result or Error is left out, a replayed null is not.
type Decision struct {
	Decision          DecisionName    `json:"decision"`
	StepID            string          `json:"step_id,omitempty"` // whenever an id was derived
	Result            json.RawMessage `json:"result,omitempty"`
	Error             json.RawMessage `json:"error,omitempty"`
	Reason            string          `json:"reason,omitempty"`
	ApprovalID        string          `json:"approval_id,omitempty"`
	RuleID            string          `json:"rule_id,omitempty"`
	RetryAfterSeconds *float64        `json:"retry_after_seconds,omitempty"` // of a rate limit
}
