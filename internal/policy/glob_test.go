package policy_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/policy"
)

// matchesTarget tries a pattern on a target. JSON strings are YAML, too.
func matchesTarget(t *testing.T, pattern, target string) bool {
	t.Helper()
	return matches(t, "target: "+string(canonjson.AppendString(nil, pattern)), policy.Call{Target: target})
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"abc", []string{"abc"}, []string{"", "ab", "abcd", "Abc", "xabc"}},
		{"*", []string{"", "a", "a/b", "é"}, nil},
		{"**", []string{"", "a/b"}, nil},
		{"a*", []string{"a", "ab", "a/b/c"}, []string{"", "b", "ba"}},
		{"*a", []string{"a", "ba", "b/a"}, []string{"", "ab"}},
		{"*a*", []string{"a", "bab", "/a/"}, []string{"", "b"}},
		{"a*c", []string{"ac", "abc", "a/c", "acc"}, []string{"a", "c", "acb"}},
		{"*ab", []string{"ab", "aab", "abab"}, []string{"aba"}},
		{"a*b*c", []string{"abc", "aXbYc", "abbcc", "a/b/c"}, []string{"acb", "ab", "abcd"}},
		{"*a*b*", []string{"ab", "xaxbx"}, []string{"ba"}},
		{"?", []string{"a", "/", "é", "😀"}, []string{"", "ab"}},
		{"a?c", []string{"abc", "a/c", "aéc"}, []string{"ac", "abbc"}},
		{"??*", []string{"ab", "abc"}, []string{"a", ""}},
		{"*?", []string{"a", "abc"}, []string{""}},
		{"[abc]", []string{"a", "b", "c"}, []string{"", "d", "ab"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x", "Ax"}},
		{"[a-cx-z]", []string{"a", "y"}, []string{"m"}},
		{"[!a-c]", []string{"d", "/", "é"}, []string{"a", "", "dd"}},
		{"[^a-c]", []string{"d", "^"}, []string{"a"}},
		{"[a^]", []string{"a", "^"}, []string{"b"}},
		{"[a!]", []string{"!"}, []string{"b"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{"[-a]", []string{"a", "-"}, []string{"b"}},
		{"[*?]", []string{"*", "?"}, []string{"a"}},
		{"[[]", []string{"["}, []string{"]"}},
		{`[\]]`, []string{"]"}, []string{"[", `\`}},
		{`[\!a]`, []string{"!", "a"}, []string{"b"}},
		{`[a\-c]`, []string{"a", "-", "c"}, []string{"b"}},
		{"[à-ü]", []string{"é"}, []string{"e"}},
		{"a]", []string{"a]"}, []string{"a"}},
		{`a\*`, []string{"a*"}, []string{"ab", `a\*`}},
		{`\[x\]`, []string{"[x]"}, []string{"x"}},
		{`\\`, []string{`\`}, []string{`\\`}},
		{"gpt-*-pro", []string{"gpt-9-pro", "gpt--pro", "gpt-9-mini-pro"}, []string{"gpt-pro", "gpt-9"}},
		{"*[0-9]*", []string{"a1b", "1"}, []string{"ab"}},
		{"*a?c", []string{"abc", "aacaXc"}, []string{"abcd", "ac"}},
	} {
		for _, target := range c.yes {
			if !matchesTarget(t, c.pattern, target) {
				t.Errorf("%q does not match %q, but should", c.pattern, target)
			}
		}
		for _, target := range c.no {
			if matchesTarget(t, c.pattern, target) {
				t.Errorf("%q matches %q, but should not", c.pattern, target)
			}
		}
	}
}

// TestGlobIsNotExponential: a matcher that tries every split would not end.
func TestGlobIsNotExponential(t *testing.T) {
	t.Parallel()
	start := time.Now()
	if matchesTarget(t, strings.Repeat("a*", 200)+"?b", strings.Repeat("a", 20_000)) {
		t.Error("matches, but should not")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// naive is the definition of a pattern of a, b, *, ? and [ab], [!a], read aloud.
func naive(pattern, target []rune) bool {
	if len(pattern) == 0 {
		return len(target) == 0
	}
	if pattern[0] == '*' {
		return naive(pattern[1:], target) || len(target) > 0 && naive(pattern, target[1:])
	}
	if len(target) == 0 {
		return false
	}
	size, ok := 1, pattern[0] == '?' || pattern[0] == target[0]
	if pattern[0] == '[' {
		size = strings.IndexRune(string(pattern), ']') + 1
		set := string(pattern[1 : size-1])
		ok = strings.ContainsRune(set, target[0]) != (set[0] == '!')
	}
	return ok && naive(pattern[size:], target[1:])
}

func TestGlobAgreesWithNaiveMatcher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "/", "*", "*", "?", "[ab]", "[!a]"}), 1, 8).Draw(r, "pattern")
		pattern := strings.Join(pieces, "")
		b := compile(t, rule("target: "+string(canonjson.AppendString(nil, pattern))))
		for range 8 {
			target := rapid.StringMatching(`[ab/]{0,10}`).Draw(r, "target")
			got := b.Evaluate(policy.Call{Target: target}).Rule == "r"
			if want := naive([]rune(pattern), []rune(target)); got != want {
				r.Fatalf("%q matches %q: %t, want %t", pattern, target, got, want)
			}
		}
	})
}
