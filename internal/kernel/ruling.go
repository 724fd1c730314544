package kernel

import "time"

// Action is what a policy rule does with a step.
type Action uint8

// The actions of a policy.
const (
	Allow Action = iota + 1
	Deny
	RequireApproval
)

func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	case RequireApproval:
		return "require_approval"
	}
	return "unknown"
}

// The rule ids that are not a rule's.
const (
	RuleDefault            = "default"             // no rule matched
	RuleLocal              = "local"               // a local step that no rule matched is allowed
	RulePermissive         = "permissive"          // no bundle is loaded: everything is allowed
	RuleIndeterminateRetry = "indeterminate-retry" // the twin of an at_most_once step whose outcome is unknown
)

// Ruling is what a policy says of one step, before limits and budgets are
// looked at: those need the state of the execution and are the kernel's job.
type Ruling struct {
	Rule     string        // id of the rule that matched, or one of the Rule… constants
	Action   Action        // what the rule does
	Reason   string        // why, for a person; may be empty
	Approval ApprovalTerms // terms of the approval, should one be needed
	Limit    *RateLimit    // nil without a limit
	Budget   *Budget       // nil without a budget
	Bundle   Digest        // SHA-256 of the bundle text that ruled; zero without a bundle
}

// ApprovalTerms say who may decide an approval, and for how long.
type ApprovalTerms struct {
	Approvers []string      // empty: anyone
	Timeout   time.Duration // zero: the service's default
	Message   string        // shown to who decides
}

// LimitScope says what shares one rate limit bucket.
type LimitScope uint8

// The scopes of a rate limit.
const (
	PerExecution LimitScope = iota + 1 // this rule, this execution
	PerAgent                           // this rule, this agent
	PerService                         // rules of this id in every agent's bundle
)

func (s LimitScope) String() string {
	switch s {
	case PerExecution:
		return "execution"
	case PerAgent:
		return "agent"
	case PerService:
		return "global"
	}
	return "unknown"
}

// RateLimit allows at most MaxCalls recorded steps in any Window.
type RateLimit struct {
	MaxCalls int
	Window   time.Duration
	Scope    LimitScope
	MaxWait  time.Duration // longest time a step may be parked; zero: never parked
}

// Budget bounds the tokens that an execution may have used before a step.
type Budget struct {
	MaxTokens int64
	OnExceed  Action // Deny or RequireApproval
}
