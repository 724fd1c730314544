package printer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Cells is how many columns of a terminal the text takes. It must be clean.
func Cells(s string) int {
	n := 0
	joined := false
	for i, r := range s {
		if r < utf8.RuneSelf {
			n++
			joined = false
			continue
		}
		if !joined || i == 0 {
			n += runeCells(r)
		}
		joined = r == '\u200d' // what follows a joiner is drawn into the same place
	}
	return n
}

func runeCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || (r >= 0xfe00 && r <= 0xfe0f) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	case width.Neutral, width.EastAsianAmbiguous, width.EastAsianNarrow, width.EastAsianHalfwidth:
	}
	return 1
}

// Cut shortens text to so many columns, with an ellipsis in the last one.
func Cut(s string, cells int) string {
	if cells <= 0 {
		return ""
	}
	if len(s) <= cells || Cells(s) <= cells {
		return s
	}
	n := 0
	for i, r := range s {
		w := 1
		if r >= utf8.RuneSelf {
			w = runeCells(r)
		}
		if n+w > cells-1 {
			return s[:i] + "…"
		}
		n += w
	}
	return s
}

// pad fills text up with spaces.
func pad(s string, cells int, right bool) string {
	n := cells - Cells(s)
	if n <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}
