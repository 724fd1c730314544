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

func BenchmarkEvaluateThousandRules(b *testing.B) {
	var src strings.Builder
	src.WriteString("rules:\n")
	for i := range policy.MaxRules {
		fmt.Fprintf(&src, "- {id: r%d, when: {targets: [tool_%d, other_%d]}, then: {decision: allow}}\n", i, i, i)
	}
	bundle := compile(b, src.String())
	b.ReportAllocs()
	for b.Loop() {
		bundle.Evaluate(policy.Call{Kind: kernel.ToolCall, Target: "other_999"})
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
