package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// Case is one call to try a bundle on, and what is expected of it.
type Case struct {
	Name       string            `json:"name,omitempty" yaml:"name,omitempty"`
	Kind       string            `json:"kind,omitempty" yaml:"kind,omitempty"` // default tool_call
	Target     string            `json:"target" yaml:"target"`
	Args       JSON              `json:"args,omitempty" yaml:"args,omitempty"` // default null
	Labels     map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
	AgentID    string            `json:"agent_id,omitempty" yaml:"agent_id,omitempty"`       // default: the agent whose bundle it is
	Expect     string            `json:"expect,omitempty" yaml:"expect,omitempty"`           // allow, deny or require_approval; default: anything
	ExpectRule string            `json:"expect_rule,omitempty" yaml:"expect_rule,omitempty"` // default: any rule
	StepID     string            `json:"-" yaml:"-"`                                         // of the recorded step that the case replays
}

// Result says what a bundle made of a case.
type Result struct {
	Name       string `json:"name"`
	StepID     string `json:"step_id,omitempty"`
	Kind       string `json:"kind"`
	Target     string `json:"target"`
	Decision   string `json:"decision"`
	RuleID     string `json:"rule_id"`
	Reason     string `json:"reason"`
	Expect     string `json:"expect"`
	ExpectRule string `json:"expect_rule"`
	Pass       bool   `json:"pass"`
	Failure    string `json:"failure,omitempty"` // "<got>, want <expected>"
}

// Report is the outcome of all cases.
type Report struct {
	Results          []Result `json:"results"`
	Total            int      `json:"total"`
	Failed           int      `json:"failed"`            // cases that did not match
	UnexercisedRules []string `json:"unexercised_rules"` // ids of the rules that no case matched
}

// RunCases tries b on cases. It evaluates only: limits and budgets, which need
// an execution, are not looked at. A case whose kind is none fails.
func RunCases(b *Bundle, agentID string, cases []Case) Report {
	report := Report{Results: make([]Result, 0, len(cases)), Total: len(cases), UnexercisedRules: []string{}}
	used := map[string]bool{}
	for i := range cases {
		result := cases[i].run(b, agentID)
		used[result.RuleID] = true
		if !result.Pass {
			report.Failed++
		}
		report.Results = append(report.Results, result)
	}
	for _, r := range b.Rules() {
		if !used[r.ID] {
			report.UnexercisedRules = append(report.UnexercisedRules, r.ID)
		}
	}
	return report
}

func (c *Case) run(b *Bundle, agentID string) Result {
	result := Result{
		Name: c.Name, StepID: c.StepID, Kind: c.Kind, Target: c.Target, Expect: c.Expect, ExpectRule: c.ExpectRule,
	}
	if result.Kind == "" {
		result.Kind = kernel.ToolCall.String()
	}
	kind, ok := kernel.ParseStepKind(result.Kind)
	if !ok {
		result.Failure = fmt.Sprintf("kind %s, want tool_call, llm_call or local", quote(c.Kind))
		return result
	}
	if c.AgentID != "" {
		agentID = c.AgentID
	}
	ruling := b.Evaluate(Call{Kind: kind, Target: c.Target, Args: c.Args, AgentID: agentID, Labels: c.Labels})
	result.Decision, result.RuleID, result.Reason = ruling.Action.String(), ruling.Rule, ruling.Reason
	result.Failure = c.failure(&result)
	result.Pass = result.Failure == ""
	return result
}

// failure names what differs, and only that.
func (c *Case) failure(got *Result) string {
	decision := c.Expect != "" && c.Expect != got.Decision
	rule := c.ExpectRule != "" && c.ExpectRule != got.RuleID
	switch {
	case decision && rule:
		return fmt.Sprintf("%s by rule %s, want %s by rule %s", got.Decision, got.RuleID, c.Expect, c.ExpectRule)
	case decision:
		return fmt.Sprintf("%s, want %s", got.Decision, c.Expect)
	case rule:
		return fmt.Sprintf("rule %s, want rule %s", got.RuleID, c.ExpectRule)
	}
	return ""
}

// JSON is a JSON value as text, in YAML files the same value in YAML's words.
// Like [json.RawMessage] it is empty when the value is absent.
type JSON []byte

// MarshalJSON gives the text itself; null when there is none.
func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

// UnmarshalJSON keeps a copy of the text, which must pass [canonjson.Check].
func (j *JSON) UnmarshalJSON(b []byte) error {
	if err := canonjson.Check(b); err != nil {
		return err
	}
	*j = slices.Clone(b)
	return nil
}

// MarshalYAML gives the value as a YAML node. The text must be checked JSON.
func (j JSON) MarshalYAML() (any, error) { return jsonNode(j), nil }

// UnmarshalYAML reads any YAML value that JSON has, too.
func (j *JSON) UnmarshalYAML(n *yaml.Node) error {
	r := reader{what: "value"}
	b, _ := r.json(n, "")
	*j = b
	return r.err()
}
