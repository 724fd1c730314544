package canonjson

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// SyntaxError says where a text stops being acceptable JSON, and why.
type SyntaxError struct {
	Offset  int    // bytes before the place
	Problem string // what is wrong there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Problem)
}

func (s *scanner) fail(at int, problem string) bool {
	s.err = &SyntaxError{Offset: at, Problem: problem}
	return false
}

// unexpected fails at the current byte, which is not what the grammar wants.
func (s *scanner) unexpected(want string) bool {
	rest := s.b[s.i:]
	switch {
	case len(bytes.TrimSpace(s.b)) == 0:
		return s.fail(s.i, "the text is empty, want "+want)
	case len(rest) == 0:
		return s.fail(s.i, "the text ends too early, want "+want)
	case s.i == 0 && bytes.HasPrefix(rest, []byte("\ufeff")):
		return s.fail(0, "the text starts with a byte order mark, want "+want)
	}
	r, size := utf8.DecodeRune(rest)
	if r == utf8.RuneError && size == 1 {
		return s.fail(s.i, fmt.Sprintf("unexpected byte 0x%02x, want %s", rest[0], want))
	}
	return s.fail(s.i, fmt.Sprintf("unexpected %q, want %s", r, want))
}

// excerpt is b, cut to a length that fits into a message.
func excerpt(b []byte) string {
	const most = 64
	if len(b) <= most {
		return string(b)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return string(b[:cut]) + "…"
}
