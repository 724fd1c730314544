// Package text measures, cuts and disarms text for a screen of fixed cells.
// Whatever comes from outside passes [Clean] before it is drawn. All widths are
// in terminal cells; clusters are never cut in two.
package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
)

// maxMarks is how many combining marks may follow one another: more than any
// script needs, too few to draw over the lines above and below.
const maxMarks = 4

// Clean shows what could act on a terminal, or hide or reorder what stands
// beside it, as escapes: control characters, bidirectional controls, invisible
// characters, and heaps of combining marks.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	s = printer.Clean(s)
	var b strings.Builder
	marks := 0
	for _, r := range s {
		zero := r >= 0x300 && ansi.StringWidth(string(r)) == 0
		if !zero {
			marks = 0
		} else if marks++; marks > maxMarks {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		if invisible(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Disarmed reports whether Clean changes the text.
func Disarmed(s string) bool { return Clean(s) != s }

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// invisible are letters and marks that draw nothing and are no format
// characters by their category.
func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return r >= 0x180b && r <= 0x180f
}

// Width is how many cells the text takes; escape sequences take none.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Cut shortens text to w cells, with an ellipsis in the last one.
func Cut(s string, w int) string {
	switch {
	case w <= 0:
		return ""
	case len(s) <= w && plain(s), Width(s) <= w:
		return s
	case plain(s):
		return s[:w-1] + "…"
	}
	return ansi.Truncate(s, w, "…")
}

// Fit cuts or fills text to exactly w cells.
func Fit(s string, w int) string {
	s = Cut(s, w)
	if n := w - Width(s); n > 0 {
		s += strings.Repeat(" ", n)
	}
	return s
}

// Right is Fit with the text at the right.
func Right(s string, w int) string {
	s = Cut(s, w)
	if n := w - Width(s); n > 0 {
		s = strings.Repeat(" ", n) + s
	}
	return s
}

// Between puts left and right at the two ends of w cells; right wins.
func Between(left, right string, w int) string {
	right = Cut(right, w)
	return Fit(left, w-Width(right)) + right
}

// Hard breaks clean text into lines of at most w cells, wherever they end.
// There is always one line.
func Hard(s string, w int) []string {
	if w < 1 {
		w = 1
	}
	if Width(s) <= w {
		return []string{s}
	}
	if plain(s) {
		var out []string
		for len(s) > w {
			out, s = append(out, s[:w]), s[w:]
		}
		return append(out, s)
	}
	var out []string
	for _, line := range strings.Split(ansi.Hardwrap(s, w, true), "\n") {
		if Width(line) > w { // one cluster that is wider than the line
			line = Cut(line, w)
		}
		out = append(out, line)
	}
	return out
}

// Words breaks clean text between words where it can.
func Words(s string, w int) []string {
	if Width(s) <= w {
		return []string{s}
	}
	var out []string
	for _, line := range strings.Split(ansi.Wrap(s, max(w, 1), ""), "\n") {
		out = append(out, Cut(line, max(w, 1)))
	}
	return out
}

// Over draws top over base from column x on. Both are one line; base is taken
// as w cells wide.
func Over(base, top string, x, w int) string {
	n := Width(top)
	left := Fit(ansi.Cut(base, 0, x), x)
	if rest := w - x - n; rest > 0 {
		return left + Reset + top + Reset + Fit(ansi.Cut(base, x+n, w), rest)
	}
	return left + Reset + top
}

// Reset ends all attributes.
const Reset = "\x1b[0m"

// Runes is how many runes the text has.
func Runes(s string) int { return utf8.RuneCountInString(s) }
