package canonjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string; s.i is at its opening quote.
func (s *scanner) text() bool {
	b, i := s.b, s.i+1
	for {
		i = skipPlain(b, i)
		if i == len(b) {
			return s.fail(i, "the text ends inside a string")
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			return true
		case c == '\\':
			if i = s.escape(i); i < 0 {
				return false
			}
		case c < 0x20:
			return s.fail(i, fmt.Sprintf("control character U+%04X in a string must be escaped", c))
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return s.fail(i, fmt.Sprintf("byte 0x%02x in a string is not valid UTF-8", c))
			}
			i += size
		}
	}
}

// escape reads the escape sequence at i and is the index behind it, or -1.
func (s *scanner) escape(i int) int {
	if i+1 == len(s.b) {
		s.fail(i+1, "the text ends inside a string")
		return -1
	}
	switch s.b[i+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case '/':
		s.loose = true
		return i + 2
	case 'u':
	default:
		r, _ := utf8.DecodeRune(s.b[i+1:])
		s.fail(i, fmt.Sprintf("unknown escape sequence of a backslash and %q", r))
		return -1
	}
	r, ok := hex4(s.b, i+2)
	if !ok {
		s.fail(i, `\u needs four hexadecimal digits`)
		return -1
	}
	size := 6
	if utf16.IsSurrogate(r) {
		low, _ := escapedUnit(s.b, i+6)
		if utf16.DecodeRune(r, low) == utf8.RuneError {
			s.fail(i, fmt.Sprintf("unpaired surrogate escape \\u%04x has no UTF-8 form", r))
			return -1
		}
		size = 12
	}
	// The canonical form escapes only what it must, and the shortest way.
	var short [6]byte
	s.loose = s.loose || string(appendRune(short[:0], r)) != string(s.b[i:i+size])
	return i + size
}

// hex4 reads four hexadecimal digits at i.
func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// escapedUnit reads \uXXXX at i.
func escapedUnit(b []byte, i int) (rune, bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	return hex4(b, i+2)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipPlain is the index from i on of the first byte that does not simply stand
// for itself in a string: a quote, a backslash, a control character or a byte
// beyond ASCII. Eight bytes are looked at together: a subtraction borrows into
// the high bit of each byte that is below the bound, and only bytes above a
// real hit can be flagged by mistake, so the lowest flag is right.
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		hit := (w | (w-0x20*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && isPlain(b[i]) {
		i++
	}
	return i
}

func isPlain(c byte) bool { return 0x20 <= c && c < utf8.RuneSelf && c != '"' && c != '\\' }
