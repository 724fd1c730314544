package config

import (
	"slices"
	"strings"
)

// hint ends a message about a word that is none of the known ones: with the one
// that was probably meant, or with all of them.
func hint(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), k); d < distance && 2*d < len(k) {
			best, distance = k, d
		}
	}
	if best != "" {
		return ", did you mean " + best + "?"
	}
	return "; known are " + strings.Join(known, ", ")
}

// editDistance counts the letters to insert, delete or replace. Words that are
// too long for any known one are simply far away.
func editDistance(x, y string) int {
	const most = 40
	if len(x) > most || len(y) > most {
		return most
	}
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	row := slices.Clone(last)
	for i := range len(x) {
		row[0] = i + 1
		for j := range len(y) {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
		}
		last, row = row, last
	}
	return last[len(y)]
}
