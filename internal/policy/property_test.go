package policy_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
)

// condition draws a condition and says when it holds, in its own words.
func condition(t *rapid.T) (when string, holds func(policy.Call) bool) {
	word := func() string { return rapid.SampledFrom([]string{"a", "b", "ab", "ba"}).Draw(t, "word") }
	switch w := word(); rapid.IntRange(0, 6).Draw(t, "condition") {
	case 0:
		return "target: " + w, func(c policy.Call) bool { return c.Target == w }
	case 1:
		return "target: '" + w + "*'", func(c policy.Call) bool { return strings.HasPrefix(c.Target, w) }
	case 2:
		v := word()
		return "targets: [" + w + ", '*" + v + "', " + w + "]",
			func(c policy.Call) bool { return c.Target == w || strings.HasSuffix(c.Target, v) }
	case 3:
		return "agent_id: " + w, func(c policy.Call) bool { return c.AgentID == w }
	case 4:
		return "labels: {l: " + w + "}", func(c policy.Call) bool { return c.Labels["l"] == w }
	case 5:
		return "arguments: {x: {equals: " + w + "}}", func(c policy.Call) bool { return string(c.Args) == `{"x":"`+w+`"}` }
	default:
		return "step_kind: local", func(c policy.Call) bool { return c.Kind == kernel.Local }
	}
}

// TestRuleOrder holds the index against the definition: top to bottom, the
// first rule whose conditions all hold.
func TestRuleOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "rules")
		src := strings.Builder{}
		src.WriteString("rules:\n")
		holds := make([]func(policy.Call) bool, n)
		for i := range n {
			var when string
			when, holds[i] = condition(t)
			fmt.Fprintf(&src, "- {id: r%d, when: {%s}, then: {decision: allow}}\n", i, when)
		}
		b, err := policy.Compile([]byte(src.String()))
		if err != nil {
			t.Fatal(err)
		}
		word := rapid.SampledFrom([]string{"a", "b", "ab", "ba", "aba"})
		for range 10 {
			c := policy.Call{
				Kind:    rapid.SampledFrom([]kernel.StepKind{kernel.ToolCall, kernel.Local}).Draw(t, "kind"),
				Target:  word.Draw(t, "target"),
				AgentID: word.Draw(t, "agent"),
				Labels:  map[string]string{"l": word.Draw(t, "label")},
				Args:    []byte(`{"x":"` + word.Draw(t, "argument") + `"}`),
			}
			want := "default"
			if c.Kind == kernel.Local {
				want = "local"
			}
			for i := n - 1; i >= 0; i-- {
				if holds[i](c) {
					want = fmt.Sprintf("r%d", i)
				}
			}
			if got := b.Evaluate(c).Rule; got != want {
				t.Fatalf("%s%+v is ruled by %s, want %s", src.String(), c, got, want)
			}
		}
	})
}

// TestNumbersCompareExactly holds the comparison against math/big.
func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		x, y := number.Draw(t, "x"), number.Draw(t, "y")
		if rapid.Bool().Draw(t, "equal") { // the same number in other words
			rat, ok := new(big.Rat).SetString(x)
			if !ok {
				t.Fatalf("big.Rat refuses %s", x)
			}
			if y = rat.FloatString(110); rat.Sign() == 0 {
				y = "-0.0e7"
			}
		}
		a, okA := new(big.Rat).SetString(x)
		b, okB := new(big.Rat).SetString(y)
		if !okA || !okB {
			t.Fatalf("big.Rat refuses %s or %s", x, y)
		}
		order := a.Cmp(b)
		for op, want := range map[string]bool{"gt": order > 0, "gte": order >= 0, "lt": order < 0, "lte": order <= 0} {
			bundle, err := policy.Compile([]byte(rule("arguments: {n: {" + op + ": " + y + "}}")))
			if err != nil {
				t.Fatal(err)
			}
			got := bundle.Evaluate(policy.Call{Target: "t", Args: []byte(`{"n":` + x + `}`)}).Rule == "r"
			if got != want {
				t.Fatalf("%s %s %s is %t, want %t", x, op, y, got, want)
			}
		}
	})
}

// TestEqualsFindsAnyValue: a value that is written into a bundle as JSON, which
// is YAML, equals itself, whatever it is.
func TestEqualsFindsAnyValue(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ -~é€😀\t\n]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) any { return text.Draw(t, "text") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "int") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "bool") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(text, 0, 4).Draw(t, "list") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.MapOfN(text, rapid.Float64(), 0, 4).Draw(t, "object") }),
		).Draw(t, "value")
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		inYAML := string(b)
		if s, ok := value.(string); ok {
			inYAML = string(canonjson.AppendString(nil, s))
		}
		bundle, err := policy.Compile([]byte(rule("arguments: {v: {equals: " + inYAML + "}}")))
		if err != nil {
			t.Fatalf("equals: %s\n%v", inYAML, err)
		}
		args := append(append([]byte(`{"v":`), b...), '}')
		if got := bundle.Evaluate(policy.Call{Target: "t", Args: args}).Rule; got != "r" {
			t.Fatalf("equals: %s does not hold for %s", inYAML, args)
		}
	})
}
