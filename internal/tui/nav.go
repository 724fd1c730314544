package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// spot is a place in the history.
type spot struct {
	screen screenID
	id     string // of an execution
	other  string // of the one it is compared with
}

// history is where one has been.
type history struct {
	spots []spot
	at    int
}

const maxHistory = 100

// note takes a new place; what was ahead is forgotten.
func (h *history) note(s spot) {
	if h.at < len(h.spots) && h.spots[h.at] == s {
		return
	}
	if len(h.spots) > 0 {
		h.spots = h.spots[:h.at+1]
	}
	h.spots = append(h.spots, s)
	if len(h.spots) > maxHistory {
		h.spots = h.spots[1:]
	}
	h.at = len(h.spots) - 1
}

func (m *Model) spot() spot {
	s := spot{screen: m.screen}
	switch m.screen {
	case scrDetail:
		s.id = m.de.id
	case scrDiverge:
		s.id, s.other = m.dv.ids[0], m.dv.ids[1]
	case scrApprovals, scrExecutions, scrAgents, scrMetrics:
	}
	return s
}

// history moves through the places.
func (m *Model) history(n int) tea.Cmd {
	i := m.hist.at + n
	if i < 0 || i >= len(m.hist.spots) {
		return nil
	}
	m.hist.at = i
	return m.settle(m.hist.spots[i])
}

// settle shows a place without noting it.
func (m *Model) settle(s spot) tea.Cmd {
	if s.screen != scrDetail || m.de != nil && m.de.id != s.id {
		m.de.close()
		m.de = nil
	}
	m.screen = s.screen
	switch s.screen {
	case scrDetail:
		if m.de == nil {
			return m.startDetail(s.id)
		}
	case scrDiverge:
		return m.startDiverge([2]string{s.id, s.other})
	case scrApprovals, scrExecutions, scrAgents, scrMetrics:
	}
	return m.enter()
}

// visit goes to a screen.
func (m *Model) visit(s screenID) tea.Cmd {
	cmd := m.settle(spot{screen: s})
	m.hist.note(m.spot())
	return cmd
}

// list is the list that the screen was opened from.
func (m *Model) list() screenID {
	for _, s := range slices.Backward(m.hist.spots[:m.hist.at]) {
		if s.screen < scrDetail {
			return s.screen
		}
	}
	return scrExecutions
}

// up goes to the list that the screen was opened from.
func (m *Model) up() tea.Cmd { return m.visit(m.list()) }

func (m *Model) openDetail(id string) tea.Cmd {
	if id == "" {
		return nil
	}
	cmd := m.settle(spot{screen: scrDetail, id: id})
	m.hist.note(m.spot())
	return cmd
}

func (m *Model) openDiverge(ids [2]string) tea.Cmd {
	cmd := m.settle(spot{screen: scrDiverge, id: ids[0], other: ids[1]})
	m.hist.note(m.spot())
	return cmd
}

// enter asks for what a screen needs when it is shown.
func (m *Model) enter() tea.Cmd {
	switch m.screen {
	case scrAgents:
		return tea.Batch(m.askAgents(), m.ag.ask(m))
	case scrMetrics:
		return m.askMetrics()
	case scrDetail:
		if m.de != nil {
			return m.de.ask(m)
		}
	case scrApprovals, scrExecutions, scrDiverge:
	}
	return nil
}
