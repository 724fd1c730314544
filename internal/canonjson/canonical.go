package canonjson

import (
	"crypto/sha256"
	"slices"
)

// Append appends the canonical form of b, after the rules of [Check]; on an
// error it gives dst back as it was.
func Append(dst, b []byte) ([]byte, error) {
	s := scanner{b: b}
	if !s.document() {
		return dst, s.err
	}
	if !s.loose {
		return append(dst, b...), nil
	}
	return rewrite(dst, b), nil
}

// AppendChecked is [Append] for a checked value. It is never longer than b.
func AppendChecked(dst, b []byte) []byte {
	if canonical(b) {
		return append(dst, b...)
	}
	return rewrite(dst, b)
}

// Digest is the SHA-256 of the canonical form of a checked value; an empty b
// counts as null. A value that is longer than 1 KiB and not in canonical form
// costs an allocation.
func Digest(b []byte) [sha256.Size]byte {
	if len(b) == 0 {
		b = []byte("null")
	}
	if canonical(b) {
		return sha256.Sum256(b)
	}
	// Twice the length, because reordering the outermost object needs the room.
	var stack [2048]byte
	buf := stack[:0]
	if 2*len(b) > len(stack) {
		buf = make([]byte, 0, 2*len(b))
	}
	return sha256.Sum256(rewrite(buf, b))
}

// member is where a member lies in the output: the quoted name from start to
// colon, the value to end.
type member struct{ start, colon, end int }

// level is an open object or array.
type level struct {
	base   int // index of its first member
	object bool
	sorted bool // as far as it was read
}

// rewrite appends the canonical form of a checked value in one pass: it copies
// token by token, and puts the members of an object right at its end if need
// be. It does not call itself, so that dst may lie on the caller's stack.
func rewrite(dst, b []byte) []byte {
	var levels stack[level]
	var members stack[member] // of all open objects, outermost first
	for i := skipSpace(b, 0); i < len(b); i = skipSpace(b, i) {
		inObject := levels.len() > 0 && levels.last().object
		switch c := b[i]; c {
		case '{', '[':
			levels.push(level{base: members.len(), object: c == '{', sorted: true})
			dst = append(dst, c)
			i++
		case '}', ']':
			if inObject {
				dst = closeObject(dst, levels.last(), &members)
			}
			if levels.len() > 0 {
				levels.cut(levels.len() - 1)
			}
			dst = append(dst, c)
			i++
		case ',', ':':
			if c == ',' && inObject && members.len() > levels.last().base {
				members.last().end = len(dst)
			}
			dst = append(dst, c)
			i++
		case '"':
			raw := rawText(b, i)
			i = skipSpace(b, min(i+len(raw)+2, len(b)))
			start := len(dst)
			dst = appendCanonical(dst, raw)
			if inObject && i < len(b) && b[i] == ':' {
				// In a value that was not checked the comma may be missing: end it here, then.
				m := member{start: start, colon: len(dst), end: len(dst)}
				if l := levels.last(); l.sorted && members.len() > l.base {
					l.sorted = compareMembers(dst, *members.last(), m) < 0
				}
				members.push(m)
			}
		default:
			end := skipScalar(b, i)
			dst = append(dst, b[i:end]...)
			i = end
		}
	}
	return dst
}

func closeObject(out []byte, l *level, members *stack[member]) []byte {
	own := members.from(l.base)
	if !l.sorted {
		own[len(own)-1].end = len(out)
		out = reorder(out, own)
	}
	members.cut(l.base)
	return out
}

// reorder sorts the members that out ends with. They are written once more
// behind themselves and moved down: the room is there or grows once.
func reorder(out []byte, members []member) []byte {
	from, end := members[0].start, len(out)
	slices.SortFunc(members, func(x, y member) int { return compareMembers(out, x, y) })
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, out[m.start:m.end]...)
	}
	copy(out[from:], out[end:])
	return out[:end]
}

func compareMembers(out []byte, x, y member) int {
	return compareNames(out[x.start+1:x.colon-1], out[y.start+1:y.colon-1])
}
