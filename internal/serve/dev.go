package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/demo"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// tourLease is short, so that the tour need not wait long for the lease of the
// agent that it kills; the shortest there is.
const tourLease = 10 * time.Second

func newDev(h *cli.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a development server with demo agents in it",
		Long: `dev is serve --dev with a built-in agent, so that there is something to see: it
searches, asks a (fake) model and wants to send a mail, for which its policy asks
a person. Nothing needs to be installed or written first.

With --busy it is four agents instead (research, ops, billing, support), with work
that does not end: approvals, denials, limits, failures, signals. With --ui the
dashboard shows them in this terminal; the log of the server goes to a file, and
quitting the dashboard stops everything.

With --tour it runs the main job by itself and ends: an agent works, is killed
half way, is started again, repeats nothing, waits for a person, and finishes.`,
		Example: `  kernelctl dev
  kernelctl dev --ui
  kernelctl dev --tour
  kernelctl dev --busy --listen 127.0.0.1:9090 --db ./demo.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return dev(cmd, h) },
	}
	fs := cmd.Flags()
	config.Flags(fs)
	fs.Bool("ui", false, "show the dashboard, with four agents at work")
	fs.Bool("busy", false, "four agents at work instead of the one")
	fs.Bool("tour", false, "run the main job once, show it, and end")
	fs.Uint64("seed", 1, "which work the four agents get, and in which order")
	fs.String("by", "", "who decides approvals in the dashboard (alice)")
	fs.String("screen", "", "first screen of the dashboard: approvals, executions, agents or metrics")
	fs.String("theme", "", "of the dashboard: auto, ansi, dark, light or mono")
	_ = fs.MarkHidden("dev")          // it is what this command is
	_ = fs.MarkHidden("bearer-token") // there is no authentication
	_ = fs.MarkHidden("bearer-token-file")
	return cmd
}

func dev(cmd *cobra.Command, h *cli.Host) error {
	fs := cmd.Flags()
	tour, err := fs.GetBool("tour")
	if err != nil {
		return err
	}
	ui, err := fs.GetBool("ui")
	if err != nil {
		return err
	}
	busy, err := fs.GetBool("busy")
	if err != nil {
		return err
	}
	seed, err := fs.GetUint64("seed")
	if err != nil {
		return err
	}
	if tour && (ui || busy) {
		return exit.Usagef("--tour is one run and goes with neither --ui nor --busy").Try("kernelctl dev --tour")
	}
	if err := fs.Set("dev", "true"); err != nil {
		return err
	}
	if tour && !fs.Changed("listen") {
		if err := fs.Set("listen", "127.0.0.1:0"); err != nil { // no clash with a server that runs
			return err
		}
	}
	s, err := load(cmd)
	if err != nil {
		return err
	}
	log := s.logger(h)
	switch {
	case ui:
		return devUI(cmd, h, s, seed)
	case tour:
		if !fs.Changed("log-level") {
			log = slog.New(slog.DiscardHandler)
		}
		return run(cmd.Context(), h, s, log, func(ctx context.Context, d *daemon.Daemon) error {
			if err := guide(ctx, d, h.Streams().Out); err != nil {
				return err
			}
			return errDone
		})
	case busy:
		return run(cmd.Context(), h, s, log, func(ctx context.Context, d *daemon.Daemon) error {
			return demo.Company(ctx, demo.CompanyOptions{Server: d.URL(), Seed: seed, Logger: log}, func() { introduce(h, d) })
		})
	}
	return run(cmd.Context(), h, s, log, func(ctx context.Context, d *daemon.Daemon) error {
		return demo.Serve(ctx, demo.Options{Server: d.URL(), Logger: log}, func() { invite(ctx, h, d, log) })
	})
}

// introduce says who is at work and how to look at it.
func introduce(h *cli.Host, d *daemon.Daemon) {
	c := command(d)
	_, _ = fmt.Fprintf(h.Streams().Err, `kernelctl %s  dev mode: no authentication, data is %s
  api      %s/v0
  working  the agents research, ops, billing and support
  next     %s ui --by alice
           %s approvals list

`, h.Version().Version, keeping(d), d.URL(), c, c)
}

// guide runs the tour with agents in processes of their own, which can be killed.
func guide(ctx context.Context, d *daemon.Daemon, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return demo.Tour(ctx, demo.TourOptions{
		Server: d.URL(), Out: out, By: "alice",
		Agent: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, demoAgentName, "--api", d.URL())
		},
	})
}

// invite starts a first execution and says what to do with it.
func invite(ctx context.Context, h *cli.Host, d *daemon.Daemon, log *slog.Logger) {
	out := h.Streams().Err
	_, _ = fmt.Fprintf(out, "kernelctl %s  dev mode: no authentication, data is %s\n  api      %s/v0\n", h.Version().Version, keeping(d), d.URL())
	api, err := client.New(d.URL(), client.Options{})
	if err == nil {
		var x wire.Execution
		if x, _, err = api.CreateExecution(ctx, wire.CreateExecution{AgentID: demo.ID}, ""); err == nil {
			_, _ = fmt.Fprintf(out, "  running  execution %s of the demo agent; it will ask before it sends a mail\n", x.ID)
		}
	}
	if err != nil {
		log.Warn("start a demo execution", slog.Any("err", err))
	}
	c := command(d)
	_, _ = fmt.Fprintf(out, "  next     %s approvals list\n           %s approvals grant --by alice\n           %s executions create --agent %s --watch\n\n", c, c, c, demo.ID)
}

// demoAgentName is the hidden command that runs the demo agent alone.
const demoAgentName = "demo-agent"

func newDemoAgent(h *cli.Host) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:     demoAgentName,
		Short:   "Run the demo agent in a process of its own",
		Long:    "demo-agent runs the agent of `kernelctl dev` against a development server.",
		Example: "  kernelctl demo-agent --api http://127.0.0.1:8080",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := h.Streams().Out
			return demo.Serve(cmd.Context(), demo.Options{Server: server, Lease: tourLease, Effects: out}, func() { demo.Ready(out) })
		},
	}
	cmd.Flags().StringVar(&server, "api", "http://127.0.0.1:8080", "address of the development server")
	return cmd
}
