package cli

import (
	"regexp"

	"github.com/spf13/cobra"
)

// clientCommand is a command line, in running text, that goes to a server.
var clientCommand = regexp.MustCompile(`\bkernelctl (ex|executions|events|steps|stream|ap|approvals|agents|policies (?:get|set|test|delete)|signals|why|doctor|top|export|config view)\b`)

// placeFlags repeats the flags of a command line that say where it went.
// Variables and the configuration file need no repeating: they stay.
func placeFlags(cmd *cobra.Command) (flags string) {
	for _, name := range []string{"server", "context", "config"} {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed || f.Value.Type() != "string" || cmd.LocalNonPersistentFlags().Lookup(name) != nil {
			continue // a flag of that name that means something else
		}
		if f.Shorthand != "" {
			flags += " -" + f.Shorthand + " " + quote(f.Value.String())
		} else {
			flags += " --" + f.Name + " " + quote(f.Value.String())
		}
	}
	return flags
}

// hint makes the commands of a text go where the command in force went, so that
// what is copied from the screen does not reach another server.
func (f *factory) hint(text string) string {
	if f.place == "" {
		return text
	}
	return clientCommand.ReplaceAllStringFunc(text, func(command string) string {
		return "kernelctl" + f.place + command[len("kernelctl"):]
	})
}
