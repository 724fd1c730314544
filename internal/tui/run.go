package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Run shows the dashboard until it is quit or ctx ends, and puts the terminal
// back as it was. In and out must be a terminal.
func Run(ctx context.Context, p Place, o Options, in, out *os.File, color bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	term := newScreen(out)
	if o.Terminal == nil {
		o.Terminal = term
	}
	m, err := NewModel(ctx, p, o, color)
	if err != nil {
		return err
	}
	m.tty.in, m.tty.out = in, out
	defer m.settleState()()
	defer m.life.wg.Wait()
	defer cancel()
	opts := []tea.ProgramOption{
		tea.WithInput(in), tea.WithOutput(term), tea.WithAltScreen(),
		tea.WithoutSignalHandler(), tea.WithReportFocus(),
	}
	if o.Mouse {
		opts = append(opts, tea.WithMouseCellMotion())
	}
	g := &guard{Model: m}
	program := tea.NewProgram(g, opts...)
	g.quit = program.Quit
	// Not WithContext: a program that is killed closes its input while it reads it.
	defer context.AfterFunc(ctx, program.Quit)()
	if _, err = program.Run(); err == nil {
		err = g.failed
	}
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrInterrupted):
		return nil
	case err != nil:
		m.file.note(time.Now(), err.Error())
		return fmt.Errorf("run the dashboard: %w", err)
	}
	return nil
}

// guard ends the program in an orderly way when the model panics, for the reason
// that keeps [Run] from killing it.
type guard struct {
	*Model
	quit   func()
	failed error
}

func (g *guard) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = g // also after a panic
	defer g.recover()
	if g.failed == nil {
		_, cmd = g.Model.Update(msg)
	}
	return next, cmd
}

func (g *guard) View() string {
	defer g.recover()
	if g.failed != nil {
		return ""
	}
	return g.Model.View()
}

func (g *guard) recover() {
	if p := recover(); p != nil {
		g.failed = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		go g.quit() // it waits until the program takes it, which is here
	}
}

// settleState takes up what was remembered and opens the log; what it gives is
// to be called at the end. Neither is worth not to start: what fails is said.
func (m *Model) settleState() (end func()) {
	dir := m.opt.StateDir
	if dir == "" {
		return func() {}
	}
	var err error
	if m.file, err = openJournal(dir); err != nil {
		m.fail(err)
	}
	s, err := loadMemory(dir)
	if err != nil {
		m.fail(err)
	}
	m.remember(s)
	return func() {
		if err := m.memory().save(dir); err != nil {
			m.file.note(time.Now(), err.Error())
		}
		m.file.close()
	}
}
