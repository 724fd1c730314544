package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/logging"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/version"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Commands are those of this package, for [cli.Options].
func Commands() []func(*cli.Host) *cobra.Command {
	return []func(*cli.Host) *cobra.Command{newServe, newDev, newDemoAgent, newVerify, newBackup, newBench, newEcho, newTorture}
}

func newServe(h *cli.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `serve runs the service: it takes executions, hands them to agents, decides
their steps by policy, and keeps the log in one SQLite file.

Settings come from flags, then the environment (SERVICE_…), then the manifest of
--config, then defaults. A bearer token is required, unless --dev switches
authentication off on this machine. The log goes to standard error.`,
		Example: `  SERVICE_BEARER_TOKEN="$(openssl rand -hex 24)" kernelctl serve --db /var/lib/kernelctl/kernel.db
  kernelctl serve --bearer-token-file /etc/kernelctl/token --config agents.yaml
  kernelctl serve --dev`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := load(cmd)
			if err != nil {
				return err
			}
			return run(cmd.Context(), h, s, s.logger(h), func(_ context.Context, d *daemon.Daemon) error {
				if s.Dev {
					welcome(h.Streams().Err, d, h.Version())
				}
				return nil
			})
		},
	}
	config.Flags(cmd.Flags())
	return cmd
}

// settings are the configuration of one run.
type settings struct{ config.Server }

func load(cmd *cobra.Command) (settings, error) {
	s, err := config.Load(cmd.Flags(), os.LookupEnv, cmd.InOrStdin())
	var invalid *config.Invalid
	if errors.As(err, &invalid) {
		return settings{}, exit.Usagef("the server cannot start with these settings").
			Because("%s", strings.ReplaceAll(invalid.Error(), "\n", "\n       ")).Try("%s --help", cmd.CommandPath())
	}
	return settings{s}, err
}

func (s settings) logger(h *cli.Host) *slog.Logger {
	return logging.New(h.Streams().Err, s.LogFormat, s.LogLevel)
}

// headroom is what the heap may grow by, in bytes, before garbage is collected,
// beside as much again as lives. A service that keeps little would collect a
// dozen times a second otherwise, at the cost of a tenth of a large read.
const headroom = 10 << 20

// processors lets one more goroutine run than there are CPUs: the writer of the
// database spends a third of its time waiting for the disk, and keeps one of the
// runtime's processors for most of that. On two CPUs it is a tenth of all steps.
// GOMAXPROCS in the environment is taken as it is.
var processors = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})

// run builds a daemon, starts it, and lets beside work with it. It ends when
// the daemon or beside does, or the command's context.
func run(ctx context.Context, h *cli.Host, s settings, log *slog.Logger, beside func(context.Context, *daemon.Daemon) error) error {
	processors()
	// It counts as live for the collector and is never touched, so it takes no
	// memory. A higher GOGC would do the same for a small heap, and too much for a
	// large one.
	ballast := make([]byte, headroom)
	defer runtime.KeepAlive(ballast)
	d, err := daemon.Open(ctx, options(s, h.Version(), log))
	if err != nil {
		e := &exit.Error{Code: exit.Failed, What: "the server cannot start", Err: err, Why: err.Error()}
		if errors.Is(err, syscall.EADDRINUSE) {
			e.Next = "choose another address with --listen, or use the server that is there: kernelctl doctor"
		}
		return e
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan error, 1)
	go func() {
		select {
		case <-d.Ready():
			log.Info("serving", slog.String("url", d.URL()), slog.String("db", d.Path()), slog.Bool("dev", s.Dev), slog.String("version", h.Version().Version))
			err := beside(ctx, d)
			if err != nil {
				stop(err)
			}
			done <- err
		case <-ctx.Done():
			done <- nil
		}
	}()
	err = d.Run(ctx)
	stop(err)
	if besideErr := <-done; besideErr != nil && !errors.Is(besideErr, context.Canceled) {
		err = besideErr
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	return err
}

// errDone ends a run whose work is done.
var errDone = errors.New("done")

func options(s settings, v version.Info, log *slog.Logger) daemon.Options {
	o := daemon.Options{
		Listen: s.Listen, DB: s.DB, Dev: s.Dev, Token: string(s.BearerToken), MaxBodyBytes: s.MaxBodyBytes,
		WebhookAllow: s.WebhookAllow, DispatchTimeout: s.DispatchTimeout, DispatchMaxAttempts: s.DispatchMaxAttempts,
		DispatchConcurrency: s.DispatchConcurrency, LeaseTimeout: s.DispatchLeaseTimeout, ApprovalTimeout: s.ApprovalTimeout,
		ExecutionTimeout: s.ExecutionTimeout, Retention: s.Retention, Grace: s.ShutdownGrace, Logger: log,
		Version: wire.Version{Version: v.Version, Commit: v.Commit, Go: v.Go, Features: wire.List[string]{
			wire.FeatureLabels, wire.FeatureDeadlines, wire.FeatureIdempotencyKeys, wire.FeatureEventTail, wire.FeatureEventFeed,
			wire.FeatureApprovalFilters, wire.FeaturePolicyRead, wire.FeatureSignals,
		}},
	}
	for _, a := range s.Manifest.Agents {
		o.Agents = append(o.Agents, daemon.Agent{
			AgentSpec: store.AgentSpec{ID: kernel.AgentID(a.ID), WebhookURL: a.WebhookURL, Secret: string(a.Secret), Lease: a.LeaseTimeout},
			Policy:    a.Policy,
		})
	}
	return o
}

// welcome says where a development server is and what to try.
func welcome(w io.Writer, d *daemon.Daemon, v version.Info) {
	_, _ = fmt.Fprintf(w, `kernelctl %s  dev mode: no authentication, data is %s
  api      %s/v0
  next     %s agents register --help
           %s executions create --agent ID --watch

`, v.Version, keeping(d), d.URL(), command(d), command(d))
}

func keeping(d *daemon.Daemon) string {
	if d.Temporary() {
		return "removed at the end"
	}
	return "kept in " + d.Path()
}

// command is how to call the client for this server.
func command(d *daemon.Daemon) string {
	const usual = "http://127.0.0.1:8080"
	if d.URL() == usual {
		return "kernelctl"
	}
	return "kernelctl -s " + d.URL()
}
