package tui

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
	_ "github.com/agentkernel/kernelctl/internal/tui/guard" // every command must stay quiet
)

// Commands are those of this package, for [cli.Options].
func Commands() []func(*cli.Host) *cobra.Command {
	return []func(*cli.Host) *cobra.Command{newUI}
}

func newUI(h *cli.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ui",
		Aliases: []string{"dashboard", "tui"},
		Short:   "Open the dashboard: approvals, executions, agents, metrics",
		Long: `ui shows in this terminal what waits for a decision, what runs and what it did,
live. ? lists the keys of each screen.

Approvals are decided as the user of the context, KERNELCTL_BY or --by. Nothing
is decided with one key: g and d open a question that shows all arguments.

The section ui of the configuration file sets theme (auto, ansi, dark, light,
mono), notify (bell, osc9, off), mouse (true, false) and keys (ACTION: KEYS).`,
		Example: `  kernelctl ui --by alice
  kernelctl ui --screen executions
  kernelctl ui --context prod --read-only`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUI(cmd, h) },
	}
	fs := cmd.Flags()
	fs.String("by", "", "who decides approvals")
	fs.String("screen", "", "first screen: approvals, executions, agents or metrics")
	fs.Bool("read-only", false, "decide and cancel nothing")
	fs.String("theme", "", "auto, ansi, dark, light or mono")
	return cmd
}

func runUI(cmd *cobra.Command, h *cli.Host) error {
	s, err := h.Session(cmd)
	if err != nil {
		return err
	}
	io, set := h.Streams(), s.Settings()
	in, out, err := terminal(io, set)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP) // a terminal that went away
	defer stop()
	p, err := place(ctx, h, set)
	if err != nil {
		return err
	}
	o := options(cmd, h, set)
	io.Quiet = true // notes would be written over the frames
	err = Run(ctx, p, o, in, out, io.ColorOut())
	if err != nil && ctx.Err() == nil {
		return exit.Usagef("the dashboard cannot start").Because("%v", err).Try("kernelctl ui --help")
	}
	return err
}

// terminal makes sure that there is one to draw on.
func terminal(io *iostreams.Streams, set *settings.Settings) (in, out *os.File, err error) {
	in, okIn := io.In.(*os.File)
	out, okOut := io.Out.(*os.File)
	instead := "kernelctl approvals watch"
	switch {
	case !io.InTTY || !io.OutTTY || !okIn || !okOut:
		return nil, nil, exit.Usagef("the dashboard needs a terminal").Because("input or output is none").Try("%s", instead)
	case io.Dumb():
		return nil, nil, exit.Usagef("the dashboard cannot draw here").Because("TERM is dumb").Try("%s", instead)
	case set.Accessible || io.Accessible:
		return nil, nil, exit.Usagef("the dashboard redraws the screen all the time").Because("--accessible or ACCESSIBLE asks for none of that").Try("%s", instead)
	}
	return in, out, nil
}

// place is the service that the settings name. It has a client of its own: that
// of commands shows a spinner.
func place(ctx context.Context, h *cli.Host, set *settings.Settings) (Place, error) {
	token, err := set.Token(ctx, h.Streams().In, h.Streams().Err)
	if err != nil {
		return Place{}, exit.Usagef("%v", err).Try("kernelctl config view --origin")
	}
	c, err := client.New(set.Server, client.Options{Token: token, UserAgent: h.Version().UserAgent(), RequestTimeout: set.RequestTimeout})
	if err != nil {
		return Place{}, exit.Usagef("%v", err).Try("kernelctl config view --origin")
	}
	p := Place{Client: c, By: set.User}
	if set.Context != nil {
		p.Name, p.ReadOnly, p.Color = set.Context.Name, set.Context.ReadOnly, set.Context.Color
	}
	return p, nil
}

// options are the flags, and the section ui of the configuration.
func options(cmd *cobra.Command, h *cli.Host, set *settings.Settings) Options {
	text := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return f.Value.String()
		}
		if v, ok := set.UI[name]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
	o := Options{
		Screen: text("screen"), Theme: text("theme"), Notify: text("notify"), Mouse: text("mouse") == "true",
		ReadOnly: text("read-only") == "true", Rationale: set.RequireRationale, Keys: map[string]string{},
	}
	if keys, ok := set.UI["keys"].(map[string]any); ok {
		for k, v := range keys {
			o.Keys[k] = strings.TrimSpace(fmt.Sprint(v))
		}
	}
	for _, c := range set.Contexts {
		o.Contexts = append(o.Contexts, c.Name)
	}
	o.Dial = func(ctx context.Context, name string) (Place, error) {
		fs := cmd.Flags()
		if err := fs.Set("context", name); err != nil {
			return Place{}, err
		}
		next, err := settings.Load(fs, os.LookupEnv)
		if err != nil {
			return Place{}, err
		}
		if next.ReadsStdin() {
			return Place{}, fmt.Errorf("context %s reads its token from stdin, which is the keyboard here", name)
		}
		return place(ctx, h, next)
	}
	return o
}
