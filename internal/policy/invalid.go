package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Problem is one thing that is wrong with a text.
type Problem struct {
	Field   string `json:"field"`   // path such as rules[2].then.decision; "bundle" or "cases" for the text as a whole
	Problem string `json:"problem"` // what is wrong, and what would be right
	Line    int    `json:"line"`    // from 1; 0 when it is not known, as in JSON cases
	Column  int    `json:"column"`  // in characters, from 1; 0 when it is not known
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Field + ": " + p.Problem
	}
	return fmt.Sprintf("line %d, column %d: %s: %s", p.Line, p.Column, p.Field, p.Problem)
}

// Invalid is the error for a bundle, or for a list of cases, that was refused.
type Invalid struct {
	Problems []Problem // all of them, in the order of the text; never empty
}

// Error has one line for each problem.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// reader reads YAML nodes and collects the problems that it finds.
type reader struct {
	what     string // what the text is; the field of problems of the text as a whole
	homes    []home // where keys belong that were found elsewhere
	problems []Problem
}

// at reports a problem at a node. An empty field means the text as a whole.
func (r *reader) at(n *yaml.Node, field, format string, args ...any) {
	if field == "" {
		field = r.what
	}
	r.problems = append(r.problems, Problem{Field: field, Problem: fmt.Sprintf(format, args...), Line: n.Line, Column: n.Column})
}

// err is nil when nothing was reported.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(x, y Problem) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	return &Invalid{Problems: r.problems}
}

// quote is s in double quotes, cut to a length that fits into a message.
func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
