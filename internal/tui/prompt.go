package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// prompt is a line that is typed at the bottom: a filter, a search, or a
// command of the palette.
type prompt struct {
	sign   string
	field  field
	before string // the filter to go back to
	live   func(m *Model, s string)
	done   func(m *Model, s string) tea.Cmd
	help   func(m *Model, s string) string
	expand func(m *Model, s string) string
}

func (p *prompt) key(m *Model, k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.prompt = nil
		if p.live != nil {
			p.live(m, p.before)
		}
		return nil
	case "enter":
		m.prompt = nil
		return p.done(m, p.field.value())
	case "tab":
		if p.expand != nil {
			p.field.set(p.expand(m, string(p.field.runes)))
		}
		return nil
	case "backspace":
		if len(p.field.runes) == 0 {
			m.prompt = nil
			return nil
		}
	}
	if p.field.key(k) && p.live != nil {
		p.live(m, p.field.value())
	}
	return nil
}

func (p *prompt) view(m *Model) string {
	return p.sign + " " + p.field.view(&m.th, m.w-3, true)
}

func (p *prompt) hint(m *Model) string {
	if p.help == nil {
		return ""
	}
	return p.help(m, string(p.field.runes))
}

// searches reports whether / looks for a place in a text, and not for rows.
func (m *Model) searches() bool {
	return m.screen == scrAgents || m.screen == scrDiverge || m.reading()
}

// reading reports whether keys go to a text beside or below a list.
func (m *Model) reading() bool {
	switch m.screen {
	case scrApprovals:
		return m.ap.onText
	case scrAgents:
		return m.ag.onText
	case scrDetail:
		return m.de.text() != nil
	case scrExecutions, scrMetrics, scrDiverge:
	}
	return false
}

// text is what is read, or would be, on the screen; nil when there is none.
func (m *Model) text() *docView {
	switch m.screen {
	case scrApprovals:
		if m.ap.cur != "" && m.ap.args.key == m.ap.cur { // never that of another one
			return &m.ap.args
		}
	case scrAgents:
		return &m.ag.policy
	case scrDetail:
		if v := m.de.text(); v != nil {
			return v
		}
		return &m.de.card
	case scrDiverge:
		return &m.dv.view
	case scrExecutions, scrMetrics:
	}
	return nil
}

// newFilter is the prompt of /.
func (m *Model) newFilter() *prompt {
	if m.screen == scrMetrics {
		return nil
	}
	if m.searches() {
		return &prompt{
			sign: "/",
			done: func(m *Model, s string) tea.Cmd { m.search(strings.ToLower(s)); return nil },
			help: func(*Model, string) string { return "then n and N: next and previous" },
		}
	}
	return &prompt{
		sign: "/", field: newField(m.filtered()), before: m.filtered(),
		live: (*Model).setFilter,
		done: func(m *Model, s string) tea.Cmd { m.setFilter(s); return nil },
		help: func(m *Model, _ string) string {
			if m.screen == scrDetail {
				return "words, status:"
			}
			return "words, status: agent: rule: target: label:key=value"
		},
	}
}

// filtered is the filter in force on the screen.
func (m *Model) filtered() string {
	switch m.screen {
	case scrApprovals:
		return m.ap.filter
	case scrExecutions:
		return m.ex.filter
	case scrDetail:
		return m.de.filter
	case scrAgents, scrMetrics, scrDiverge:
	}
	return ""
}

func (m *Model) setFilter(s string) {
	switch m.screen {
	case scrApprovals:
		m.ap.filter, m.ap.parsed = s, parseFilter(s)
	case scrExecutions:
		m.ex.filter, m.ex.parsed = s, parseFilter(s)
	case scrDetail:
		m.de.setFilter(s)
	case scrAgents, scrMetrics, scrDiverge:
	}
}

// search looks for a text in the pane that is read.
func (m *Model) search(s string) {
	v := m.text()
	if v == nil {
		return
	}
	v.find = s
	if s != "" && !strings.Contains(strings.ToLower(v.current()), s) && !v.search(1) {
		m.say("not found")
	}
}
