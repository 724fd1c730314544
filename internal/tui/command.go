package tui

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
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
mono), borders (ascii, unicode), notify (bell, osc9, off), mouse (true, false)
and keys (ACTION: KEYS). The screen, the orders and the filters of last time come
again; they are kept in tui.json, and errors in tui.log, in
$XDG_STATE_HOME/kernelctl. With --accessible it is kernelctl approvals watch.`,
		Example: `  kernelctl ui --by alice
  kernelctl ui --screen executions
  kernelctl ui --context prod --read-only`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUI(cmd, h) },

		Annotations: map[string]string{cli.KeysAnnotation: keysHelp()},
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
	set := s.Settings()
	if io := h.Streams(); set.Accessible || io.Accessible {
		io.Notef("note: nothing is redrawn, so this is kernelctl approvals watch")
		return instead(cmd, "approvals", "watch")
	}
	stage, err := NewStage(h, set, cmd, "kernelctl approvals watch")
	if err != nil {
		return err
	}
	p, err := place(cmd.Context(), h, set)
	if err != nil {
		return err
	}
	stage.contexts(cmd, h, set)
	return stage.Show(cmd.Context(), p)
}

// instead runs another command of the same program, with the global flags of
// cmd.
func instead(cmd *cobra.Command, words ...string) error {
	other, _, err := cmd.Root().Find(words)
	if err != nil {
		return err
	}
	if err := other.ParseFlags(nil); err != nil { // which lets it inherit the global flags
		return err
	}
	other.SetContext(cmd.Context())
	return other.RunE(other, nil)
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

// contexts lets the dashboard go to other services.
func (s *Stage) contexts(cmd *cobra.Command, h *cli.Host, set *settings.Settings) {
	for _, c := range set.Contexts {
		s.options.Contexts = append(s.options.Contexts, c.Name)
	}
	s.options.Dial = func(ctx context.Context, name string) (Place, error) {
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
}
