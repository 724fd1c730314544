package tui

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"
)

// Run shows the dashboard until it is quit or ctx ends, and puts the terminal
// back as it was. In and out must be a terminal.
func Run(ctx context.Context, p Place, o Options, in, out *os.File, color bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	term := &screen{File: out, tmux: os.Getenv("TMUX") != ""}
	if o.Terminal == nil {
		o.Terminal = term
	}
	m, err := NewModel(ctx, p, o, color)
	if err != nil {
		return err
	}
	defer m.life.wg.Wait()
	defer cancel()
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(term), tea.WithAltScreen(),
		tea.WithoutSignalHandler(), tea.WithReportFocus(),
	}
	if o.Mouse {
		opts = append(opts, tea.WithMouseCellMotion())
	}
	_, err = tea.NewProgram(m, opts...).Run()
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrInterrupted):
		return nil
	case err != nil:
		return fmt.Errorf("run the dashboard: %w", err)
	}
	return nil
}
