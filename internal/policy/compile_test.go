package policy_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
)

func compile(t testing.TB, src string) *policy.Bundle {
	t.Helper()
	b, err := policy.Compile([]byte(src))
	if err != nil {
		t.Fatalf("Compile:\n%s\n%v", src, err)
	}
	return b
}

// rule is a bundle of one rule, with these conditions, that allows.
func rule(when string) string {
	return "rules:\n  - id: r\n    when: {" + when + "}\n    then: {decision: allow}\n"
}

func TestCompileKeepsEverything(t *testing.T) {
	t.Parallel()
	src := `
default_action: allow
rules:
  - id: approve-writes
    when: {target: fs_write_*}
    then:
      decision: require_approval
      reason: writes need a look
      approval_config: {approvers: [alice, bob], timeout: 5m, message: check the path}
      rate_limit: {max_calls: 5, window: 1m, per_what: agent, max_wait: 1h30m}
      budget: {max_tokens: 200000, on_exceed: require_approval}
  - id: second
    then: {decision: deny}
`
	b := compile(t, src)
	digest := kernel.Sum([]byte(src))
	want := kernel.Ruling{
		Rule:     "approve-writes",
		Action:   kernel.RequireApproval,
		Reason:   "writes need a look",
		Approval: kernel.ApprovalTerms{Approvers: []string{"alice", "bob"}, Timeout: 5 * time.Minute, Message: "check the path"},
		Limit:    &kernel.RateLimit{MaxCalls: 5, Window: time.Minute, Scope: kernel.PerAgent, MaxWait: 90 * time.Minute},
		Budget:   &kernel.Budget{MaxTokens: 200_000, OnExceed: kernel.RequireApproval},
		Bundle:   digest,
	}
	got := b.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: "fs_write_file"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ruling (-want +got)\n%s", diff)
	}
	if b.Digest() != digest || string(b.Source()) != src {
		t.Errorf("digest %s and source %q, want %s of the text itself", b.Digest(), b.Source(), digest)
	}
	wantRules := []policy.RuleInfo{
		{ID: "approve-writes", Line: 4, Action: kernel.RequireApproval, Reason: "writes need a look"},
		{ID: "second", Line: 12, Action: kernel.Deny, Reason: "policy_denied"},
	}
	if diff := cmp.Diff(wantRules, b.Rules()); diff != "" {
		t.Errorf("rules (-want +got)\n%s", diff)
	}
}

func TestCompileDefaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then string
		want kernel.Ruling
	}{
		"allow": {"{decision: allow}", kernel.Ruling{Action: kernel.Allow}},
		"deny":  {"{decision: deny}", kernel.Ruling{Action: kernel.Deny, Reason: "policy_denied"}},
		"ask":   {"{decision: require_approval}", kernel.Ruling{Action: kernel.RequireApproval}},
		"anyone": {
			"{decision: require_approval, approval_config: {approvers: []}}",
			kernel.Ruling{Action: kernel.RequireApproval},
		},
		"limit": {
			"{decision: allow, rate_limit: {max_calls: 1, window: 1ms}}",
			kernel.Ruling{Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Millisecond, Scope: kernel.PerExecution}},
		},
		"limit of the execution": {
			"{decision: allow, rate_limit: {max_calls: 1, window: 1h, per_what: execution}}",
			kernel.Ruling{Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Hour, Scope: kernel.PerExecution}},
		},
		"global limit": {
			"{decision: allow, rate_limit: {max_calls: 1, window: 1h, per_what: global}}",
			kernel.Ruling{Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Hour, Scope: kernel.PerService}},
		},
		"budget": {
			"{decision: allow, budget: {max_tokens: 7}}",
			kernel.Ruling{Action: kernel.Allow, Budget: &kernel.Budget{MaxTokens: 7, OnExceed: kernel.Deny}},
		},
		"terms for a budget": {
			"{decision: allow, budget: {max_tokens: 7, on_exceed: require_approval}, approval_config: {timeout: 1s}}",
			kernel.Ruling{
				Action: kernel.Allow, Approval: kernel.ApprovalTerms{Timeout: time.Second},
				Budget: &kernel.Budget{MaxTokens: 7, OnExceed: kernel.RequireApproval},
			},
		},
	} {
		b := compile(t, "rules: [{id: x, then: "+c.then+"}]")
		got := b.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: "t"})
		c.want.Rule, c.want.Bundle = "x", b.Digest()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestCompileAcceptsEmptyParts(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"{}", "rules: []", "rules:", "default_action: deny", "--- {}", "{}\n...\n", "\ufeff{}", `{"default_action": "deny", "rules": []}`,
		"rules: [{id: a, when: , then: {decision: allow}}, {id: b, when: {}, then: {decision: deny}}]",
		"rules: [{id: 5, then: {decision: allow, reason: 7}}]",
		"# only a comment before\n{}\n# and after\n",
		"rules: &unused []",
	} {
		if _, err := policy.Compile([]byte(src)); err != nil {
			t.Errorf("Compile(%q) = %v, want nil", src, err)
		}
	}
}

// TestProblems holds the messages: what, where, and what would be right.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"", "line 1, column 1: bundle: the text is empty"},
		{"# nothing\n", "line 1, column 1: bundle: the text is empty"},
		{"null", "line 1, column 1: bundle: the text is empty"},
		{"[]", "line 1, column 1: bundle: must be a mapping with default_action and rules, not a list"},
		{"deny", `line 1, column 1: bundle: must be a mapping with default_action and rules, not "deny"`},
		{"{}\n---\n{}\n", "line 2, column 1: bundle: a second document starts here; only one is allowed"},
		{"a: b: c", "line 1, column 1: bundle: not valid YAML: mapping values are not allowed in this context"},
		{
			"rules:\n  - id: a\n   then: {}\n",
			"line 2, column 1: bundle: not valid YAML: did not find expected '-' indicator; check the indentation around this line",
		},
		{"rules: []\nx: \"\xff\"", "line 2, column 5: bundle: the text is not valid UTF-8"},
		{"rules: []\n\x00", "line 2, column 1: bundle: control character U+0000 is not allowed"},
		{"rules: &a []\ndefault_action: *a", "line 2, column 17: bundle: alias *a is not supported: write the value out"},
		{"rules: []\ndefault_action: *nope", "line 2, column 17: bundle: alias *nope is not supported: write the value out"},
		{
			"default_action: !!str deny",
			"line 1, column 17: bundle: tag !!str is not supported: quote a text, and write a number or boolean plainly",
		},
		{"default_action: maybe", `line 1, column 17: default_action: unknown value "maybe"; known are allow, deny`},
		{"default_action: Deny", `line 1, column 17: default_action: unknown value "Deny", did you mean deny?`},
		{"default_action:", "line 1, column 16: default_action: needs a value: a text"},
		{"default: deny", "line 1, column 1: default: unknown key, did you mean default_action?"},
		{"defualt_action: deny", "line 1, column 1: defualt_action: unknown key, did you mean default_action?"},
		{"rules: []\nrules: []", "line 2, column 1: rules: duplicate key, first used on line 1"},
		{"rules: {}", "line 1, column 8: rules: must be a list of rules, not a mapping"},
		{"rules: [5]", `line 1, column 9: rules[0]: must be a mapping of keys to values, not "5"`},
		{"? [a]\n: 1", "line 1, column 3: bundle: must be a plain text as key, not a list"},
		{"rules: [{then: {decision: allow}}]", "line 1, column 9: rules[0].id: is missing: every rule needs an id"},
		{"rules: [{id: '', then: {decision: allow}}]", "line 1, column 14: rules[0].id: must not be empty"},
		{"rules: [{id: [a], then: {decision: allow}}]", "line 1, column 14: rules[0].id: must be a text, not a list"},
		{
			"rules: [{id: " + strings.Repeat("é", 129) + ", then: {decision: allow}}]",
			"line 1, column 14: rules[0].id: has 129 characters, at most 128 are allowed",
		},
		{`rules: [{id: "a\nb", then: {decision: allow}}]`, `line 1, column 14: rules[0].id: "a\nb" has a control character`},
		{
			"rules: [{id: default, then: {decision: allow}}]",
			`line 1, column 14: rules[0].id: "default" is what the service itself reports when no rule matched; choose another id`,
		},
		{
			"rules:\n- {id: a, then: {decision: allow}}\n- {id: a, then: {decision: deny}}",
			`line 3, column 8: rules[1].id: duplicate id "a", first used on line 2`,
		},
		{"rules: [{id: a}]", "line 1, column 9: rules[0].then: is missing: say what the rule does, such as {decision: deny}"},
		{"rules: [{id: a, when: 5, then: {decision: deny}}]", `line 1, column 23: rules[0].when: must be a mapping of keys to values, not "5"`},
		{"rules: [", "line 1, column 1: bundle: not valid YAML: did not find expected node content; a value was expected"},
		{"{}\n---\nx: [", "line 3, column 1: bundle: not valid YAML: did not find expected node content; a value was expected"},
		{"rules: [{id: a, then: }]", "line 1, column 23: rules[0].then: needs a value: a mapping of keys to values"},
		{
			"rules: [{id: a, target: x, then: {decision: allow}}]",
			"line 1, column 17: rules[0].target: unknown key; it belongs under when",
		},
		{
			"rules: [{id: a, then: {decision: allow, max_calls: 5}}]",
			"line 1, column 41: rules[0].then.max_calls: unknown key; it belongs under rate_limit",
		},
	} {
		wantProblems(t, c.src, c.want)
	}
}

func TestProblemsOfWhen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ when, want string }{
		{"tool: x", "rules[0].when.tool: unknown key; known are target, targets, step_kind, agent_id, agent_ids, labels, arguments"},
		{"targts: [x]", "rules[0].when.targts: unknown key, did you mean targets?"},
		{"decision: allow", "rules[0].when.decision: unknown key; it belongs under then"},
		{"target: ", "rules[0].when.target: needs a value: a text"},
		{"target: ''", "rules[0].when.target: must not be empty"},
		{"target: [a]", "rules[0].when.target: must be a text, not a list"},
		{"target: '[a'", `rules[0].when.target: "[a" is not a valid pattern: the class [a has no closing bracket (write \[ for a bracket that is meant)`},
		{"target: 'x[]'", `rules[0].when.target: "x[]" is not a valid pattern: a class is empty (write \] for a bracket that is meant)`},
		{"target: 'x[!]'", `rules[0].when.target: "x[!]" is not a valid pattern: a class is empty (write \] for a bracket that is meant)`},
		{"target: '[z-a]'", `rules[0].when.target: "[z-a]" is not a valid pattern: the range z-a runs backwards`},
		{"target: 'a\\'", `rules[0].when.target: "a\\" is not a valid pattern: a backslash may only stand before one of * ? [ ] \ - ! ^ (write \\ for a backslash)`},
		{"target: 'a\\d'", `rules[0].when.target: "a\\d" is not a valid pattern: a backslash may only stand before one of * ? [ ] \ - ! ^ (write \\ for a backslash)`},
		{"target: '[a-\\d]'", `rules[0].when.target: "[a-\\d]" is not a valid pattern: a backslash may only stand before one of * ? [ ] \ - ! ^ (write \\ for a backslash)`},
		{"targets: []", "rules[0].when.targets: must not be empty; leave it out if it is not needed"},
		{"targets: a", `rules[0].when.targets: must be a list, not "a"`},
		{"targets: {a: b}", "rules[0].when.targets: must be a list, not a mapping"},
		{"targets: [a, ~]", "rules[0].when.targets[1]: needs a value: a text"},
		{"targets: [a, '[']", `rules[0].when.targets[1]: "[" is not a valid pattern: the class [ has no closing bracket (write \[ for a bracket that is meant)`},
		{"step_kind: toolcall", `rules[0].when.step_kind: unknown value "toolcall", did you mean tool_call?`},
		{"step_kind: [local]", "rules[0].when.step_kind: must be a text, not a list"},
		{"agent_id: 'shell*'", `rules[0].when.agent_id: "shell*" is not an agent id: 1 to 128 characters of A-Z a-z 0-9 . _ - (there are no patterns here)`},
		{"agent_ids: []", "rules[0].when.agent_ids: must not be empty; leave it out if it is not needed"},
		{"agent_ids: [a, 'b c']", `rules[0].when.agent_ids[1]: "b c" is not an agent id: 1 to 128 characters of A-Z a-z 0-9 . _ - (there are no patterns here)`},
		{"agent_id: a, agent_ids: [b]", `rules[0].when.agent_id: "a" is not among agent_ids, so the rule could never match`},
		{"labels: {}", "rules[0].when.labels: must not be empty; leave it out if it is not needed"},
		{"labels: [a]", "rules[0].when.labels: must be a mapping of keys to values, not a list"},
		{"labels: {env: }", "rules[0].when.labels.env: needs a value: a text"},
		{"labels: {env: [prod]}", "rules[0].when.labels.env: must be a text, not a list"},
		{"labels: {env: a, env: b}", "rules[0].when.labels.env: duplicate key, first used on line 3"},
		{"arguments: {}", "rules[0].when.arguments: must not be empty; leave it out if it is not needed"},
		{"arguments: [a]", "rules[0].when.arguments: must be a mapping of keys to values, not a list"},
		{"arguments: {[a]: {equals: b}}", "rules[0].when.arguments: must be a plain text as key, not a list"},
		{"labels: {[a]: b}", "rules[0].when.labels: must be a plain text as key, not a list"},
		{"arguments: {a: {equals: {[b]: 1}}}", "rules[0].when.arguments.a.equals: must be a plain text as key, not a list"},
		{"agent_id: [a]", "rules[0].when.agent_id: must be a text, not a list"},
		{"arguments: {a: }", "rules[0].when.arguments.a: needs a value: a mapping of keys to values"},
		{"arguments: {a: /etc}", "rules[0].when.arguments.a: must say how to compare, such as {equals: /etc}"},
		{"arguments: {a: [b]}", "rules[0].when.arguments.a: must be a mapping of keys to values, not a list"},
		{"arguments: {a: {}}", "rules[0].when.arguments.a: is empty: say how to compare, with equals, contains, one_of, regex, prefix, suffix, gt, gte, lt, lte, exists"},
		{"arguments: {a: {equal: b}}", "rules[0].when.arguments.a.equal: unknown key, did you mean equals?"},
		{"arguments: {a: {equals: b, equals: c}}", "rules[0].when.arguments.a.equals: duplicate key, first used on line 3"},
		{"arguments: {a: {equals: b}, a: {equals: c}}", "rules[0].when.arguments.a: duplicate key, first used on line 3"},
		{"arguments: {'': {equals: b}}", `rules[0].when.arguments[""]: an argument name must not be empty (the JSON Pointer / names a member without a name)`},
		{"arguments: {/a~2: {equals: b}}", `rules[0].when.arguments["/a~2"]: JSON Pointer "/a~2": write ~ as ~0 and / inside a name as ~1`},
		{"arguments: {a: {equals: }}", "rules[0].when.arguments.a.equals: needs a value (write null if that is meant)"},
		{"arguments: {a: {equals: 010}}", "rules[0].when.arguments.a.equals: 010 is not a number as JSON writes it; quote it if a text is meant"},
		{"arguments: {a: {equals: .inf}}", "rules[0].when.arguments.a.equals: .inf is not a number as JSON writes it; quote it if a text is meant"},
		{"arguments: {a: {equals: [0x1f]}}", "rules[0].when.arguments.a.equals[0]: 0x1f is not a number as JSON writes it; quote it if a text is meant"},
		{"arguments: {a: {equals: {b: 1, b: 2}}}", "rules[0].when.arguments.a.equals.b: duplicate key, first used on line 3"},
		{"arguments: {a: {one_of: []}}", "rules[0].when.arguments.a.one_of: must not be empty; leave it out if it is not needed"},
		{"arguments: {a: {one_of: x}}", `rules[0].when.arguments.a.one_of: must be a list, not "x"`},
		{"arguments: {a: {contains: ''}}", "rules[0].when.arguments.a.contains: must not be empty"},
		{"arguments: {a: {prefix: }}", "rules[0].when.arguments.a.prefix: needs a value: a text"},
		{"arguments: {a: {suffix: [a]}}", "rules[0].when.arguments.a.suffix: must be a text, not a list"},
		{"arguments: {a: {regex: ''}}", "rules[0].when.arguments.a.regex: must not be empty"},
		{"arguments: {a: {regex: '(a'}}", `rules[0].when.arguments.a.regex: not a valid regular expression (RE2): missing closing ): "(a"`},
		{"arguments: {a: {regex: '(?=a)'}}", `rules[0].when.arguments.a.regex: not a valid regular expression (RE2): invalid or unsupported Perl syntax: "(?="`},
		{"arguments: {a: {gt: x}}", `rules[0].when.arguments.a.gt: must be a number as JSON writes it, not "x"`},
		{"arguments: {a: {gte: '5'}}", `rules[0].when.arguments.a.gte: must be a number as JSON writes it, not "5"`},
		{"arguments: {a: {lt: [5]}}", "rules[0].when.arguments.a.lt: must be a number as JSON writes it, not a list"},
		{"arguments: {a: {lte: 1e999999999999999999999}}", "rules[0].when.arguments.a.lte: 1e999999999999999999999 is out of range"},
		{"arguments: {a: {exists: yes}}", `rules[0].when.arguments.a.exists: must be true or false, not "yes"`},
		{"arguments: {a: {exists: 1}}", `rules[0].when.arguments.a.exists: must be true or false, not "1"`},
	} {
		_, err := policy.Compile([]byte(rule(c.when)))
		var invalid *policy.Invalid
		if !errors.As(err, &invalid) || len(invalid.Problems) != 1 {
			t.Errorf("%s: got %v, want one problem: %s", c.when, err, c.want)
			continue
		}
		p := invalid.Problems[0]
		if got := p.Field + ": " + p.Problem; got != c.want || p.Line != 3 || p.Column <= len("    when: {") {
			t.Errorf("%s:\n got line %d, column %d: %s\nwant %s", c.when, p.Line, p.Column, got, c.want)
		}
	}
}

func TestProblemsOfThen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ then, want string }{
		{"reason: x", "rules[0].then.decision: is missing: allow, deny or require_approval"},
		{"decision: ", "rules[0].then.decision: needs a value: a text"},
		{"decision: approve", `rules[0].then.decision: unknown value "approve"; known are allow, deny, require_approval`},
		{"decision: require-approval", `rules[0].then.decision: unknown value "require-approval", did you mean require_approval?`},
		{"decision: allow, reasn: x", "rules[0].then.reasn: unknown key, did you mean reason?"},
		{"decision: allow, reason: ''", "rules[0].then.reason: must not be empty"},
		{
			"decision: allow, approval_config: {timeout: 1m}",
			"rules[0].then.approval_config: has no effect: neither decision nor budget.on_exceed is require_approval",
		},
		{
			"decision: deny, budget: {max_tokens: 1}, approval_config: {timeout: 1m}",
			"rules[0].then.approval_config: has no effect: neither decision nor budget.on_exceed is require_approval",
		},
		{"decision: require_approval, approval_config: 5m", `rules[0].then.approval_config: must be a mapping of keys to values, not "5m"`},
		{"decision: require_approval, approval_config: {approver: a}", "rules[0].then.approval_config.approver: unknown key, did you mean approvers?"},
		{"decision: require_approval, approval_config: {approvers: a}", `rules[0].then.approval_config.approvers: must be a list, not "a"`},
		{"decision: require_approval, approval_config: {approvers: ['']}", "rules[0].then.approval_config.approvers[0]: must not be empty"},
		{"decision: require_approval, approval_config: {timeout: 0s}", "rules[0].then.approval_config.timeout: must be longer than zero, not 0s"},
		{"decision: require_approval, approval_config: {timeout: -5m}", "rules[0].then.approval_config.timeout: must be longer than zero, not -5m"},
		{
			"decision: require_approval, approval_config: {timeout: 300}",
			`rules[0].then.approval_config.timeout: "300" is not a duration: write a number and a unit, such as 30s, 5m or 1h30m`,
		},
		{"decision: allow, rate_limit: {window: 1m}", "rules[0].then.rate_limit.max_calls: is missing: how many calls a window may have"},
		{"decision: allow, rate_limit: {max_calls: 1}", "rules[0].then.rate_limit.window: is missing: a duration such as 1m"},
		{"decision: allow, rate_limit: {max_calls: 0, window: 1m}", "rules[0].then.rate_limit.max_calls: must be at least 1, not 0"},
		{"decision: allow, rate_limit: {max_calls: -1, window: 1m}", "rules[0].then.rate_limit.max_calls: must be at least 1, not -1"},
		{"decision: allow, rate_limit: {max_calls: 1.5, window: 1m}", `rules[0].then.rate_limit.max_calls: must be a whole number, not "1.5"`},
		{"decision: allow, rate_limit: {max_calls: five, window: 1m}", `rules[0].then.rate_limit.max_calls: must be a whole number, not "five"`},
		{"decision: allow, rate_limit: {max_calls: 3000000000, window: 1m}", "rules[0].then.rate_limit.max_calls: 3000000000 is too large"},
		{"decision: allow, rate_limit: {max_calls: 1, window: 0s}", "rules[0].then.rate_limit.window: must be longer than zero, not 0s"},
		{"decision: allow, rate_limit: {max_calls: 1, window: 1m, max_wait: 0s}", "rules[0].then.rate_limit.max_wait: must be longer than zero, not 0s"},
		{
			"decision: allow, rate_limit: {max_calls: 1, window: 1m, per_what: agents}",
			`rules[0].then.rate_limit.per_what: unknown value "agents", did you mean agent?`,
		},
		{"decision: allow, budget: 5", `rules[0].then.budget: must be a mapping of keys to values, not "5"`},
		{"decision: allow, rate_limit: 5/s", `rules[0].then.rate_limit: must be a mapping of keys to values, not "5/s"`},
		{"decision: [allow]", "rules[0].then.decision: must be a text, not a list"},
		{"decision: allow, budget: {}", "rules[0].then.budget.max_tokens: is missing: how many tokens an execution may have used"},
		{"decision: allow, budget: {max_tokens: 0}", "rules[0].then.budget.max_tokens: must be at least 1, not 0"},
		{"decision: allow, budget: {max_tokens: 1e6}", `rules[0].then.budget.max_tokens: must be a whole number, not "1e6"`},
		{"decision: allow, budget: {max_tokens: 99999999999999999999}", "rules[0].then.budget.max_tokens: 99999999999999999999 is too large"},
		{"decision: allow, budget: {max_tokens: 1, on_exceed: allow}", `rules[0].then.budget.on_exceed: unknown value "allow"; known are deny, require_approval`},
		{
			"decision: deny, budget: {max_tokens: 1, on_exceed: require_approval}",
			"rules[0].then.budget.on_exceed: would let over the budget what the rule denies under it",
		},
	} {
		src := "rules:\n  - id: r\n    then: {" + c.then + "}\n"
		_, err := policy.Compile([]byte(src))
		var invalid *policy.Invalid
		if !errors.As(err, &invalid) || len(invalid.Problems) != 1 {
			t.Errorf("%s: got %v, want one problem: %s", c.then, err, c.want)
			continue
		}
		p := invalid.Problems[0]
		if got := p.Field + ": " + p.Problem; got != c.want || p.Line != 3 {
			t.Errorf("%s:\n got line %d, column %d: %s\nwant %s", c.then, p.Line, p.Column, got, c.want)
		}
	}
}

// TestEveryProblemIsListed compares a bundle that is wrong in many ways with
// the list of all of them.
func TestEveryProblemIsListed(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/broken.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/broken.txt")
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, string(src), strings.TrimSpace(string(want)))
}

func TestBounds(t *testing.T) {
	t.Parallel()
	large := "# " + strings.Repeat("x", policy.MaxSize)
	wantProblems(t, large, fmt.Sprintf("line 1, column 1: bundle: the text has %d bytes, at most %d are allowed", len(large), policy.MaxSize))
	fits := "{} # " + strings.Repeat("x", policy.MaxSize-5)
	compile(t, fits)

	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range policy.MaxRules {
		fmt.Fprintf(&b, "- {id: r%d, then: {decision: deny}}\n", i)
	}
	compile(t, b.String())
	b.WriteString("- {id: last, then: {decision: deny}}\n")
	wantProblems(t, b.String(), "line 1002, column 3: rules: there are 1001 rules, at most 1000 are allowed")
}

// TestHostileTexts must end soon, with an error and without a panic.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for name, src := range map[string]string{
		"laughs":        laughs,
		"self":          "rules: &a [*a]",
		"deep flow":     "rules: " + strings.Repeat("[", 100_000),
		"deep closed":   "rules: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"deep map":      "rules: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000),
		"deep equals":   rule("arguments: {a: {equals: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}}"),
		"deep block":    strings.Repeat("- ", 50_000),
		"long key":      strings.Repeat("k", 200_000) + ": 1",
		"many unknown":  strings.Repeat("a: 1\n", 40_000),
		"huge regex":    rule("arguments: {a: {regex: '((a{100}){100}){100}'}}"),
		"huge number":   rule("arguments: {a: {gt: 1e" + strings.Repeat("9", 1000) + "}}"),
		"tail comments": "a:\n  - b\n  # x\n# y\n - c\n",
		"merge":         "<<: {rules: []}",
		"merge alias":   "x: &x {rules: []}\n<<: *x",
	} {
		_, err := policy.Compile([]byte(src))
		var invalid *policy.Invalid
		if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
			t.Errorf("%s: got %v, want problems", name, err)
		}
	}
}

func wantProblems(t *testing.T, src, want string) {
	t.Helper()
	_, err := policy.Compile([]byte(src))
	got := fmt.Sprint(err)
	var invalid *policy.Invalid
	if !errors.As(err, &invalid) || got != want {
		t.Errorf("Compile(%.100q)\n%s", src, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}
