package canonjson

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pointer names a place in a value. The zero Pointer is the whole value.
type Pointer struct{ tokens []token }

type token struct {
	name  string
	index int // in an array; -1 when the token is no index
}

// Key points to the member of the outermost object that has this very name.
func Key(name string) Pointer { return Pointer{[]token{{name, -1}}} }

// ParsePointer reads a JSON Pointer (RFC 6901), such as "/to/0/email".
func ParsePointer(s string) (Pointer, error) {
	if s == "" {
		return Pointer{}, nil
	}
	if s[0] != '/' {
		return Pointer{}, fmt.Errorf("JSON Pointer %q must start with a slash", s)
	}
	var p Pointer
	for part := range strings.SplitSeq(s[1:], "/") {
		name := strings.ReplaceAll(part, "~1", "/")
		if strings.Count(part, "~") != strings.Count(part, "~0")+strings.Count(part, "~1") {
			return Pointer{}, fmt.Errorf("JSON Pointer %q: write ~ as ~0 and / inside a name as ~1", s)
		}
		p.tokens = append(p.tokens, token{strings.ReplaceAll(name, "~0", "~"), arrayIndex(part)})
	}
	return p, nil
}

// arrayIndex reads digits without a leading zero (RFC 6901 §4). The index "-",
// one behind the last element, never names a value.
func arrayIndex(s string) int {
	if s == "" || len(s) > 1 && s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// Lookup finds the place p in a checked value; value is a part of b without the
// white space around it.
func Lookup(b []byte, p Pointer) (value []byte, ok bool) {
	value = b[skipSpace(b, 0):]
	if len(p.tokens) == 0 {
		value = value[:skipValue(value, 0)]
		return value, len(value) > 0
	}
	for _, t := range p.tokens {
		switch Kind(value) {
		case '{':
			value, ok = lookupMember(value, t.name)
		case '[':
			value, ok = lookupElement(value, t.index)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return value, true
}

func lookupMember(b []byte, name string) ([]byte, bool) {
	for m, at := nextMember(b, 1); m.value != nil; m, at = nextMember(b, at) {
		if equalName(m.raw, name) {
			return m.value, true
		}
	}
	return nil, false
}

func lookupElement(b []byte, index int) ([]byte, bool) {
	if index < 0 {
		return nil, false
	}
	for i := skipSpace(b, 1); i < len(b) && b[i] != ']'; i = skipSpace(b, i) {
		end := skipValue(b, i)
		if end == i {
			return nil, false
		}
		if index == 0 {
			return b[i:end], true
		}
		index--
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i++
		}
	}
	return nil, false
}

func hasEscape(raw []byte) bool { return bytes.IndexByte(raw, '\\') >= 0 }

// equalName compares the raw form of a name with a name, without a copy. An
// escape sequence is always longer than what it stands for, so most names need
// no look inside.
func equalName(raw []byte, name string) bool {
	if len(raw) <= len(name) {
		return string(raw) == name && !hasEscape(raw)
	}
	if !hasEscape(raw) {
		return false
	}
	for len(raw) > 0 && name != "" {
		r, n := decode(raw)
		q, m := utf8.DecodeRuneInString(name)
		if r != q {
			return false
		}
		raw, name = raw[n:], name[m:]
	}
	return len(raw) == 0 && name == ""
}
