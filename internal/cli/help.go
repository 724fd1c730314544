package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
)

// topic is a page of help that belongs to no single command.
type topic struct {
	name, short string
	write       func(*strings.Builder)
}

func topics() []topic {
	return []topic{
		{"environment", "variables that are read", helpEnvironment},
		{"exit-codes", "what the exit codes mean", helpExitCodes},
		{"flags", "flags that every command has", helpFlags},
		{"formatting", "output formats, templates and colours", helpFormatting},
		{"keys", "ids, the keys of questions and of the dashboard", helpKeys},
	}
}

// newHelp is kernelctl help [COMMAND|TOPIC].
func newHelp(f *factory) *cobra.Command {
	var names []string
	for _, t := range topics() {
		names = append(names, fmt.Sprintf("  %-12s %s", t.name, t.short))
	}
	cmd := &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Help about any command or topic",
		Long:  "Shows the help of a command, or one of these topics:\n\n" + strings.Join(names, "\n"),
		Example: `  kernelctl help executions wait
  kernelctl help exit-codes`,
		GroupID: groupTool,
		Args:    cobra.ArbitraryArgs,
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return helpWords(cmd.Root(), args), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			for _, t := range topics() {
				if t.name == args[0] {
					var page strings.Builder
					t.write(&page)
					if ui := dashboard(cmd); ui != nil && t.name == "keys" {
						page.WriteString(ui.Annotations[KeysAnnotation])
					}
					_, err := io.WriteString(f.io.Out, page.String())
					return err
				}
			}
		}
		at, rest, err := cmd.Root().Find(args)
		switch {
		case err == nil && len(rest) > 0 && at != cmd.Root():
			return unknownWord(at, rest[0])
		case err != nil || len(rest) > 0:
			return noHelp(cmd.Root(), args)
		}
		at.InitDefaultHelpFlag()
		return at.Help()
	}
	return cmd
}

func helpWords(root *cobra.Command, args []string) []string {
	at, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return nil
	}
	var found []string
	for _, c := range at.Commands() {
		if c.IsAvailableCommand() {
			found = append(found, c.Name()+"\t"+c.Short)
		}
	}
	if at == root {
		for _, t := range topics() {
			found = append(found, t.name+"\t"+t.short)
		}
	}
	return found
}

func noHelp(root *cobra.Command, args []string) error {
	word := args[len(args)-1]
	e := exit.Usagef("no help for %q", strings.Join(args, " ")).Try("kernelctl help")
	var words []string
	for _, t := range topics() {
		words = append(words, t.name)
	}
	if near := nearest(word, words); near != "" {
		return e.Because("did you mean %s?", near).Try("kernelctl help %s", near)
	}
	if near := nearestCommand(root, args[0]); near != "" {
		return e.Because("did you mean %s?", near).Try("kernelctl help %s", near)
	}
	return e
}

func helpExitCodes(w *strings.Builder) {
	fmt.Fprint(w, "Exit codes:\n\n")
	for _, r := range exit.Table() {
		fmt.Fprintf(w, "  %3d  %-20s %s\n", int(r.Code), r.Name, r.Meaning)
	}
	fmt.Fprint(w, "\nWith -o json or -o jsonl an error is one JSON object on stderr:\n\n"+
		`  {"error":{"code","message","details","hint","exit_code"}}`+"\n")
}

func helpFlags(w *strings.Builder) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	globalFlags(fs)
	fmt.Fprintf(w, "Every command has these flags:\n\n%s\nThe variables that stand for them: kernelctl help environment.\n", fs.FlagUsages())
}

func helpEnvironment(w *strings.Builder) {
	fmt.Fprint(w, "A flag is stronger than the environment, that than the configuration file, and\nthat than the default. --context on the command line makes KERNELCTL_SERVER and\nKERNELCTL_TOKEN count for nothing. kernelctl config view --origin shows what is in\nforce and why.\n\n")
	for _, k := range append(settings.Keys(), settings.Environment()...) {
		if k.Env == "" {
			continue
		}
		text := k.Help
		if k.Flag != "" {
			text += " (--" + k.Flag + ")"
		}
		if k.Default != "" && k.Default != "false" {
			text += "; default " + k.Default
		}
		fmt.Fprintf(w, "  %-28s %s\n", k.Env, text)
	}
	fmt.Fprint(w, "\nThe server reads SERVICE_* variables: kernelctl serve --help.\n")
}

func helpFormatting(w *strings.Builder) {
	fmt.Fprintf(w, `stdout holds data only; notes, questions and errors go to stderr.

On a terminal, lists are tables with short ids and relative times, cut to its
width. Elsewhere they are tab-separated values without a header: every column,
full ids, RFC 3339 timestamps in UTC, nothing cut, and tabs, line breaks and
control characters inside a value written as escapes.

-o FORMAT is one of: %s

  table, wide          aligned columns; wide shows all of them
  tsv                  as in a pipe
  json                 one object as the API has it; a list is
                       {"schema":"v0","items":[...],"next_cursor":""}
  jsonl                one object a line, as it comes; what follows for ever
                       (watch, tail) is written so with -o json, too
  yaml                 the same objects as YAML
  name                 kind/id, which commands accept as an id
  go-template=TEXT     Go's text/template over the JSON object; numbers keep
  go-template-file=F   their digits; functions: json, short, join SEP LIST

  kernelctl ex ls -o go-template='{{range .items}}{{.id}} {{.status}}{{"\n"}}{{end}}'

Within schema v0 fields are only ever added.

--time relative|iso|unix and --utc change timestamps in tables. Colours are the
16 of the terminal's palette, and the word they colour is always printed. They
are decided by --color, NO_COLOR, CLICOLOR_FORCE, TERM=dumb, and whether stdout
is a terminal, in this order.
`, strings.Join(printer.Kinds(), ", "))
}

func helpKeys(w *strings.Builder) {
	fmt.Fprint(w, `Ids. Where an id is wanted, any unique beginning or end of at least 4 characters
will do, and so will kind/id. Lists show the last 8 characters: an id begins with
the time it was made, so its beginning says little. Several matches are listed,
with exit code 9.

Questions. They are asked on stderr, only when stdin and stderr are terminals,
neither --no-input nor CI is set, and --yes was not given. The answer is No unless
it is y or yes.

Choosing approvals. Type the numbers of rows (1 3), or text to narrow the list;
an empty answer stops. What was chosen is shown whole before it is asked about.

Ctrl-C of watch, wait, tail and stream only stops looking: what runs goes on.
`)
}

// KeysAnnotation is the annotation of the dashboard's command that holds its
// keys, for the topic keys.
const KeysAnnotation = "keys"
