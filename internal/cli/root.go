package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// The groups of commands in the help of the root.
const (
	groupServer  = "server"
	groupOperate = "operate"
	groupAgents  = "agents"
	groupTool    = "tool"
)

const rootLong = `  kernelctl serve --dev    start a server on this machine to try it
  kernelctl ui             open the dashboard

kernelctl runs executions of agents, keeps an append-only log of all that
happens in them, and lets people decide what a policy wants decided.`

// newRoot is the whole command line.
func newRoot(f *factory, more []func(*Host) *cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "kernelctl COMMAND",
		Short: "Run agents under control: server, command line and dashboard",
		Long:  rootLong,
		Example: `  kernelctl ex create --agent demo --input '{"task":"hello"}' --watch
  kernelctl ap ls
  kernelctl ap grant 51c09ab4 --by alice`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupOperate, Title: "Executions and approvals:"},
		&cobra.Group{ID: groupAgents, Title: "Agents and policies:"},
		&cobra.Group{ID: groupTool, Title: "This tool:"},
	)
	globalFlags(root.PersistentFlags())
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(flagError)
	root.RunE = f.bare
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupOperate, newExecutions(f), newEvents(f), newSteps(f), newStream(f), newApprovals(f), newSignals(f), newWhy(f), newTop(f), newExport(f))
	add(groupAgents, newAgents(f), newPolicies(f))
	add(groupTool, newConfig(f), newDoctor(f), newCompletion(f), newVersion(f), newGen(f))
	h := &Host{f: f}
	for _, build := range more {
		c := build(h)
		if c.GroupID == "" {
			c.GroupID = groupServer
		}
		if old, _, err := root.Find([]string{c.Name()}); err == nil && old != root {
			root.RemoveCommand(old) // the richer one of another package takes its place
		}
		walk(c, usageArgs)
		root.AddCommand(c)
	}
	root.SetHelpCommand(newHelp(f))
	f.completeAll(root)
	return root
}

// globalFlags are those that every command has.
func globalFlags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringP("server", "s", "", "`address` of the service (http://127.0.0.1:8080)")
	fs.StringP("context", "c", "", "`context` of the configuration file to use")
	fs.String("token-file", "", "`file` whose first line is the bearer token; - is stdin")
	fs.String("token", "", "bearer `token`; others can see it in ps, so prefer --token-file")
	fs.Duration("timeout", 0, "of the whole command (30s; none for wait, watch, tail, stream)")
	fs.Duration("request-timeout", 0, "of one request (10s)")
	fs.String("config", "", "configuration `file`")
	fs.StringP("output", "o", "", "`format`: table, wide, tsv, json, yaml, jsonl, name, go-template=…, go-template-file=…")
	fs.Bool("no-headers", false, "tables without a header")
	fs.String("time", "", "`style` of timestamps in tables: relative, iso or unix")
	fs.Bool("utc", false, "ISO timestamps in UTC")
	fs.String("color", "", "`when` to colour: auto, always or never")
	fs.Bool("no-color", false, "same as --color never")
	fs.BoolP("quiet", "q", false, "ids only, no chatter")
	fs.BoolP("verbose", "v", false, "show each request on stderr, without tokens and secrets")
	fs.Bool("no-input", false, "never ask")
	fs.Bool("accessible", false, "no redrawing, numbered questions")
}

// bare is kernelctl without a word: help, unless the configuration says ui.
func (f *factory) bare(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownWord(cmd, args[0])
	}
	if s, err := f.session(cmd, args, traits{lenient: true}); err == nil && s.DefaultCommand == "ui" {
		if ui := dashboard(cmd); ui != nil {
			return ui.RunE(ui, nil)
		}
	}
	return cmd.Help()
}

// flagError is the error of a flag that cannot be read.
func flagError(cmd *cobra.Command, err error) error {
	e := exit.Usagef("%v", err).Try("%s --help", cmd.CommandPath())
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		e.What = fmt.Sprintf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid.GetFlag(), errors.Unwrap(invalid)))
	}
	if name, ok := unknownFlag(err); ok {
		e.What = "unknown flag " + name
		if near := nearestFlag(cmd, name); near != "" {
			e = e.Because("did you mean %s?", near)
		}
	}
	return e
}

// wanted says what the value of a flag must be.
func wanted(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "int", "int64", "uint", "count", "bytes":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a duration such as 500ms, 30s or 5m"
	case "bool":
		return "true or false"
	}
	return fmt.Sprintf("a %s: %v", f.Value.Type(), err)
}
