package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	Source  string // where the value came from: a file, "--listen", "SERVICE_LISTEN"; "" when nothing gave one
	Line    int    // of a file, from 1; else 0
	Column  int    // of a file, in characters, from 1; else 0
	Field   string // listen; agents[1].webhook_url; of a policy: rules[0].then
	Problem string // what is wrong, and what is allowed; never a secret
}

func (p Problem) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d: %s: %s", p.Source, p.Line, p.Column, p.Field, p.Problem)
	case p.Source != "":
		return fmt.Sprintf("%s (from %s): %s", p.Field, p.Source, p.Problem)
	}
	return p.Field + ": " + p.Problem
}

// Invalid is the error for a configuration that was refused.
type Invalid struct {
	Problems []Problem // all of them; never empty
}

// Error has one line for each problem.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong.
type problems []Problem

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Invalid{Problems: p}
}
