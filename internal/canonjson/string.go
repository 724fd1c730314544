package canonjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends s as a JSON string, escaped as RFC 8785 does. A byte of
// s that is not part of valid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		if isPlain(s[i]) {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		dst = append(dst, s[done:i]...)
		dst = appendRune(dst, r)
		i += size
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// String is the content of a checked value that is a string, unescaped.
func String(b []byte) (string, bool) {
	content, ok := Content(b, nil)
	return string(content), ok
}

// Content is [String] without a copy: a part of b when nothing in it is
// escaped, else written over scratch.
func Content(b, scratch []byte) ([]byte, bool) {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '"' {
		return nil, false
	}
	raw := rawText(b, i)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	return unescape(scratch[:0], raw), true
}

// unescape appends the content of a string whose raw form is given.
func unescape(dst, raw []byte) []byte {
	for len(raw) > 0 {
		plain := bytes.IndexByte(raw, '\\')
		if plain < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:plain]...)
		r, size := decode(raw[plain:])
		dst = utf8.AppendRune(dst, r)
		raw = raw[plain+size:]
	}
	return dst
}

// appendCanonical appends the canonical form of a string whose raw form is given.
func appendCanonical(dst, raw []byte) []byte {
	dst = append(dst, '"')
	for len(raw) > 0 {
		plain := bytes.IndexByte(raw, '\\')
		if plain < 0 {
			dst = append(dst, raw...)
			break
		}
		dst = append(dst, raw[:plain]...)
		r, size := decode(raw[plain:])
		dst = appendRune(dst, r)
		raw = raw[plain+size:]
	}
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

// appendRune appends r as the content of a canonical string has it
// (RFC 8785 §3.2.2.2).
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r < 0x20 {
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
	}
	return utf8.AppendRune(dst, r)
}

// decode is the first character of the raw form of a string, and how many
// bytes write it. raw must not be empty.
func decode(raw []byte) (rune, int) {
	if raw[0] != '\\' {
		return utf8.DecodeRune(raw)
	}
	if len(raw) == 1 {
		return utf8.RuneError, 1
	}
	switch c := raw[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := escapedUnit(raw, 0)
		if !ok {
			return utf8.RuneError, len(raw)
		}
		if low, ok := escapedUnit(raw, 6); ok && utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6 // AppendRune writes an unpaired surrogate as U+FFFD
	default:
		return rune(c), 2
	}
}

// compareNames orders the raw forms of two strings by the UTF-16 code units of
// their content (RFC 8785 §3.2.3).
func compareNames(x, y []byte) int {
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] && x[i] != '\\' {
		i++
	}
	switch {
	case i == len(x) || i == len(y):
		return len(x) - len(y)
	case x[i] == '\\' || y[i] == '\\':
		return compareEscaped(x[i:], y[i:])
	}
	return unitOrder(x[i]) - unitOrder(y[i])
}

// unitOrder orders the first differing bytes of two UTF-8 texts as their UTF-16
// code units are: characters beyond U+FFFF (four bytes, from 0xf0) are
// surrogates there, below U+E000 to U+FFFF (which start with 0xee and 0xef).
func unitOrder(c byte) int {
	if c == 0xee || c == 0xef {
		return int(c) + 0x100
	}
	return int(c)
}

// compareEscaped is [compareNames] for texts with escape sequences. Both start
// at a character's first byte or differ from there on.
func compareEscaped(x, y []byte) int {
	for len(x) > 0 && len(y) > 0 {
		r, n := decode(x)
		q, m := decode(y)
		if r != q {
			return runeOrder(r) - runeOrder(q)
		}
		x, y = x[n:], y[m:]
	}
	return len(x) - len(y)
}

func runeOrder(r rune) int {
	if 0xe000 <= r && r <= 0xffff {
		return int(r) + 0x110000
	}
	return int(r)
}
