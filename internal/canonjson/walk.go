package canonjson

// Kind is the type of a checked value: one of { [ " 0 t f n, where 0 stands for
// a number; the zero byte when b holds none.
func Kind(b []byte) byte {
	i := skipSpace(b, 0)
	if i == len(b) {
		return 0
	}
	switch c := b[i]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	default:
		if c == '-' || isDigit(c) {
			return '0'
		}
		return 0
	}
}

// Members calls yield with each member of a checked object, in the order of the
// text; value is a part of b. It ends early with the first error of yield. A b
// that is no object gives a [*SyntaxError].
func Members(b []byte, yield func(name string, value []byte) error) error {
	return MembersBytes(b, func(name, value []byte) error { return yield(string(name), value) })
}

// MembersBytes is [Members] without a copy of the names: name is good until
// yield returns, and must not be changed.
func MembersBytes(b []byte, yield func(name, value []byte) error) error {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return &SyntaxError{Offset: i, Problem: "want an object"}
	}
	var scratch []byte
	for m, at := nextMember(b, i+1); m.value != nil; m, at = nextMember(b, at) {
		name := m.raw
		if hasEscape(name) {
			scratch = unescape(scratch[:0], name)
			name = scratch
		}
		if err := yield(name, m.value); err != nil {
			return err
		}
	}
	return nil
}

// pair is a member of an object as the text has it.
type pair struct {
	raw   []byte // name, escaped, without quotes
	value []byte // nil: there is no further member
}

// nextMember reads the member at or behind i inside an object, and where to go on.
func nextMember(b []byte, i int) (pair, int) {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return pair{}, i
	}
	raw := rawText(b, i)
	start := skipSpace(b, skipColon(b, min(i+len(raw)+2, len(b))))
	end := skipValue(b, start)
	if end == start {
		return pair{}, end
	}
	return pair{raw, b[start:end]}, end
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func skipColon(b []byte, i int) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ':' {
		i++
	}
	return i
}

// skipValue is the index behind the value that starts at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	return skipScalar(b, i)
}

// skipNested needs no stack: in a checked value brackets pair up.
func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipText(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

// skipScalar is the index behind the number or literal that starts at i.
func skipScalar(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// skipText is the index behind the string whose opening quote is at i.
func skipText(b []byte, i int) int {
	for i++; i < len(b); {
		i = skipPlain(b, i)
		switch {
		case i >= len(b):
		case b[i] == '"':
			return i + 1
		case b[i] == '\\':
			i += 2
		default:
			i++
		}
	}
	return len(b)
}

// rawText is what lies between the quotes of the string that starts at i.
func rawText(b []byte, i int) []byte {
	end := skipText(b, i)
	if end < i+2 || b[end-1] != '"' {
		return b[min(i+1, end):end]
	}
	return b[i+1 : end-1]
}
