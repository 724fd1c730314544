package printer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean shows every character that could act on a terminal, or hide or reorder
// what stands beside it, as an escape: control characters, line and tabulator
// included, bidirectional controls, and invisible format characters.
func Clean(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100 && hostile(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hostile(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// Lines is Clean for text of several lines, whose breaks stay.
func Lines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = Clean(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

func harmless(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if hostile(r) || (r == utf8.RuneError && n == 1) {
			return false
		}
		i += n
	}
	return true
}

// hostile reports whether a character must not reach a terminal as it is.
// Joiners stay: scripts and emoji need them.
func hostile(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f:
		return false
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r == '\u200c', r == '\u200d':
		return false
	case r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

func escapeRune(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// cleanJSON writes the hostile characters of a JSON text as JSON escapes. They
// can only stand inside strings, so the value stays the same.
func cleanJSON(b []byte) []byte {
	if harmlessJSON(b) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == '\n' || !hostile(r) {
			out = append(out, b[i:i+n]...)
		} else if r > 0xffff {
			hi, lo := surrogates(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}

func harmlessJSON(b []byte) bool {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r != '\n' && hostile(r) {
			return false
		}
		i += n
	}
	return true
}

func surrogates(r rune) (hi, lo rune) {
	r -= 0x10000
	return 0xd800 + (r>>10)&0x3ff, 0xdc00 + r&0x3ff
}
