package policy

import (
	"slices"
	"strings"
)

// hint ends a message about a word that is none of the known ones: with the one
// that was probably meant, or with all of them.
func hint(word string, known []string) string {
	best, distance := "", 3
	word = strings.ToLower(word)
	for _, k := range known {
		d := editDistance(word, k)
		if len(word) > 2 && strings.HasPrefix(k, word) {
			d = min(d, 2) // a word that was cut short is a near miss, too
		}
		if d < distance && 2*d < len(k) {
			best, distance = k, d
		}
	}
	if best != "" {
		return ", did you mean " + best + "?"
	}
	return "; known are " + strings.Join(known, ", ")
}

// home is a mapping of the grammar and the keys that belong into it.
type home struct {
	name string
	keys []string
}

// keyHint ends a message about an unknown key. One that is right but stands in
// the wrong place is the commonest of them.
func (r *reader) keyHint(key string, known []string) string {
	for _, h := range r.homes {
		if slices.Contains(h.keys, key) {
			return "; it belongs under " + h.name
		}
	}
	return hint(key, known)
}

// editDistance counts the letters to insert, delete, replace or swap with their
// neighbour. Words that are too long for any known one are simply far away.
func editDistance(x, y string) int {
	const most = 40
	if len(x) > most || len(y) > most {
		return most
	}
	var rows [3][most + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(y) + 1 {
		last[j] = j
	}
	for i := range len(x) {
		row[0] = i + 1
		for j := range len(y) {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
