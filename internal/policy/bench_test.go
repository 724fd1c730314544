package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
)

var calls = []struct {
	name string
	call policy.Call
}{
	{"last rule", policy.Call{Kind: kernel.ToolCall, Target: "bench", Args: []byte(`{"i":17,"q":"kernel"}`), AgentID: "shell"}},
	{"last rule by pattern", policy.Call{Kind: kernel.ToolCall, Target: "bench_17", Args: []byte(`{"i":17}`), AgentID: "shell"}},
	{"two regexes", policy.Call{Kind: kernel.ToolCall, Target: "shell_exec", Args: []byte(`{"command":"ls -la /tmp","cwd":"/home"}`)}},
	{"one_of", policy.Call{Kind: kernel.ToolCall, Target: "pay", Args: []byte(`{"amount":12.5,"currency":"GBP","to":"x"}`)}},
	{"llm", policy.Call{Kind: kernel.LLMCall, Target: "gpt-9-mini", Args: []byte(`{"messages":[]}`)}},
	{"no rule", policy.Call{Kind: kernel.ToolCall, Target: "something_else", Args: []byte(`{}`)}},
}

func BenchmarkEvaluate(b *testing.B) {
	bundle := policy20(b)
	for _, c := range calls {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bundle.Evaluate(c.call)
			}
		})
	}
}

// BenchmarkEvaluateRules is what a ruling costs with the number of rules; the
// last one of them matches.
func BenchmarkEvaluateRules(b *testing.B) {
	for _, rules := range []int{20, 200, policy.MaxRules} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			var src strings.Builder
			src.WriteString("rules:\n")
			for i := range rules {
				fmt.Fprintf(&src, "- {id: r%d, when: {targets: [tool_%d, other_%d]}, then: {decision: allow}}\n", i, i, i)
			}
			bundle := compile(b, src.String())
			call := policy.Call{Kind: kernel.ToolCall, Target: fmt.Sprintf("other_%d", rules-1)}
			b.ReportAllocs()
			for b.Loop() {
				bundle.Evaluate(call)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	src, err := os.ReadFile("testdata/policy20.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.Compile(src); err != nil {
			b.Fatal(err)
		}
	}
}
