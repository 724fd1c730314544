package serve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	clientsettings "github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/demo"
	"github.com/agentkernel/kernelctl/internal/logging"
	"github.com/agentkernel/kernelctl/internal/tui"
)

// devUI runs the server, the company and the dashboard in one terminal. The
// dashboard ends first, then the agents, then the server.
func devUI(cmd *cobra.Command, h *cli.Host, s settings, seed uint64) error {
	// The settings of the client are the root's: --config of this command is the
	// manifest of the server.
	session, err := h.Session(cmd.Root())
	if err != nil {
		return err
	}
	by, err := cmd.Flags().GetString("by")
	if err != nil {
		return err
	}
	by = cmp.Or(by, session.Settings().User, "alice")
	stage, err := tui.NewStage(h, session.Settings(), cmd, "kernelctl dev --busy")
	if err != nil {
		return err
	}
	out, note := logFile()
	log := logging.New(out, s.LogFormat, s.LogLevel)
	err = run(cmd.Context(), h, s, log, func(ctx context.Context, d *daemon.Daemon) error {
		return perform(ctx, h, d, log, seed, func(ctx context.Context, c *client.Client) error {
			return stage.Show(ctx, tui.Place{Name: "dev", Client: c, By: by})
		})
	})
	if closeErr := out.Close(); closeErr != nil && err == nil {
		err = closeErr
	}
	h.Streams().Notef("%s", note)
	return err
}

// perform lets the company work while the dashboard is shown.
func perform(ctx context.Context, h *cli.Host, d *daemon.Daemon, log *slog.Logger, seed uint64, show func(context.Context, *client.Client) error) error {
	c, err := client.New(d.URL(), client.Options{UserAgent: h.Version().UserAgent()})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	company := make(chan error, 1)
	go func() {
		err := demo.Company(ctx, demo.CompanyOptions{Server: d.URL(), Seed: seed, Logger: log}, nil)
		if err != nil {
			stop(err) // an empty dashboard would not say why it is
		}
		company <- err
	}()
	err = show(ctx, c)
	stop(errDone)
	if companyErr := <-company; companyErr != nil && err == nil {
		err = companyErr
	}
	if err != nil {
		return err
	}
	return errDone
}

// logFile opens the log of a server whose terminal shows something else, and
// says where it is. Where no file can be had the log is dropped.
func logFile() (io.WriteCloser, string) {
	dir, err := clientsettings.StateDir(os.LookupEnv)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	path := filepath.Join(dir, "dev.log")
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600); err == nil { //nolint:gosec // the user's own folder
			return f, "the log of the server is in " + path
		}
	}
	return discard{}, fmt.Sprintf("there is no log of the server: %v", err)
}

// discard drops what is written to it.
type discard struct{}

// Write drops p.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Close does nothing.
func (discard) Close() error { return nil }
