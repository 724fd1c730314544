package pack

import (
	"encoding/binary"
	"math/bits"
)

const (
	minMatch = 64 // bytes worth a reference
	minPart  = 24 // of a match that spreads over several sources: less is stored again
	window   = 8  // bytes that are compared at once
	stride   = 16 // between the places of a base that are looked for
)

// match is a run of bytes that two texts share.
type match struct{ at, base, length int }

// matches finds what text shares with base, in order of text: their beginning,
// their end, and runs in between wherever they stand.
func matches(text, base []byte, index *[]uint32) []match {
	var found []match
	head := commonPrefix(text, base)
	tail := commonSuffix(text[head:], base[head:])
	if head >= minMatch {
		found = append(found, match{0, 0, head})
	} else {
		head = 0
	}
	if tail < minMatch {
		tail = 0
	}
	found = between(found, text[:len(text)-tail], base[:len(base)-tail], head, index)
	if tail > 0 {
		found = append(found, match{len(text) - tail, len(base) - tail, tail})
	}
	return found
}

// between looks for runs of base, from its byte from on, in text from there on.
// An index of some places of base is asked at the places of text.
func between(found []match, text, base []byte, from int, index *[]uint32) []match {
	if len(text)-from < minMatch || len(base)-from < minMatch {
		return found
	}
	shift := 64 - max(8, bits.Len(uint((len(base)-from)/stride)))
	table := *index
	if n := 1 << (64 - shift); cap(table) < n {
		table = make([]uint32, n)
	} else {
		table = table[:n]
		clear(table)
	}
	*index = table
	for i := from; i+window <= len(base); i += stride {
		table[hash(binary.LittleEndian.Uint64(base[i:]), shift)] = uint32(i) + 1
	}
	done := from // everything of text before it is matched or given up
	for i := from; i+window <= len(text); {
		word := binary.LittleEndian.Uint64(text[i:])
		at := int(table[hash(word, shift)]) - 1
		if at < 0 || binary.LittleEndian.Uint64(base[at:]) != word {
			i += 1 + min((i-done)>>10, stride/2) // faster through what is new
			continue
		}
		back := commonSuffix(text[done:i], base[from:at])
		m := match{i - back, at - back, back + commonPrefix(text[i:], base[at:])}
		if m.length < minMatch {
			i++
			continue
		}
		found = append(found, m)
		done = m.at + m.length
		i = done
	}
	return found
}

func hash(word uint64, shift int) uint64 { return word * 0x9E3779B97F4A7C15 >> shift }

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+window <= n; i += window {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+window <= n; i += window {
		x := binary.LittleEndian.Uint64(a[len(a)-i-window:]) ^ binary.LittleEndian.Uint64(b[len(b)-i-window:])
		if x != 0 {
			return i + bits.LeadingZeros64(x)/8
		}
	}
	for ; i < n && a[len(a)-1-i] == b[len(b)-1-i]; i++ {
	}
	return i
}
