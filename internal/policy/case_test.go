package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/policy"
)

const shellBundle = `
rules:
  - {id: never, when: {target: shell_exec, arguments: {command: {contains: rm}}}, then: {decision: deny, reason: no rm}}
  - {id: shell, when: {target: shell_exec, agent_id: shell}, then: {decision: require_approval, reason: look}}
  - {id: prod, when: {labels: {env: prod}}, then: {decision: deny}}
  - {id: llm, when: {step_kind: llm_call}, then: {decision: allow}}
`

func TestRunCases(t *testing.T) {
	t.Parallel()
	cases, err := policy.ParseCases([]byte(`
- {name: rm is refused, target: shell_exec, args: {command: rm -rf /}, expect: deny, expect_rule: never}
- {name: asks, target: shell_exec, expect: require_approval}
- {name: of another agent, target: shell_exec, agent_id: other, expect: allow}
- {name: expects nothing, target: anything}
- {name: model, kind: llm_call, target: gpt, expect: deny, expect_rule: shell}
- {name: wrong rule, kind: local, target: clock, expect: allow, expect_rule: llm}
`))
	if err != nil {
		t.Fatal(err)
	}
	cases[0].StepID = "abc"
	want := policy.Report{
		Results: []policy.Result{
			{
				Name: "rm is refused", StepID: "abc", Kind: "tool_call", Target: "shell_exec", Decision: "deny", RuleID: "never", Reason: "no rm",
				Expect: "deny", ExpectRule: "never", Pass: true,
			},
			{
				Name: "asks", Kind: "tool_call", Target: "shell_exec", Decision: "require_approval", RuleID: "shell", Reason: "look",
				Expect: "require_approval", Pass: true,
			},
			{
				Name: "of another agent", Kind: "tool_call", Target: "shell_exec", Decision: "deny", RuleID: "default", Reason: "no rule allows this",
				Expect: "allow", Failure: "deny, want allow",
			},
			{
				Name: "expects nothing", Kind: "tool_call", Target: "anything", Decision: "deny", RuleID: "default", Reason: "no rule allows this",
				Pass: true,
			},
			{
				Name: "model", Kind: "llm_call", Target: "gpt", Decision: "allow", RuleID: "llm",
				Expect: "deny", ExpectRule: "shell", Failure: "allow by rule llm, want deny by rule shell",
			},
			{
				Name: "wrong rule", Kind: "local", Target: "clock", Decision: "allow", RuleID: "local",
				Expect: "allow", ExpectRule: "llm", Failure: "rule local, want rule llm",
			},
		},
		Total: 6, Failed: 3, UnexercisedRules: []string{"prod"},
	}
	if diff := cmp.Diff(want, policy.RunCases(compile(t, shellBundle), "shell", cases)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReportOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bundle *policy.Bundle
		cases  []policy.Case
		want   string
	}{
		{nil, nil, `{"results":[],"total":0,"failed":0,"unexercised_rules":[]}`},
		{
			nil,
			[]policy.Case{{Name: "n", Target: "t", Expect: "allow", StepID: "s"}},
			`{"results":[{"name":"n","step_id":"s","kind":"tool_call","target":"t","decision":"allow","rule_id":"permissive","reason":"",` +
				`"expect":"allow","expect_rule":"","pass":true}],"total":1,"failed":0,"unexercised_rules":[]}`,
		},
		{
			compile(t, shellBundle),
			[]policy.Case{{Kind: "tool", Target: "t"}},
			`{"results":[{"name":"","kind":"tool","target":"t","decision":"","rule_id":"","reason":"","expect":"","expect_rule":"","pass":false,` +
				`"failure":"kind \"tool\", want tool_call, llm_call or local"}],"total":1,"failed":1,"unexercised_rules":["never","shell","prod","llm"]}`,
		},
	} {
		got, err := json.Marshal(policy.RunCases(c.bundle, "a", c.cases))
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestParseCases(t *testing.T) {
	t.Parallel()
	want := []policy.Case{
		{
			Name: "all", Kind: "llm_call", Target: "gpt", Args: policy.JSON(`{"n":9007199254740993,"s":"😀","l":[true,null,1.50]}`),
			Labels: map[string]string{"env": "prod", "n": "1"}, AgentID: "a", Expect: "deny", ExpectRule: "r",
		},
		{Target: "least"},
	}
	for _, src := range []string{
		`[{"name":"all","kind":"llm_call","target":"gpt","args":{"n":9007199254740993,"s":"\ud83d\ude00","l":[true,null,1.50]},` +
			`"labels":{"env":"prod","n":"1"},"agent_id":"a","expect":"deny","expect_rule":"r"},{"target":"least","name":"","args":null,"labels":null,"expect":""}]`,
		`{"cases":[{"name":"all","kind":"llm_call","target":"gpt","args":{"n":9007199254740993,"s":"😀","l":[true,null,1.50]},` +
			`"labels":{"env":"prod","n":1},"agent_id":"a","expect":"deny","expect_rule":"r"},{"target":"least"}]}`,
		`
# a comment
cases:
  - name: all
    kind: llm_call
    target: gpt
    args:
      n: 9007199254740993
      s: 😀
      l: [true, null, 1.50]
    labels: {env: prod, n: 1}
    agent_id: a
    expect: deny
    expect_rule: r
  - target: least
    name:
`,
	} {
		got, err := policy.ParseCases([]byte(src))
		if err != nil {
			t.Errorf("ParseCases(%s) = %v", src, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseCases(%s) (-want +got)\n%s", src, diff)
		}
	}
	for _, src := range []string{"[]", "cases: []", `{"cases":[]}`} {
		if got, err := policy.ParseCases([]byte(src)); err != nil || len(got) != 0 {
			t.Errorf("ParseCases(%s) = %v, %v, want no case", src, got, err)
		}
	}
}

func TestParseCasesProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"", "line 1, column 1: cases: the text is empty"},
		{"5", `line 1, column 1: cases: must be a list of cases, not "5"`},
		{"case: []", "line 1, column 1: case: unknown key, did you mean cases?\nline 1, column 1: cases: is missing: a list of cases"},
		{"cases: 5", `line 1, column 8: cases: must be a list of cases, not "5"`},
		{"- 5", `line 1, column 3: cases[0]: must be a mapping of keys to values, not "5"`},
		{"- {name: x}", "line 1, column 3: cases[0].target: is missing: the tool, model or step name to try"},
		{"- {target: }", "line 1, column 12: cases[0].target: needs a value: a text"},
		{"- {target: t, kind: tool}", `line 1, column 21: cases[0].kind: unknown value "tool", did you mean tool_call?`},
		{"- {target: t, expect: denied}", `line 1, column 23: cases[0].expect: unknown value "denied"; known are allow, deny, require_approval`},
		{"- {target: t, arg: {}}", "line 1, column 15: cases[0].arg: unknown key, did you mean args?"},
		{"- {target: t, decision: deny}", "line 1, column 15: cases[0].decision: unknown key; known are name, kind, target, args, labels, agent_id, expect, expect_rule"},
		{"- {target: t, args: {a: 0x1f}}", "line 1, column 25: cases[0].args.a: 0x1f is not a number as JSON writes it; quote it if a text is meant"},
		{"- {target: t, labels: {a: [b]}}", "line 1, column 27: cases[0].labels.a: must be a text, not a list"},
		{"- &a {target: t}\n- *a", "line 2, column 3: cases: alias *a is not supported: write the value out"},
		{`[{"target":"t","labels":{"b":[1],"a":{}}},{"name":"x"}]`, "cases[0].labels.b: must be a text, not a list\ncases[0].labels.a: must be a text, not a mapping\ncases[1].target: is missing: the tool, model or step name to try"},
		{`[{"target":"t"`, "line 1, column 1: cases: not valid YAML: did not find expected ',' or '}'; check that the brackets around this line are closed"},
	} {
		_, err := policy.ParseCases([]byte(c.src))
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("ParseCases(%q)\n%s", c.src, cmp.Diff(strings.Split(c.want, "\n"), strings.Split(got, "\n")))
		}
	}
}

// TestCasesRoundTrip: a case that was written as YAML or JSON reads back.
func TestCasesRoundTrip(t *testing.T) {
	t.Parallel()
	cases := []policy.Case{
		{
			Name: "5", Target: "true", Kind: "local", Labels: map[string]string{"a": "1"}, Expect: "deny", ExpectRule: "null",
			Args: policy.JSON(`{"a":"true","b":true,"c":1.50,"d":[null,"null","1",1e999],"e":"\n x: y","f":{},"g":""}`),
		},
		{Target: "no args"},
		{Target: "text", Args: policy.JSON(`"5"`)},
	}
	inYAML, err := yaml.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{inYAML, inJSON} {
		got, err := policy.ParseCases(text)
		if diff := cmp.Diff(cases, got); diff != "" || err != nil {
			t.Errorf("ParseCases(%s): %v (-want +got)\n%s", text, err, diff)
		}
	}
	var fromJSON, fromYAML []policy.Case
	if err := json.Unmarshal(inJSON, &fromJSON); err != nil {
		t.Error(err)
	}
	if err := yaml.Unmarshal(inYAML, &fromYAML); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(cases, fromJSON); diff != "" {
		t.Errorf("from JSON (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(cases, fromYAML); diff != "" {
		t.Errorf("from YAML (-want +got)\n%s", diff)
	}
	var one policy.Case
	if err := json.Unmarshal([]byte(`{"target":"t","args":{"a":1,"a":2}}`), &one); err == nil {
		t.Error("duplicate names in arguments were accepted")
	}
}

// TestGuideExamples keeps docs/policy.md true: every bundle in it compiles, and
// the cases that follow one pass and leave no rule untried.
func TestGuideExamples(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	var bundle *policy.Bundle
	bundles, lists := 0, 0
	for i, block := range strings.Split(string(guide), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(text, "cases:") && !strings.Contains(text, "\ncases:") {
			if bundle, err = policy.Compile([]byte(text)); err != nil {
				t.Errorf("example %d:\n%s\n%v", i+1, text, err)
			}
			bundles++
			continue
		}
		cases, err := policy.ParseCases([]byte(text))
		if err != nil {
			t.Errorf("example %d: %v", i+1, err)
			continue
		}
		lists++
		report := policy.RunCases(bundle, "shell", cases)
		for _, r := range report.Results {
			if !r.Pass {
				t.Errorf("example %d: case %s: %s", i+1, r.Name, r.Failure)
			}
		}
		if len(report.UnexercisedRules) > 0 {
			t.Errorf("example %d: no case tries %v", i+1, report.UnexercisedRules)
		}
	}
	if bundles < 5 || lists < 5 {
		t.Errorf("found %d bundles and %d lists of cases in the guide", bundles, lists)
	}
}
