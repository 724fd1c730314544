package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// confirm asks a question whose answer is No unless somebody goes to Yes.
type confirm struct {
	title, yes      string
	lines           []string
	opened, pressed time.Time
	onYes           bool
	top             int // of the lines
	do              func(m *Model) tea.Cmd
	not             func(m *Model) tea.Cmd // No was chosen; nil: nothing
}

func (c *confirm) key(m *Model, k tea.KeyMsg) tea.Cmd {
	now := m.now()
	lone := now.Sub(c.pressed) >= alone
	c.pressed = now
	if now.Sub(c.opened) < deaf {
		return nil
	}
	switch k.String() {
	case "esc", "q", "n":
		return c.close(m)
	case "tab", "shift+tab", "left", "right", "h", "l":
		c.onYes = !c.onYes
	case "enter":
		if !lone {
			return nil
		}
		if !c.onYes {
			return c.close(m)
		}
		m.modal = nil
		return c.do(m)
	case "down", "j":
		c.top++
	case "up", "k":
		c.top--
	case "pgdown", "ctrl+d":
		c.top += c.room(m)
	case "pgup", "ctrl+u":
		c.top -= c.room(m)
	}
	c.top = max(min(c.top, len(c.body(m))-c.room(m)), 0)
	return nil
}

func (c *confirm) close(m *Model) tea.Cmd {
	m.modal = nil
	if c.not != nil {
		return c.not(m)
	}
	return nil
}

// room is how many lines of its text fit.
func (c *confirm) room(m *Model) int { return max(m.h-7, 1) }

func (c *confirm) width(m *Model) int {
	w := 70
	for _, l := range c.lines {
		w = max(w, text.Width(l))
	}
	return min(m.w-6, w, 110)
}

// body is the text, broken where it is too long.
func (c *confirm) body(m *Model) []string {
	var lines []string
	for _, l := range c.lines {
		lines = append(lines, text.Words(l, c.width(m))...)
	}
	return lines
}

func (c *confirm) view(m *Model, _, _ int) []string {
	no, yes := "[ No ]", "[ "+c.yes+" ]"
	if c.onYes {
		yes = focused(&m.th, yes)
	} else {
		no = focused(&m.th, no)
	}
	all := c.body(m)
	top := min(c.top, len(all))
	lines := append([]string{}, all[top:min(top+c.room(m), len(all))]...)
	help, end := "tab: choose   enter: press   esc: no", ""
	if len(all) > c.room(m) {
		help, end = help+"   pgdn pgup: more", fmt.Sprintf("%d-%d of %d", top+1, top+len(lines), len(all))
	}
	lines = append(lines, "", "    "+no+"      "+yes, m.th.paint(tokDim, help))
	return boxed(&m.th, tokWarn, c.title, end, lines, c.width(m))
}

// cancelledMsg is the answer to the cancelling of an execution.
type cancelledMsg struct {
	id  string
	err error
}

// startCancel asks whether to cancel an execution.
func (m *Model) startCancel(id string) tea.Cmd {
	e := m.st.executions[id]
	switch {
	case m.readOnly():
		m.say("read-only: nothing can be cancelled here")
		return nil
	case !m.conn.online():
		m.say("offline: nothing can be cancelled now")
		return nil
	case e == nil:
		return nil
	case e.Status.Terminal():
		m.say("%s is %s already", short(id), e.Status)
		return nil
	}
	m.modal = &confirm{
		title: "CANCEL " + short(id), yes: "Cancel the run", opened: m.now(),
		lines: []string{
			fmt.Sprintf("execution %s of agent %s is %s.", text.Clean(id), text.Clean(e.AgentID), e.Status),
			"It ends now; its agent is told at its next call. This cannot be undone.",
		},
		do: func(m *Model) tea.Cmd {
			c := m.place.Client
			return m.life.ask(askLimit, func(ctx context.Context) tea.Msg { return cancelledMsg{id, c.CancelExecution(ctx, id)} })
		},
	}
	return nil
}

func (m *Model) cancelled(r cancelledMsg) tea.Cmd {
	if r.err == nil {
		m.say("cancelled %s", short(r.id))
		return nil
	}
	if client.StatusOf(r.err) == 409 {
		m.say("not cancelled: %s has ended", short(r.id))
		return nil
	}
	m.fail(fmt.Errorf("cancel %s: %w", short(r.id), r.err))
	return nil
}
