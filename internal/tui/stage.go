package tui

import (
	"cmp"
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
)

// Stage is a terminal that a command can show a dashboard on, with what the
// flags of the command and the settings say of its looks.
type Stage struct {
	in, out *os.File
	io      *iostreams.Streams
	options Options
	command string
}

// NewStage makes sure that there is a terminal to draw on; where there is none,
// the error is one of usage that names what to run instead. The command may have
// the flags screen, theme and read-only.
func NewStage(h *cli.Host, set *settings.Settings, cmd *cobra.Command, instead string) (*Stage, error) {
	s := &Stage{io: h.Streams(), command: cmd.CommandPath()}
	var okIn, okOut bool
	s.in, okIn = s.io.In.(*os.File)
	s.out, okOut = s.io.Out.(*os.File)
	switch {
	case !s.io.InTTY || !s.io.OutTTY || !okIn || !okOut:
		return nil, exit.Usagef("the dashboard needs a terminal").Because("input or output is none").Try("%s", instead)
	case s.io.Dumb():
		return nil, exit.Usagef("the dashboard cannot draw here").Because("TERM is dumb").Try("%s", instead)
	case set.Accessible || s.io.Accessible:
		return nil, exit.Usagef("the dashboard redraws the screen all the time").Because("--accessible or ACCESSIBLE asks for none of that").Try("%s", instead)
	}
	s.options = options(cmd, set, s.io)
	return s, nil
}

// Show shows the dashboard until it is quit, ctx ends, or the terminal goes
// away, and puts the terminal back as it was.
func (s *Stage) Show(ctx context.Context, p Place) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // a terminal that went away
	defer stop()
	quiet := s.io.Quiet
	s.io.Quiet = true // notes would be written over the frames
	defer func() { s.io.Quiet = quiet }()
	err := Run(ctx, p, s.options, s.in, s.out, s.io.ColorOut())
	if err != nil && ctx.Err() == nil {
		return exit.Usagef("the dashboard cannot start").Because("%v", err).Try("%s --help", s.command)
	}
	return err
}

// options are the flags, and the section ui of the configuration.
func options(cmd *cobra.Command, set *settings.Settings, io *iostreams.Streams) Options {
	text := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return f.Value.String()
		}
		if v, ok := set.UI[name]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
	dir, err := settings.StateDir(os.LookupEnv)
	if err != nil {
		dir = "" // then nothing is remembered
	}
	o := Options{
		Screen: text("screen"), Theme: text("theme"), Borders: text("borders"), Notify: text("notify"), Mouse: text("mouse") == "true",
		ReadOnly: text("read-only") == "true", Rationale: set.RequireRationale, Keys: map[string]string{},
		Editor: cmp.Or(io.Env("VISUAL"), io.Env("EDITOR")), Pager: cmp.Or(set.Pager, io.Env("PAGER")), StateDir: dir,
	}
	if keys, ok := set.UI["keys"].(map[string]any); ok {
		for k, v := range keys {
			o.Keys[k] = strings.TrimSpace(fmt.Sprint(v))
		}
	}
	return o
}
