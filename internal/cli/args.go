package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// many is the bound of a command that takes any number of arguments.
const many = 1 << 30

// takes checks how many arguments a command gets; what names one of them.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return exit.Usagef("%s needs %s", cmd.CommandPath(), what).Because("usage: %s", cmd.UseLine()).Try("%s --help", cmd.CommandPath())
		case len(args) > most && most == 0:
			return exit.Usagef("%s takes no argument, got %q", cmd.CommandPath(), args[0]).Try("%s --help", cmd.CommandPath())
		case len(args) > most:
			return exit.Usagef("%s: unexpected argument %q", cmd.CommandPath(), args[most]).Because("usage: %s", cmd.UseLine()).Try("%s --help", cmd.CommandPath())
		}
		return nil
	}
}

// oneOf checks the value of a flag that has a list of choices.
func oneOf[T ~string](flag, value string, choices []T, more ...string) error {
	words := make([]string, 0, len(choices)+len(more))
	for _, c := range choices {
		words = append(words, string(c))
	}
	words = append(words, more...)
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	e := exit.Usagef("--%s %s: no such value", flag, value).Because("it is one of %s", strings.Join(words, ", "))
	if near := nearest(value, words); near != "" {
		e = e.Try("rerun with --%s %s", flag, near)
	}
	return e
}

// usageArgs makes wrong arguments of a command of another package what they are
// here: an error of usage.
func usageArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || errors.As(err, new(*exit.Error)) {
			return err
		}
		e := exit.Usagef("%s: %v", cmd.CommandPath(), err).Try("%s --help", cmd.CommandPath())
		if len(args) > 0 && strings.HasPrefix(err.Error(), "unknown command") {
			e.What = fmt.Sprintf("%s takes no argument, got %q", cmd.CommandPath(), args[0])
		}
		return e
	}
}
