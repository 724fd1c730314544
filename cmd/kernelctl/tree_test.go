package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// tree is the whole program's tree of commands, built anew: flags of a command
// remember what they were set to.
func tree() *cobra.Command {
	return cli.Tree(cli.Stdio{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, options())
}

func commands(c *cobra.Command) []*cobra.Command {
	found := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		found = append(found, commands(sub)...)
	}
	return found
}

// run runs the program and gives its exit code and stderr.
func run(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	o := options()
	o.LookupEnv = func(name string) (string, bool) {
		if name == "XDG_CONFIG_HOME" {
			return t.TempDir(), true
		}
		return "", false
	}
	var out, errs bytes.Buffer
	code = cli.Run(context.Background(), args, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs}, o)
	return code, errs.String()
}

func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	for _, c := range commands(tree()) {
		path := c.CommandPath()
		if c.Hidden {
			continue
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 72 {
			t.Errorf("%s: short text %q: want one, without a full stop, of at most 72 characters", path, c.Short)
		}
		if c.Long == "" {
			t.Errorf("%s: no long text", path)
		}
		if c.Example == "" {
			t.Errorf("%s: no example", path)
		}
		if !c.Runnable() {
			t.Errorf("%s: does nothing", path)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				t.Errorf("%s: flag --%s is not described", path, f.Name)
			}
		})
	}
}

// A word that is no command is refused, in every group, with the nearest one
// that is.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	for _, c := range commands(tree()) {
		if !c.HasSubCommands() || c.Name() == "stream" { // stream ID is a command, too
			continue
		}
		path := strings.Fields(c.CommandPath())[1:]
		if code, stderr := run(t, append(slices.Clone(path), "qqqqqqqq")...); code != int(exit.Usage) || !strings.Contains(stderr, `unknown command "qqqqqqqq"`) {
			t.Errorf("%s qqqqqqqq: exit code %d, stderr %q", c.CommandPath(), code, stderr)
		}
		if code, _ := run(t, path...); code != 0 {
			t.Errorf("%s alone: exit code %d, want help and 0", c.CommandPath(), code)
		}
		for _, sub := range c.Commands() {
			if sub.Hidden || len(sub.Name()) < 3 {
				continue
			}
			typo := sub.Name()[:1] + sub.Name()[2:] // the second letter is missing
			code, stderr := run(t, append(slices.Clone(path), typo)...)
			if code != int(exit.Usage) || !strings.Contains(stderr, "did you mean") {
				t.Errorf("%s %s: exit code %d, stderr %q", c.CommandPath(), typo, code, stderr)
			}
		}
	}
}

// Commands without arguments refuse one, and every command refuses a flag that
// it does not have.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, c := range commands(tree()) {
		path := strings.Fields(c.CommandPath())[1:]
		if code, stderr := run(t, append(slices.Clone(path), "--no-such-flag")...); code != int(exit.Usage) || !strings.Contains(stderr, "unknown flag --no-such-flag") {
			t.Errorf("%s --no-such-flag: exit code %d, stderr %q", c.CommandPath(), code, stderr)
		}
		if c.HasSubCommands() || strings.ContainsAny(c.Use, " ") {
			continue
		}
		if code, _ := run(t, append(slices.Clone(path), "extra")...); code != int(exit.Usage) {
			t.Errorf("%s extra: exit code %d, want %d", c.CommandPath(), code, exit.Usage)
		}
	}
}

// Every example is a command line of this program that can be read.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, c := range commands(tree()) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			for _, words := range commandLines(line) {
				check(t, c.CommandPath(), line, words)
			}
		}
	}
}

func check(t *testing.T, of, line string, words []string) {
	t.Helper()
	at, rest, err := tree().Find(words)
	if err != nil {
		t.Errorf("%s: example %q: %v", of, line, err)
		return
	}
	if err := at.ParseFlags(rest); err != nil {
		t.Errorf("%s: example %q: %v", of, line, err)
		return
	}
	if err := at.ValidateArgs(at.Flags().Args()); err != nil {
		t.Errorf("%s: example %q: %v", of, line, err)
	}
	if at.HasSubCommands() && at.Flags().NArg() > 0 && at.Name() != "stream" {
		t.Errorf("%s: example %q: %s has no such command", of, line, at.CommandPath())
	}
}

// commandLines finds the calls of kernelctl in a line of shell and cuts each
// into words. It knows quotes and where a command ends, and no more.
func commandLines(line string) (found [][]string) {
	line = strings.TrimSpace(line)
	for {
		i := strings.Index(line, "kernelctl ")
		if i < 0 {
			return found
		}
		words, rest := shellWords(line[i+len("kernelctl "):])
		found = append(found, words)
		line = rest
	}
}

func shellWords(text string) (words []string, rest string) {
	var word strings.Builder
	quote, inside, depth := rune(0), false, 0
	end := func() {
		if inside {
			words = append(words, word.String())
		}
		word.Reset()
		inside = false
	}
	for i, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == '(':
			depth++
		case r == ')' && depth > 0:
			depth--
		case strings.ContainsRune("|>&;)<", r) && depth == 0:
			end()
			return words, text[i:]
		case r == ' ' && depth == 0:
			end()
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	end()
	return words, ""
}

// Every argument that names a thing can be completed, and every flag that has
// choices.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range commands(tree()) {
		if c.HasSubCommands() && c.Name() != "stream" || c.Hidden {
			continue
		}
		if strings.Contains(c.Use, " ") && c.ValidArgsFunction == nil && c.ValidArgs == nil && !strings.Contains(c.Use, "FILE") && !strings.Contains(c.Use, "DIR") && !strings.Contains(c.Use, "DEST") {
			t.Errorf("%s: %q is not completed", c.CommandPath(), c.Use)
		}
		for _, name := range []string{"agent", "execution", "status", "type", "kind", "for", "expect", "output", "context", "time", "color", "step", "by", "screen", "theme", "field", "log-level", "log-format"} {
			if f := c.Flags().Lookup(name); f == nil {
				continue
			}
			if _, ok := c.GetFlagCompletionFunc(name); !ok {
				t.Errorf("%s: flag --%s is not completed", c.CommandPath(), name)
			}
		}
	}
}
