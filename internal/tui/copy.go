package tui

import (
	"context"
	"encoding/json"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// copiedMsg tells how something was copied.
type copiedMsg struct {
	what string
	n    int
	how  string
	err  error
}

// copyWhat copies what the second key of y names.
func (m *Model) copyWhat(k string) tea.Cmd {
	what := map[string]string{"i": "id", "e": "execution", "s": "step", "a": "args", "j": "JSON"}[k]
	if what == "" {
		return nil
	}
	s := m.copyText(what)
	if s == "" {
		m.say("there is no %s here", what)
		return nil
	}
	if m.opt.Terminal == nil {
		m.say("this terminal cannot copy")
		return nil
	}
	term := m.opt.Terminal
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		how, err := term.Copy(ctx, s)
		return copiedMsg{what, len(s), how, err}
	})
}

func (m *Model) copied(c copiedMsg) {
	if c.err != nil {
		m.fail(fmt.Errorf("copy %s: %w", c.what, c.err))
		return
	}
	m.say("copied %s, %d bytes, by %s", c.what, c.n, c.how)
}

func (m *Model) copyText(what string) string {
	switch m.screen {
	case scrApprovals:
		if a := m.ap.selected(m.st); a != nil {
			return pick(what, a.ID, a.ExecutionID, a.StepID, a.Args, a.Approval)
		}
	case scrExecutions:
		if len(m.st.executions) == 0 {
			return tryCreate
		}
		if e := m.st.executions[m.ex.cur]; e != nil {
			return pick(what, e.ID, e.ID, "", nil, e.Execution)
		}
	case scrDetail:
		return m.de.copyText(what)
	case scrAgents:
		for _, a := range m.st.agents {
			if a.ID == m.ag.cur {
				return pick(what, a.ID, "", "", nil, a)
			}
		}
	case scrDiverge:
		return pick(what, m.dv.ids[0]+" "+m.dv.ids[1], m.dv.ids[0], "", nil, m.dv.ids)
	case scrMetrics:
	}
	return ""
}

func pick(what, id, exec, step string, args json.RawMessage, whole any) string {
	switch what {
	case "id":
		return id
	case "execution":
		return exec
	case "step":
		return step
	case "args":
		return string(args)
	}
	b, err := wire.Marshal(whole)
	if err != nil {
		return ""
	}
	return string(b)
}
