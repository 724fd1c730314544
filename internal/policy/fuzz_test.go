package policy_test

import (
	"errors"
	"os"
	"testing"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
)

// FuzzCompile: any text gives a bundle or problems that say where and what, and
// never a panic.
func FuzzCompile(f *testing.F) {
	for _, file := range []string{"testdata/policy20.yaml", "testdata/broken.yaml"} {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, s := range []string{
		"", "{}", "- &a [*a]", "<<: *x", "a:\n  - b\n  # x\n# y\n - c\n", "? a\n: b", "!!binary x", "--- |\n x\n...\n---\n", "\xef\xbb\xbf", "%TAG ! x\n---\n!a b",
		rule("arguments: {/a/0: {gt: 1e99, equals: [1, {a: ~}]}}, targets: ['[!a-z]?*', x]"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		_, _ = policy.ParseCases(src)
		b, err := policy.Compile(src)
		if err != nil {
			var invalid *policy.Invalid
			if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
				t.Fatalf("Compile(%q) = %v, want problems", src, err)
			}
			for _, p := range invalid.Problems {
				if p.Field == "" || p.Problem == "" || p.Line < 1 || p.Column < 1 {
					t.Fatalf("Compile(%q): problem %+v lacks something", src, p)
				}
			}
			return
		}
		if b.Digest() != kernel.Sum(src) || string(b.Source()) != string(src) {
			t.Fatalf("Compile(%q) keeps another text", src)
		}
		for _, target := range []string{"", "a", "fs_write_x", "shell_exec", "/é"} {
			got := b.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: target, Args: []byte(`{"a":[1,"x",{"b":null}],"path":"/etc/x"}`)})
			if got.Rule == "" || got.Action < kernel.Allow || got.Action > kernel.RequireApproval || got.Action == kernel.Deny && got.Reason == "" {
				t.Fatalf("Compile(%q): ruling %+v of %q", src, got, target)
			}
		}
	})
}

// FuzzEvaluate tries patterns and predicates on calls, also with arguments that
// were never checked.
func FuzzEvaluate(f *testing.F) {
	f.Add("fs_*", "fs_write", "equals", "x", []byte(`{"a":"x"}`))
	f.Add("[!a-z]*?x", "-éx", "gte", "1e5", []byte(`{"a":1.0e+5}`))
	f.Add(`\**[]-]`, "*]", "regex", "(?i)^a+$", []byte(`{"a":{"b":["A"]}}`))
	f.Add("*a*b*", "ab", "one_of", "[1]", []byte(`{"a":[1`))
	f.Add("a?", "a", "lt", "-0", []byte(`{"a":-}`))
	f.Fuzz(func(t *testing.T, pattern, target, op, operand string, args []byte) {
		if len(pattern)+len(operand) > 1000 {
			return
		}
		text := func(s string) string { return string(canonjson.AppendString(nil, s)) }
		for _, operand := range []string{text(operand), "[" + text(operand) + "]", operand} {
			b, err := policy.Compile([]byte(rule("targets: [" + text(pattern) + ", x], arguments: {a: {" + text(op) + ": " + operand + "}, /a/b: {exists: false}}")))
			if err != nil {
				continue
			}
			call := policy.Call{Kind: kernel.ToolCall, Target: target, Args: args}
			once := b.Evaluate(call)
			if canonjson.Check(args) != nil {
				continue
			}
			call.Args = canonjson.AppendChecked(nil, args)
			if again := b.Evaluate(call); again.Rule != once.Rule {
				t.Fatalf("{%s: %s} rules %s on %s, but %s on its canonical form", op, operand, once.Rule, args, again.Rule)
			}
		}
	})
}
