package tui

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
)

// programGrace is how long a program that was killed may keep its files open.
const programGrace = time.Second

// program is a command line of the person's, with a file at its end (no file:
// empty), on the terminal: a program that is given a pipe would not draw.
func (m *Model) program(line, file string) *exec.Cmd {
	cmd := commandLine(m.life.ctx, line, file)
	cmd.WaitDelay = programGrace
	if m.tty.out != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = m.tty.in, m.tty.out, m.tty.out
	}
	return cmd
}

func commandLine(ctx context.Context, line, file string) *exec.Cmd {
	switch {
	case file == "":
		return iostreams.Shell(ctx, line)
	case runtime.GOOS == "windows":
		return iostreams.Shell(ctx, line+" "+file)
	}
	cmd := iostreams.Shell(ctx, line+` "$1"`)
	cmd.Args = append(cmd.Args, line, file) // $0 and $1: a name needs no quotes then
	return cmd
}

// pagedMsg tells that the pager has ended.
type pagedMsg struct {
	line string
	err  error
}

// page gives the text that is read here to the pager, whole, unfolded, and as
// clean as it is drawn. The dashboard waits meanwhile; what it misses, it asks
// for afterwards.
func (m *Model) page() tea.Cmd {
	v := m.text()
	if v == nil {
		return nil
	}
	full := v.full()
	var b strings.Builder
	for _, l := range full.lines {
		b.WriteString(l.text + "\n")
	}
	if full.cut > 0 {
		fmt.Fprintf(&b, "… %d more bytes\n", full.cut)
	}
	line := m.opt.Pager
	if line == "" {
		line = "less"
	}
	cmd := m.program(line, "")
	cmd.Stdin = strings.NewReader(b.String())
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return pagedMsg{line, err} })
}

func (m *Model) paged(p pagedMsg) tea.Cmd {
	if p.err != nil {
		m.fail(fmt.Errorf("pager %s: %w", p.line, p.err))
	}
	return m.back()
}

// back asks for what may have changed while another program had the terminal.
func (m *Model) back() tea.Cmd { return tea.Batch(tea.ClearScreen, m.enter()) }
