// Package guard keeps the terminal quiet in commands that draw nothing.
//
// The dashboard's framework asks the terminal for its background colour while
// packages are initialised: every command of a binary that links it would write
// escape sequences to a terminal, and wait for seconds where nothing answers.
// It asks only when nobody has said which background there is. This package
// says it. Packages are initialised in the order of their paths once their
// imports are, and this path sorts before the framework's, so it is first.
//
// It must import nothing but lipgloss.
package guard

import "github.com/charmbracelet/lipgloss"

func init() { //nolint:gochecknoinits // the whole point; see the package comment
	lipgloss.SetHasDarkBackground(true)
}
