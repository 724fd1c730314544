package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newGen writes the reference of the commands. It is hidden: it is for those
// who build the program.
func newGen(f *factory) *cobra.Command {
	cmd := newGroup(cobra.Command{
		Use:     "gen",
		Hidden:  true,
		Short:   "Write the reference of the commands",
		Long:    `Writes the reference of the commands and of what they print, out of the commands themselves.`,
		Example: `  kernelctl gen docs docs/cli`,
	}, newGenDocs(f), newGenMan(f), newGenSchemas(f))
	return cmd
}

func newGenDocs(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "docs DIR",
		Short:   "Write the reference as Markdown",
		Long:    `Writes a Markdown file for each command into a directory.`,
		Example: `  kernelctl gen docs docs/cli`,
		Args:    takes(1, 1, "a directory"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		return writePages(s.cmd.Root(), s.args[0], "_", ".md", markdown)
	})
	return cmd
}

func newGenMan(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the reference as manual pages",
		Long:    `Writes a manual page for each command into a directory.`,
		Example: `  kernelctl gen man man`,
		Args:    takes(1, 1, "a directory"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		version := s.f.version.Version
		return writePages(s.cmd.Root(), s.args[0], "-", ".1", func(c *cobra.Command) []byte { return manPage(c, version) })
	})
	return cmd
}

// writePages writes a file for each command that is shown.
func writePages(root *cobra.Command, dir, join, ext string, page func(*cobra.Command) []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	var failed error
	walk(root, func(c *cobra.Command) {
		if failed != nil || !shown(c) {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", join) + ext
		failed = os.WriteFile(filepath.Join(dir, name), page(c), 0o644)
	})
	return failed
}

// shown reports whether a command is part of the reference.
func shown(c *cobra.Command) bool {
	for ; c != nil; c = c.Parent() {
		if c.Hidden {
			return false
		}
	}
	return true
}

func markdown(c *cobra.Command) []byte {
	c.InitDefaultHelpFlag()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n```\n%s\n```\n\n", c.CommandPath(), c.Short, c.UseLine())
	fmt.Fprintf(&b, "%s\n", markdownText(c.Long))
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAlso: `%s`.\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```sh\n%s\n```\n", unindent(c.Example))
	}
	if text := flagTable(c.NonInheritedFlags()); text != "" {
		fmt.Fprintf(&b, "\n## Flags\n\n%s", text)
	}
	if c.HasParent() {
		fmt.Fprintf(&b, "\nThe [flags of every command](kernelctl.md#flags) work here, too.\n")
	}
	groups := c.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		var subs strings.Builder
		for _, sub := range c.Commands() {
			if shown(sub) && sub.GroupID == g.ID {
				fmt.Fprintf(&subs, "- [%s](%s.md): %s\n", sub.CommandPath(), strings.ReplaceAll(sub.CommandPath(), " ", "_"), sub.Short)
			}
		}
		if subs.Len() > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s", strings.TrimSuffix(g.Title, ":"), subs.String())
		}
	}
	return b.Bytes()
}

// markdownText puts indented blocks of a long text into fences.
func markdownText(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(line, "  ") || (inside && strings.HasPrefix(line, " "))
		if indented != inside && (indented || line == "" || !strings.HasPrefix(line, " ")) {
			b.WriteString("```\n")
			inside = indented
		}
		b.WriteString(line + "\n")
	}
	if inside {
		b.WriteString("```\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

func flagTable(fs *pflag.FlagSet) string {
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, "- `%s`: %s\n", strings.TrimSpace(name+" "+value), usage+defaultText(f))
	})
	return b.String()
}

// defaultText is a default worth saying.
func defaultText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}
