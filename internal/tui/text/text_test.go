package text_test

import (
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

func TestCleanDisarms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"plain":     {"send_email", "send_email"},
		"escape":    {"\x1b[2Jok", `\x1b[2Jok`},
		"osc":       {"\x1b]52;c;AA==\a", `\x1b]52;c;AA==\x07`},
		"c1":        {"\u009b31m", `\x9b31m`},
		"bidi":      {"a\u202egnp.exe", `a\u202egnp.exe`},
		"isolate":   {"\u2066x\u2069", `\u2066x\u2069`},
		"tag":       {"a\U000e0041", `a\U000e0041`},
		"filler":    {"a\u3164b", `a\u3164b`},
		"braille":   {"\u2800", `\u2800`},
		"lines":     {"a\r\nb", `a\r\nb`},
		"broken":    {"a\xffb", `a\xffb`},
		"cjk":       {"承認", "承認"},
		"combining": {"e\u0301", "e\u0301"},
		"zalgo":     {"e\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301\u0301\\u0301"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := text.Clean(tc.in); got != tc.want {
				t.Errorf("Clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	samples := []string{
		"", "a", "send_email", "承認してください", "e\u0301e\u0301e\u0301", "👩‍👩‍👧‍👦x", "שלום", "한국어 text", "ｆｕｌｌ", "\x1b[31mred\x1b[0m",
	}
	for _, s := range samples {
		for w := range 24 {
			if got := text.Width(text.Fit(s, w)); got != w {
				t.Errorf("Fit(%q, %d) is %d cells wide", s, w, got)
			}
			if got := text.Width(text.Right(s, w)); got != w {
				t.Errorf("Right(%q, %d) is %d cells wide", s, w, got)
			}
			for _, line := range text.Hard(s, w) {
				if got := text.Width(line); got > max(w, 1) {
					t.Errorf("Hard(%q, %d) has a line of %d cells: %q", s, w, got, line)
				}
			}
			if got := text.Width(text.Over(text.Fit(s, 24), text.Fit("box", 5), min(w, 19), 24)); got != 24 {
				t.Errorf("Over(%q at %d) is %d cells wide", s, w, got)
			}
		}
	}
}

func TestHardLosesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("abc", 40), strings.Repeat("承認", 20), "a b  c   d " + strings.Repeat("x", 30)} {
		if got := strings.Join(text.Hard(s, 7), ""); got != s {
			t.Errorf("Hard lost text:\n got %q\nwant %q", got, s)
		}
	}
}
