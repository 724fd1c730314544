package wire

import "encoding/json"

// PolicyAction is what a rule does with a step.
type PolicyAction string

// The actions of a policy.
const (
	ActionAllow           PolicyAction = "allow"
	ActionDeny            PolicyAction = "deny"
	ActionRequireApproval PolicyAction = "require_approval"
)

// LoadPolicy is the body of POST /v0/policies/{agent_id}.
type LoadPolicy struct {
	Bundle string `json:"bundle"` // YAML
}

// Policy is the bundle of an agent.
type Policy struct {
	AgentID   string `json:"agent_id"`
	Bundle    string `json:"bundle"`
	SHA256    string `json:"sha256"` // of the bundle's text, lower-case hex
	UpdatedAt Time   `json:"updated_at"`
}

// PolicyTest is the body of POST /v0/policies/{agent_id}/test. Cases or an
// execution must be given.
type PolicyTest struct {
	Bundle      *string      `json:"bundle,omitempty"` // absent: the stored one
	Cases       []PolicyCase `json:"cases,omitempty"`
	ExecutionID string       `json:"execution_id,omitempty"` // its recorded steps become cases
}

// PolicyCase is one step to put to a bundle, and what to expect.
type PolicyCase struct {
	Name       string            `json:"name,omitempty"`
	Kind       StepKind          `json:"kind,omitempty"` // tool_call when absent
	Target     string            `json:"target"`
	Args       json.RawMessage   `json:"args,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	AgentID    string            `json:"agent_id,omitempty"` // the path's when absent
	Expect     PolicyAction      `json:"expect,omitempty"`
	ExpectRule string            `json:"expect_rule,omitempty"`
}

// PolicyTestReport answers a policy test.
type PolicyTestReport struct {
	Results          List[PolicyResult] `json:"results"`
	Total            int                `json:"total"`
	Failed           int                `json:"failed"` // cases that did not match
	UnexercisedRules List[string]       `json:"unexercised_rules"`
}

// PolicyResult is what became of one case.
type PolicyResult struct {
	Name       string       `json:"name"`
	StepID     string       `json:"step_id,omitempty"` // of a recorded step
	Kind       StepKind     `json:"kind"`
	Target     string       `json:"target"`
	Decision   PolicyAction `json:"decision"`
	RuleID     string       `json:"rule_id"`
	Reason     string       `json:"reason"`
	Expect     PolicyAction `json:"expect"`
	ExpectRule string       `json:"expect_rule"`
	Pass       bool         `json:"pass"`              // a case that expects nothing passes
	Failure    string       `json:"failure,omitempty"` // "<got>, want <expected>"
}
