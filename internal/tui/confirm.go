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
	do              func(m *Model) tea.Cmd
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
		m.modal = nil
	case "tab", "shift+tab", "left", "right", "h", "l":
		c.onYes = !c.onYes
	case "enter":
		if !lone {
			return nil
		}
		m.modal = nil
		if c.onYes {
			return c.do(m)
		}
	}
	return nil
}

func (c *confirm) view(m *Model, w, _ int) []string {
	no, yes := "[ No ]", "[ "+c.yes+" ]"
	if c.onYes {
		yes = focused(&m.th, yes)
	} else {
		no = focused(&m.th, no)
	}
	inner := min(w-6, 70)
	var lines []string
	for _, l := range c.lines {
		lines = append(lines, text.Words(l, inner)...)
	}
	lines = append(lines, "", "    "+no+"      "+yes, m.th.paint(tokDim, "tab: choose   enter: press   esc: no"))
	return boxed(&m.th, tokWarn, c.title, "", lines, inner)
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
