package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// glob is a compiled pattern: * matches any run of characters, ?
// one character, both also '/'; [a-z] is one character of a class, [!a-z] and
// [^a-z] one outside it; a backslash makes the next special character plain.
type glob struct {
	shape shape
	text  string // of every shape but general and anything
	parts []part // of the general shape
}

// shape names the patterns that need no search.
type shape uint8

const (
	exact    shape = iota // text
	prefix                // text*
	suffix                // *text
	inside                // *text*
	anything              // *
	general
)

// part is one piece of a general pattern.
type part struct {
	kind    partKind
	text    string      // of a literal
	negated bool        // of a class
	ranges  []runeRange // of a class
}

type partKind uint8

const (
	literal partKind = iota
	star
	one
	class
)

type runeRange struct{ low, high rune }

const escapable = `*?[]\-!^`

// compileGlob reads a pattern.
func compileGlob(pattern string) (glob, error) {
	var parts []part
	for rest := pattern; rest != ""; {
		var p part
		var err error
		if p, rest, err = nextPart(rest); err != nil {
			return glob{}, err
		}
		last := len(parts) - 1
		switch {
		case last >= 0 && p.kind == literal && parts[last].kind == literal:
			parts[last].text += p.text
		case last >= 0 && p.kind == star && parts[last].kind == star: // one is enough
		default:
			parts = append(parts, p)
		}
	}
	return shaped(parts), nil
}

func shaped(parts []part) glob {
	is := func(kinds ...partKind) bool {
		if len(parts) != len(kinds) {
			return false
		}
		for i, k := range kinds {
			if parts[i].kind != k {
				return false
			}
		}
		return true
	}
	switch {
	case is(literal):
		return glob{shape: exact, text: parts[0].text}
	case is(star):
		return glob{shape: anything}
	case is(literal, star):
		return glob{shape: prefix, text: parts[0].text}
	case is(star, literal):
		return glob{shape: suffix, text: parts[1].text}
	case is(star, literal, star):
		return glob{shape: inside, text: parts[1].text}
	}
	return glob{shape: general, parts: parts}
}

func nextPart(s string) (part, string, error) {
	switch s[0] {
	case '*':
		return part{kind: star}, s[1:], nil
	case '?':
		return part{kind: one}, s[1:], nil
	case '[':
		return nextClass(s)
	case '\\':
		r, rest, err := escaped(s)
		return part{kind: literal, text: string(r)}, rest, err
	}
	end := strings.IndexAny(s, `*?[\`)
	if end < 0 {
		end = len(s)
	}
	return part{kind: literal, text: s[:end]}, s[end:], nil
}

// nextClass reads a class; s starts with its bracket. A dash at either end
// stands for itself.
func nextClass(s string) (part, string, error) {
	p := part{kind: class}
	rest := s[1:]
	if rest != "" && (rest[0] == '!' || rest[0] == '^') {
		p.negated, rest = true, rest[1:]
	}
	for {
		switch {
		case rest == "":
			return p, "", fmt.Errorf(`the class %s has no closing bracket (write \[ for a bracket that is meant)`, s)
		case rest[0] == ']' && len(p.ranges) == 0:
			return p, "", errors.New(`a class is empty (write \] for a bracket that is meant)`)
		case rest[0] == ']':
			return p, rest[1:], nil
		}
		low, after, err := classRune(rest)
		if err != nil {
			return p, "", err
		}
		high := low
		if len(after) > 1 && after[0] == '-' && after[1] != ']' {
			if high, after, err = classRune(after[1:]); err != nil {
				return p, "", err
			}
			if high < low {
				return p, "", fmt.Errorf("the range %c-%c runs backwards", low, high)
			}
		}
		p.ranges = append(p.ranges, runeRange{low, high})
		rest = after
	}
}

func classRune(s string) (rune, string, error) {
	if s[0] == '\\' {
		return escaped(s)
	}
	r, size := utf8.DecodeRuneInString(s)
	return r, s[size:], nil
}

// escaped reads a backslash and what it protects. Before anything that needs no
// protection it is more likely a mistake than a wish, and the pattern would
// silently match something else than its author reads.
func escaped(s string) (rune, string, error) {
	if len(s) < 2 || strings.IndexByte(escapable, s[1]) < 0 {
		return 0, "", errors.New(`a backslash may only stand before one of * ? [ ] \ - ! ^ (write \\ for a backslash)`)
	}
	return rune(s[1]), s[2:], nil
}

func (g *glob) match(s string) bool {
	switch g.shape {
	case exact:
		return s == g.text
	case prefix:
		return strings.HasPrefix(s, g.text)
	case suffix:
		return strings.HasSuffix(s, g.text)
	case inside:
		return strings.Contains(s, g.text)
	case anything:
		return true
	case general:
	}
	return g.search(s)
}

// search needs to come back to the last star only: what an earlier one took
// could only be longer, which gives the later ones less room. So the cost is at
// most length times length, never exponential.
func (g *glob) search(s string) bool {
	i, at := 0, 0
	lastStar, starEnd := -1, 0 // the part, and where its run ends at the moment
	for {
		switch {
		case i == len(g.parts):
			if at == len(s) {
				return true
			}
		case g.parts[i].kind == star:
			lastStar, starEnd = i, at
			i++
			continue
		default:
			if n, ok := g.parts[i].take(s[at:]); ok {
				i, at = i+1, at+n
				continue
			}
		}
		if lastStar < 0 || starEnd == len(s) {
			return false
		}
		if lastStar == len(g.parts)-1 {
			return true
		}
		_, size := utf8.DecodeRuneInString(s[starEnd:])
		starEnd += size
		i, at = lastStar+1, starEnd
	}
}

// take is how many bytes at the start of s the part matches.
func (p *part) take(s string) (int, bool) {
	if p.kind == literal {
		return len(p.text), strings.HasPrefix(s, p.text)
	}
	if s == "" {
		return 0, false
	}
	r, size := utf8.DecodeRuneInString(s)
	if p.kind == one {
		return size, true
	}
	for _, x := range p.ranges {
		if x.low <= r && r <= x.high {
			return size, !p.negated
		}
	}
	return size, p.negated
}
