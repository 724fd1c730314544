//go:build !race

package main

// underRace says that the program was built with the race detector, which makes
// it larger and slower.
const underRace = false
