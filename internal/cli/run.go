package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/version"
)

// Stdio are the three standard streams.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Options are what a command line may be told. The zero value is the whole of
// this package with the process's own environment and clock.
type Options struct {
	Version   version.Info
	LookupEnv func(name string) (string, bool)
	Now       func() time.Time
	// Commands are those of other packages. Each is called once, with what it
	// may use of this one, and returns a command for the root.
	Commands []func(*Host) *cobra.Command
}

// Run runs one command line, without the program's name, and returns its exit
// code. It handles SIGINT and SIGTERM: the first cancels the command's context,
// the second ends the process.
func Run(ctx context.Context, args []string, stdio Stdio, o Options) int {
	ctx, stop := withSignals(ctx)
	defer stop()
	f, root := build(stdio, o) //nolint:contextcheck // commands get the context from cobra, when they run
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && ctx.Err() != nil {
		err = interruption(err, cause)
	}
	if err == nil {
		return int(exit.OK)
	}
	return int(f.report(err, wantsJSON(args)))
}

// Tree is the whole tree of commands, for tests and for what is made of it.
func Tree(stdio Stdio, o Options) *cobra.Command {
	_, root := build(stdio, o)
	return root
}

func build(stdio Stdio, o Options) (*factory, *cobra.Command) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Version == (version.Info{}) {
		o.Version = version.Get()
	}
	f := &factory{
		io:      iostreams.New(stdio.In, stdio.Out, stdio.Err, o.LookupEnv),
		env:     o.LookupEnv,
		version: o.Version,
		now:     o.Now,
		shapes:  shapes(),
	}
	root := newRoot(f, o.Commands)
	root.SetIn(f.io.In)
	root.SetOut(f.io.Out)
	root.SetErr(f.io.Err)
	return f, root
}

// signalError is the cause of a context that a signal cancelled.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return e.signal.String() }

// withSignals cancels the context with a signalError on the first signal and
// gives signals back to the system then, so that the second one ends a command
// that does not listen. A closed pipe becomes an error of the write instead of
// the death of the process.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&signalError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
		signal.Stop(signals)
		signal.Stop(pipes)
	}
}
