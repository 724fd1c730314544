package canonjson

import (
	"bytes"
	"fmt"
	"slices"
)

// MaxDepth is how deep objects and arrays may nest: the outermost one is level
// 1, and one on level 65 is refused. Strings, numbers and the like add no level.
const MaxDepth = 64

// Check accepts exactly one JSON value, white space around it included, and
// refuses everything that the package comment lists. The error is a [*SyntaxError].
func Check(b []byte) error {
	s := scanner{b: b}
	if !s.document() {
		return s.err
	}
	return nil
}

// name is where the raw content of a member name lies, quotes excluded.
type name struct{ start, end int }

// scanner validates a text and finds out on the way whether it is canonical.
// Its methods report false to stop, with err set unless it only probes.
type scanner struct {
	b     []byte
	i     int
	names stack[name] // of the open objects, outermost first
	loose bool        // something was seen that the canonical form writes differently
	probe bool        // stop soon after loose is set
	err   *SyntaxError
}

// canonical reports whether a checked value is in canonical form already.
func canonical(b []byte) bool {
	s := scanner{b: b, probe: true}
	return s.document() && !s.loose
}

func (s *scanner) document() bool {
	s.next()
	if !s.value(1) {
		return false
	}
	s.next()
	if s.i < len(s.b) {
		return s.fail(s.i, "unexpected data after the value")
	}
	return true
}

// next skips white space and is the byte behind it, 0 at the end.
func (s *scanner) next() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if !isSpace(c) {
			return c
		}
		s.loose = true
		s.i++
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (s *scanner) value(depth int) bool {
	if s.i == len(s.b) {
		return s.unexpected("a value")
	}
	switch c := s.b[s.i]; c {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		return s.text()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
		return s.unexpected("a value")
	}
}

func (s *scanner) object(depth int) bool {
	if !s.open(depth) {
		return false
	}
	if s.next() == '}' {
		s.i++
		return true
	}
	base, sorted := s.names.len(), true
	for {
		if s.next() != '"' {
			return s.unexpected("a member name in double quotes")
		}
		start := s.i + 1
		if !s.text() {
			return false
		}
		n := name{start, s.i - 1}
		if sorted && s.names.len() > base && s.compare(*s.names.last(), n) >= 0 {
			sorted, s.loose = false, true
		}
		s.names.push(n)
		if s.next() != ':' {
			return s.unexpected("a colon after the member name")
		}
		s.i++
		s.next()
		if !s.value(depth + 1) {
			return false
		}
		switch s.next() {
		case ',':
			s.i++
		case '}':
			s.i++
			if !sorted && !s.unique(base) {
				return false
			}
			s.names.cut(base)
			return true
		default:
			return s.unexpected("a comma or the end of the object")
		}
		if s.probe && s.loose {
			return false
		}
	}
}

func (s *scanner) array(depth int) bool {
	if !s.open(depth) {
		return false
	}
	if s.next() == ']' {
		s.i++
		return true
	}
	for {
		s.next()
		if !s.value(depth + 1) {
			return false
		}
		switch s.next() {
		case ',':
			s.i++
		case ']':
			s.i++
			return true
		default:
			return s.unexpected("a comma or the end of the array")
		}
		if s.probe && s.loose {
			return false
		}
	}
}

// open steps into an object or array.
func (s *scanner) open(depth int) bool {
	if depth > MaxDepth {
		return s.fail(s.i, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	s.i++
	return true
}

// unique looks for names that occur twice in the innermost object. Sorting
// makes equal ones neighbours: never quadratic, and no memory of its own.
func (s *scanner) unique(base int) bool {
	names := s.names.from(base)
	slices.SortFunc(names, func(x, y name) int {
		if order := s.compare(x, y); order != 0 {
			return order
		}
		return x.start - y.start
	})
	twice := -1
	for i := 1; i < len(names); i++ {
		if (twice < 0 || names[i].start < names[twice].start) && s.compare(names[i-1], names[i]) == 0 {
			twice = i
		}
	}
	if twice < 0 {
		return true
	}
	n := names[twice]
	return s.fail(n.start-1, "duplicate member name "+excerpt(s.b[n.start-1:n.end+1]))
}

func (s *scanner) compare(x, y name) int {
	return compareNames(s.b[x.start:x.end], s.b[y.start:y.end])
}

func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		return s.unexpected("a value")
	}
	s.i += len(word)
	return true
}

func (s *scanner) number() bool {
	b, i := s.b, s.i
	if b[i] == '-' {
		i++
	}
	if i+1 < len(b) && b[i] == '0' && isDigit(b[i+1]) {
		return s.fail(i, "a number must not start with a zero")
	}
	end := digits(b, i)
	if end > i && end < len(b) && b[end] == '.' {
		i = end + 1
		end = digits(b, i)
	}
	if end > i && end < len(b) && (b[end] == 'e' || b[end] == 'E') {
		i = end + 1
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end = digits(b, i)
	}
	s.i = end
	if end == i {
		return s.unexpected("a digit")
	}
	return true
}

// digits is the index of the first byte from i on that is no digit.
func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
