package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
)

// defaultTimeout bounds a command that answers once.
const defaultTimeout = 30 * time.Second

// traits are what the shared code must know of a command.
type traits struct {
	long    bool // waits, watches or copies: no timeout unless one was asked for
	writes  bool // is refused in a read-only context
	pages   bool // may be shown in a pager
	lenient bool // works without usable settings; see session.settingsErr
	junit   bool // knows -o junit
}

// session is one run of one command: its arguments and settings, and what it
// needs, made when it is needed.
type session struct {
	*settings.Settings
	f           *factory
	io          *iostreams.Streams
	cmd         *cobra.Command
	args        []string
	out         io.Writer // stdout, or the pager
	format      printer.Format
	settingsErr error  // of a lenient command
	stdinUsed   string // the flag that read stdin
	client      *client.Client
}

// do makes a session around a command.
func (f *factory) do(t traits, fn func(ctx context.Context, s *session) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := f.session(cmd, args, t)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		if d := s.limit(t); d > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, d, &timeoutError{limit: d, long: t.long})
			defer cancel()
		}
		command := ""
		if t.pages && s.format.ForPerson() {
			command = s.Pager
		}
		pager := s.io.Pager(ctx, command)
		s.out = pager
		err = fn(ctx, s)
		if closeErr := pager.Close(); err == nil {
			err = closeErr
		}
		return s.timedOut(ctx, err)
	}
}

// timeoutError is the cause of a context whose --timeout ran out.
type timeoutError struct {
	limit time.Duration
	long  bool
}

func (e *timeoutError) Error() string { return fmt.Sprintf("the timeout of %s ran out", e.limit) }

// timedOut gives an error its real cause when time was up, whatever the error
// of the operation that was under way.
func (s *session) timedOut(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if t, ok := context.Cause(ctx).(*timeoutError); ok { //nolint:errorlint // a cause is not wrapped
		if e := (*exit.Error)(nil); asExit(err, &e) {
			return err
		}
		return t
	}
	return err
}

func (f *factory) session(cmd *cobra.Command, args []string, t traits) (*session, error) {
	s := &session{f: f, io: f.io, cmd: cmd, args: args}
	f.place = placeFlags(cmd)
	var err error
	if s.Settings, err = settings.Load(cmd.Flags(), f.env); err != nil {
		if !t.lenient {
			return nil, err
		}
		s.settingsErr = err
		s.Settings = &settings.Settings{Server: settings.DefaultServer, Output: flagValue(cmd, "output"), Color: flagValue(cmd, "color")}
	}
	f.format = s.Output
	if s.format, err = printer.ParseFormat(s.Output); err != nil {
		return nil, exit.Usagef("%v", err).Try("kernelctl help formatting")
	}
	if s.format.Kind == printer.JUnit && !t.junit {
		return nil, exit.Usagef("output format junit: only policies test and policies lint have it").Try("kernelctl help formatting")
	}
	if err := s.streams(); err != nil {
		return nil, err
	}
	for _, n := range s.Notes {
		s.io.Notef("note: %s", n)
	}
	if t.writes && s.Context != nil && s.Context.ReadOnly {
		return nil, exit.Usagef("context %s is read-only", s.Context.Name).
			Because("%s says read_only: true", s.Path).
			Try("kernelctl config set contexts.%s.read_only false", s.Context.Name)
	}
	return s, nil
}

// streams tells the streams what the settings say.
func (s *session) streams() error {
	mode, err := iostreams.ParseColorMode(s.Color)
	if err != nil {
		return exit.Usagef("%v", err)
	}
	if flagBool(s.cmd, "no-color") {
		mode = iostreams.ColorNever
	}
	s.io.Color = mode
	s.io.NoInput = s.NoInput
	s.io.Quiet = flagBool(s.cmd, "quiet")
	s.io.Accessible = s.Accessible
	return nil
}

func (s *session) limit(t traits) time.Duration {
	switch {
	case s.TimeoutSet:
		return s.Timeout
	case t.long:
		return 0
	}
	return defaultTimeout
}

func flagValue(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

func flagBool(cmd *cobra.Command, name string) bool { return flagValue(cmd, name) == "true" }

// connect is the client of the server in force.
func (s *session) connect(ctx context.Context) (*client.Client, error) {
	if s.client != nil {
		return s.client, nil
	}
	token, err := s.Token(ctx, s.io.In, s.io.Err)
	if err != nil {
		return nil, exit.Usagef("%v", err).Try("kernelctl config view --origin")
	}
	o := client.Options{
		Token:          token,
		UserAgent:      s.f.version.UserAgent(),
		RequestTimeout: s.RequestTimeout,
		Transport:      s.transport(),
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = -1 // --request-timeout 0 means none
	}
	if s.client, err = client.New(s.Server, o); err != nil {
		return nil, exit.Usagef("%v", err).Try("rerun with --server http://127.0.0.1:8080, or kernelctl config view --origin")
	}
	return s.client, nil
}

// now is the service's clock, as well as it is known. The difference is known
// to the second, so a small one is no difference.
func (s *session) now() time.Time {
	t := s.f.now()
	if s.client != nil {
		if d, ok := s.client.ClockOffset(); ok && d.Abs() > 2*time.Second {
			return t.Add(d)
		}
	}
	return t
}

// printer writes to stdout as the settings and the terminal say.
func (s *session) printer() *printer.Printer {
	tty := s.io.OutTTY
	p := &printer.Printer{
		Out:     s.out,
		Format:  s.format,
		Width:   s.io.Width,
		Color:   s.io.ColorOut(),
		Headers: !flagBool(s.cmd, "no-headers"),
		Full:    !tty,
		Screen:  tty,
		Times:   printer.TimeStyle(s.Time),
		UTC:     s.UTC || !tty,
		IDsOnly: s.io.Quiet,
		Now:     s.now,
	}
	if p.Format.Kind == printer.Auto {
		p.Format.Kind = printer.Table
		if !tty {
			p.Format.Kind = printer.TSV
		}
	}
	if p.Times == "" {
		p.Times = printer.Relative
		if !tty {
			p.Times = printer.ISO
		}
	}
	return p
}

// short is how running text calls an id.
func (s *session) short(id string) string {
	if s.io.ErrTTY {
		return printer.ShortID(id)
	}
	return id
}
