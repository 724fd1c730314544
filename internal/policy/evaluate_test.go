package policy_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
)

// matches reports whether the only rule of a bundle matches.
func matches(t *testing.T, when string, c policy.Call) bool {
	t.Helper()
	if c.Kind == 0 {
		c.Kind = kernel.ToolCall
	}
	if err := canonjson.Check(c.Args); c.Args != nil && err != nil {
		t.Fatalf("arguments %s: %v", c.Args, err)
	}
	return compile(t, rule(when)).Evaluate(c).Rule == "r"
}

func TestNoBundleIsPermissive(t *testing.T) {
	t.Parallel()
	var b *policy.Bundle
	want := kernel.Ruling{Rule: "permissive", Action: kernel.Allow}
	if diff := cmp.Diff(want, b.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: "rm"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !b.Digest().IsZero() || b.Source() != nil || b.Rules() != nil {
		t.Errorf("digest %s, source %q, rules %v of no bundle, want none", b.Digest(), b.Source(), b.Rules())
	}
}

func TestFallthrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src    string
		kind   kernel.StepKind
		rule   string
		action kernel.Action
		reason string
	}{
		{"{}", kernel.ToolCall, "default", kernel.Deny, "no rule allows this"},
		{"{}", kernel.LLMCall, "default", kernel.Deny, "no rule allows this"},
		{"{}", kernel.Local, "local", kernel.Allow, ""},
		{"default_action: deny", kernel.ToolCall, "default", kernel.Deny, "no rule allows this"},
		{"default_action: deny", kernel.Local, "local", kernel.Allow, ""},
		{"default_action: allow", kernel.ToolCall, "default", kernel.Allow, ""},
		{"default_action: allow", kernel.Local, "local", kernel.Allow, ""},
		{"rules: [{id: x, when: {step_kind: local}, then: {decision: deny, reason: no}}]", kernel.Local, "x", kernel.Deny, "no"},
		{"rules: [{id: x, then: {decision: deny}}]", kernel.Local, "x", kernel.Deny, "policy_denied"},
		{"rules: [{id: x, when: {step_kind: local}, then: {decision: deny}}]", kernel.ToolCall, "default", kernel.Deny, "no rule allows this"},
	} {
		b := compile(t, c.src)
		got := b.Evaluate(policy.Call{Kind: c.kind, Target: "t"})
		want := kernel.Ruling{Rule: c.rule, Action: c.action, Reason: c.reason, Bundle: b.Digest()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s (-want +got)\n%s", c.src, c.kind, diff)
		}
	}
}

func TestFirstMatchWins(t *testing.T) {
	t.Parallel()
	b := compile(t, `
rules:
  - {id: globs, when: {targets: ["a*", never]}, then: {decision: allow}}
  - {id: word, when: {targets: [abc, b, b]}, then: {decision: allow}}
  - {id: both, when: {targets: [b, "c*", c]}, then: {decision: allow}}
  - {id: rest, then: {decision: allow}}
  - {id: unreachable, when: {target: d}, then: {decision: allow}}
`)
	for target, want := range map[string]string{"abc": "globs", "never": "globs", "b": "word", "c": "both", "cc": "both", "d": "rest", "": "rest"} {
		if got := b.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: target}).Rule; got != want {
			t.Errorf("%q is ruled by %s, want %s", target, got, want)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	call := policy.Call{
		Kind: kernel.ToolCall, Target: "fs_write_file", AgentID: "shell", Args: []byte(`{"path":"/etc/passwd"}`),
		Labels: map[string]string{"env": "prod", "tier": "1", "empty": ""},
	}
	for _, c := range []struct {
		when string
		want bool
	}{
		{"", true},
		{"target: fs_write_file", true},
		{"target: fs_write_*", true},
		{"target: fs_read_*", false},
		{"targets: [a, fs_write_file]", true},
		{"targets: [a, 'fs_*']", true},
		{"targets: [a, b]", false},
		{"target: 'fs_*', targets: ['*_file']", true}, // all given fields must match
		{"target: 'fs_*', targets: [fs_write_file]", true},
		{"target: 'db_*', targets: [fs_write_file]", false},
		{"target: fs_write_file, targets: [a]", false},
		{"step_kind: tool_call", true},
		{"step_kind: llm_call", false},
		{"step_kind: local", false},
		{"agent_id: shell", true},
		{"agent_id: Shell", false},
		{"agent_id: shel", false},
		{"agent_ids: [a, shell]", true},
		{"agent_ids: [a, b]", false},
		{"agent_id: shell, agent_ids: [a, shell]", true},
		{"agent_id: a, agent_ids: [a, shell]", false},
		{"labels: {env: prod}", true},
		{"labels: {env: prod, tier: 1}", true},
		{"labels: {env: prod, tier: 2}", false},
		{"labels: {env: Prod}", false},
		{"labels: {region: eu}", false},
		{"labels: {empty: ''}", true},
		{"labels: {absent: ''}", false},
		{"arguments: {path: {prefix: /etc/}}", true},
		{"arguments: {path: {prefix: /usr/}}", false},
		{"target: 'fs_*', arguments: {path: {prefix: /etc/}}, labels: {env: prod}, agent_id: shell, step_kind: tool_call", true},
		{"target: 'fs_*', arguments: {path: {prefix: /etc/}}, labels: {env: prod}, agent_id: shell, step_kind: llm_call", false},
	} {
		if got := matches(t, c.when, call); got != c.want {
			t.Errorf("{%s} matches: %t, want %t", c.when, got, c.want)
		}
	}
}

func TestPredicates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arg       string // the argument a; empty: it is missing
		predicate string
		want      bool
	}{
		// A string counts by its content.
		{`"5"`, "equals: 5", true},
		{`5`, "equals: 5", true},
		{`5`, "equals: '5'", true},
		{`"x y"`, "equals: x y", true},
		{`"X"`, "equals: x", false},
		{`"\u0078"`, "equals: x", true},
		{`"a\"b"`, `equals: 'a"b'`, true},
		{`""`, "equals: ''", true},
		{`"😀"`, `equals: "\U0001F600"`, true},
		{`"\ud83d\ude00"`, "equals: 😀", true},
		// A number or boolean counts by its JSON text: no arithmetic.
		{`5.0`, "equals: 5", false},
		{`5.0`, "equals: 5.0", true},
		{`1e3`, "equals: 1000", false},
		{`9007199254740993`, "equals: 9007199254740993", true},
		{`9007199254740992`, "equals: 9007199254740993", false},
		{`-0`, "equals: -0", true},
		{`1e999`, "equals: 1e999", true},
		{`true`, "equals: true", true},
		{`true`, "equals: True", true},
		{`"true"`, "equals: true", true},
		{`true`, "equals: 'True'", false},
		{`"yes"`, "equals: yes", true},
		{`false`, "equals: true", false},
		{`null`, "equals: null", true},
		{`null`, "equals: ~", true},
		{`"null"`, "equals: null", true},
		{`"2024-01-01"`, "equals: 2024-01-01", true},
		// An object or array counts by its canonical JSON.
		{`{"b": 1, "a": [true, "x"]}`, `equals: {a: [true, x], b: 1}`, true},
		{`{"b":1,"a":2}`, `equals: '{"a":2,"b":1}'`, true},
		{`{"b":1}`, `equals: {b: 1.0}`, false},
		{`[ 1, 2 ]`, `equals: [1, 2]`, true},
		{`[2,1]`, `equals: [1, 2]`, false},
		{`["1"]`, `equals: [1]`, false},
		{`{"k":"a\u0062"}`, `contains: '"ab"'`, true},
		{`["x","y"]`, `contains: '"y"'`, true},
		{`["x", "y"]`, `prefix: '["x","y'`, true},
		{`{}`, `equals: {}`, true},
		// one_of.
		{`"EUR"`, "one_of: [EUR, USD]", true},
		{`"GBP"`, "one_of: [EUR, USD]", false},
		{`5`, "one_of: ['5', 6]", true},
		{`[1]`, "one_of: [[1], x]", true},
		// contains, prefix, suffix.
		{`"http://x.internal/"`, "contains: .internal", true},
		{`"http://x/"`, "contains: .internal", false},
		{`1234`, "contains: 23", true},
		{`true`, "prefix: tr", true},
		{`"/tmp/x"`, "prefix: /tmp/", true},
		{`"x/tmp/"`, "prefix: /tmp/", false},
		{`"a.txt"`, "suffix: .txt", true},
		{`"a.txt\n"`, "suffix: .txt", false},
		{`5`, "contains: 5", true},
		// regex searches anywhere unless it is anchored.
		{`"sudo rm -rf /"`, `regex: 'rm\s+-rf'`, true},
		{`"sudo rm"`, `regex: '^rm'`, false},
		{`"a\nrm"`, `regex: '^rm'`, false},
		{`"a\nrm"`, `regex: '(?m)^rm'`, true},
		{`"RM"`, `regex: '(?i)rm'`, true},
		{`42`, `regex: '^[0-9]+$'`, true},
		{`"a\tb"`, `regex: 'a\tb'`, true},
		// gt, gte, lt, lte compare numbers only, and exactly.
		{`5`, "gt: 4", true},
		{`5`, "gt: 5", false},
		{`5`, "gte: 5", true},
		{`5`, "lt: 6", true},
		{`5`, "lt: 5", false},
		{`5`, "lte: 5", true},
		{`"5"`, "gt: 4", false},
		{`"5"`, "lt: 6", false},
		{`true`, "gte: 0", false},
		{`null`, "gte: 0", false},
		{`[5]`, "gte: 0", false},
		{`5.0`, "gte: 5", true},
		{`5.0`, "lte: 5.00", true},
		{`1e2`, "gte: 100", true},
		{`100.000000000000000000001`, "gt: 100", true},
		{`0.1`, "gt: 0.1", false},
		{`9007199254740993`, "gt: 9007199254740992", true},
		{`-5`, "lt: -4.99", true},
		{`-5`, "gt: -5.01", true},
		{`-0`, "gte: 0", true},
		{`-0.0e5`, "lt: 0", false},
		{`0.05`, "lt: 0.5", true},
		{`0.0005e2`, "gte: 0.05", true},
		{`1e999999999`, "gt: 1e308", true},
		{`-1e999999999`, "lt: -1e308", true},
		{`1e-999999999`, "gt: 0", true},
		{`1e-999999999`, "lt: 1e-308", true},
		{`1e99999999999999999999999`, "gt: 1e999999999", true},
		{`1e-99999999999999999999999`, "lt: 1e-999999999", true},
		{`0e99999999999999999999999`, "lt: 1", true},
		{`1e1000`, "gt: 1e999", true},
		{`7`, "gt: 5, lt: 10", true},
		{`10`, "gt: 5, lt: 10", false},
		// exists; a missing argument fails everything else.
		{`null`, "exists: true", true},
		{`null`, "exists: false", false},
		{`""`, "exists: true", true},
		{``, "exists: true", false},
		{``, "exists: false", true},
		{``, "equals: ''", false},
		{``, "equals: null", false},
		{``, "contains: x", false},
		{``, "one_of: [null]", false},
		{``, "regex: '.*'", false},
		{``, "lt: 5", false},
		{``, "exists: false, equals: x", false},
		// All predicates of an argument must hold.
		{`"/tmp/a.txt"`, "prefix: /tmp/, suffix: .txt", true},
		{`"/tmp/a.sh"`, "prefix: /tmp/, suffix: .txt", false},
	} {
		args := []byte(`{"other":1}`)
		if c.arg != "" {
			args = []byte(`{"other": 1, "a": ` + c.arg + ` }`)
		}
		if got := matches(t, "arguments: {a: {"+c.predicate+"}}", policy.Call{Target: "t", Args: args}); got != c.want {
			t.Errorf("{%s} holds for %s: %t, want %t", c.predicate, c.arg, got, c.want)
		}
	}
}

func TestArgumentKeys(t *testing.T) {
	t.Parallel()
	const args = `{"to": [{"email": "a@b.c"}, {"email": "d@e.f"}], "a.b": 1, "x/y": 2, "/z": 3, "": 4, "n": {"to": 5}}`
	for _, c := range []struct {
		args, when string
		want       bool
	}{
		{args, `/to/0/email: {equals: a@b.c}`, true},
		{args, `/to/1/email: {suffix: e.f}`, true},
		{args, `/to/2/email: {exists: true}`, false},
		{args, `/to/2/email: {exists: false}`, true},
		{args, `/to: {contains: "d@e.f"}`, true},
		{args, `to: {contains: "d@e.f"}`, true},
		{args, `a.b: {equals: 1}`, true}, // a name is a name
		{args, `x/y: {equals: 2}`, true},
		{args, `/x~1y: {equals: 2}`, true},
		{args, `/~1z: {equals: 3}`, true},
		{args, `/z: {exists: true}`, false},
		{args, `/: {equals: 4}`, true},
		{args, `/n/to: {gte: 5}`, true},
		{args, `n/to: {exists: true}`, false},
		{args, `to: {exists: true}, a.b: {equals: 2}`, false},
		// Arguments that are no object have no top-level names.
		{`["v"]`, `/0: {equals: v}`, true},
		{`["v"]`, `0: {equals: v}`, false},
		{`"v"`, `a: {exists: false}`, true},
		{`null`, `a: {exists: false}`, true},
		{`null`, `a: {exists: true}`, false},
		{``, `a: {exists: false}`, true},
		{``, `a: {exists: true}`, false},
		{``, `/a/0: {exists: false}`, true},
	} {
		var b []byte
		if c.args != "" {
			b = []byte(c.args)
		}
		if got := matches(t, "arguments: {"+c.when+"}", policy.Call{Target: "t", Args: b}); got != c.want {
			t.Errorf("{%s} matches %s: %t, want %t", c.when, c.args, got, c.want)
		}
	}
}

// TestManyArguments reads more of them than fit the fast path.
func TestManyArguments(t *testing.T) {
	t.Parallel()
	var src, args strings.Builder
	src.WriteString("rules:\n")
	args.WriteString(`{"z":0`)
	for i := range 30 {
		fmt.Fprintf(&src, "- {id: r%d, when: {arguments: {a%d: {equals: hit}, z: {equals: 0}}}, then: {decision: allow}}\n", i, i)
		fmt.Fprintf(&args, `,"a%d":"%s"`, i, map[bool]string{true: "hit", false: "miss"}[i == 27])
	}
	args.WriteString("}")
	if got := compile(t, src.String()).Evaluate(policy.Call{Kind: kernel.ToolCall, Target: "t", Args: []byte(args.String())}).Rule; got != "r27" {
		t.Errorf("ruled by %s, want r27", got)
	}
}

func TestBundleIsSafeForManyGoroutines(t *testing.T) {
	t.Parallel()
	b := policy20(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				got := b.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: "shell_exec", Args: []byte(`{"command":"ls \"x\""}`)}).Rule
				if got != "safe-shell" {
					t.Errorf("ruled by %s, want safe-shell", got)
				}
			}
		})
	}
	wg.Wait()
}

func policy20(t testing.TB) *policy.Bundle {
	t.Helper()
	src, err := os.ReadFile("testdata/policy20.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, string(src))
}

func TestPolicy20(t *testing.T) {
	t.Parallel()
	b := policy20(t)
	for _, c := range []struct {
		kind         kernel.StepKind
		target, args string
		want         string
	}{
		{kernel.ToolCall, "shell_exec", `{"command":"rm -rf /"}`, "deny-rm-root"},
		{kernel.ToolCall, "shell_exec", `{"command":"ls -la"}`, "safe-shell"},
		{kernel.ToolCall, "shell_exec", `{"command":"curl x"}`, "shell"},
		{kernel.ToolCall, "fs_edit_lines", `{"path":"/etc/passwd"}`, "fs-etc"},
		{kernel.ToolCall, "pay", `{"currency":"EUR"}`, "pay-big"},
		{kernel.ToolCall, "pay", `{"currency":"GBP"}`, "pay"},
		{kernel.ToolCall, "http_get", `{"url":"http://x.internal/"}`, "http-int"},
		{kernel.ToolCall, "http_get", `{"url":"http://x/"}`, "http"},
		{kernel.LLMCall, "gpt-9-pro", `{}`, "gpt-big"},
		{kernel.LLMCall, "gpt-9", `{}`, "llm"},
		{kernel.ToolCall, "rollback", `{}`, "deploy"},
		{kernel.ToolCall, "bench_1", `{}`, "search"},
		{kernel.ToolCall, "bench", `{}`, "search"},
		{kernel.ToolCall, "other", `{}`, "default"},
		{kernel.Local, "other", `{}`, "local"},
	} {
		if got := b.Evaluate(policy.Call{Kind: c.kind, Target: c.target, Args: []byte(c.args)}).Rule; got != c.want {
			t.Errorf("%s %s is ruled by %s, want %s", c.target, c.args, got, c.want)
		}
	}
}
