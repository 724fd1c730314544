package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// newGroup is a command that only holds others. Alone it shows its help; any
// other word is wrong, which cobra by itself would let pass.
func newGroup(c cobra.Command, children ...*cobra.Command) *cobra.Command {
	c.Use += " COMMAND"
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownWord(cmd, args[0])
		}
		return cmd.Help()
	}
	c.AddCommand(children...)
	return &c
}

// unknownWord is a word that is no command, with the nearest one that is.
func unknownWord(cmd *cobra.Command, word string) error {
	e := exit.Usagef("unknown command %q for %q", word, cmd.CommandPath()).Try("%s --help", cmd.CommandPath())
	if near := nearestCommand(cmd, word); near != "" {
		e = e.Because("did you mean %s?", near).Try("%s %s --help", cmd.CommandPath(), near)
	}
	return e
}

func nearestCommand(cmd *cobra.Command, word string) string {
	best, name := 4, ""
	for _, c := range cmd.Commands() {
		if c.Hidden || !c.IsAvailableCommand() {
			continue
		}
		for _, n := range append([]string{c.Name()}, slices.Concat(c.Aliases, c.SuggestFor)...) {
			if d := likeness(word, n); d < best {
				best, name = d, c.Name()
			}
		}
	}
	return name
}

func unknownFlag(err error) (name string, ok bool) {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "unknown flag: "); ok {
		return rest, true
	}
	if rest, ok := strings.CutPrefix(text, "unknown shorthand flag: "); ok {
		return "-" + strings.Trim(strings.SplitN(rest, " ", 2)[0], "'"), true
	}
	return "", false
}

func nearestFlag(cmd *cobra.Command, name string) string {
	word := strings.TrimLeft(name, "-")
	best, near := 4, ""
	visit := func(f *pflag.Flag) {
		if d := likeness(word, f.Name); !f.Hidden && d < best {
			best, near = d, "--"+f.Name
		}
	}
	cmd.Flags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	return near
}

// likeness is how far a mistyped word is from one that exists: the number of
// edits, less when one begins with the other.
func likeness(word, name string) int {
	word, name = strings.ToLower(word), strings.ToLower(name)
	if len(word) > 1 && strings.HasPrefix(name, word) {
		return 1
	}
	d := edits(word, name)
	if d >= max(len(word), len(name)) || d > 1+len(name)/3 {
		return 99
	}
	return d
}

// edits counts insertions, deletions, replacements and swaps of neighbours.
func edits(a, b string) int {
	prev, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], prev[j-2]+1)
			}
		}
		prev, row = row, next
	}
	return row[len(b)]
}

// nearest is the one of several words that was probably meant; empty: none.
func nearest(word string, words []string) string {
	best, near := 4, ""
	for _, w := range words {
		if d := likeness(word, w); d < best {
			best, near = d, w
		}
	}
	return near
}
