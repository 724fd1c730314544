package tui

import tea "github.com/charmbracelet/bubbletea"

// headLines is how many lines stand above the body of a frame.
const headLines = 2

// mouseStep is how many rows a turn of the wheel moves.
const mouseStep = 3

// area is a part of the screen that the mouse points at: a list or a text, and
// the line in it.
type area struct {
	rows  *list
	text  *docView
	line  int    // of the window; below 0: above its first row
	focus func() // gives keys to it
}

// mouseAt selects and scrolls what it points at. Nothing is ever opened, decided
// or cancelled with it.
func (m *Model) mouseAt(e tea.MouseMsg) tea.Cmd {
	if !m.mouse || m.modal != nil || m.prompt != nil || m.small() {
		return nil
	}
	at, agent := m.point(e.X, e.Y-headLines), m.ag.cur
	switch {
	case e.Button == tea.MouseButtonWheelUp:
		at.move(-mouseStep)
	case e.Button == tea.MouseButtonWheelDown:
		at.move(mouseStep)
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		at.pick()
	default:
		return nil
	}
	if m.screen == scrDetail && at.rows == &m.de.evs {
		m.de.follow = m.de.evs.at == len(m.de.evs.ids)-1
	}
	return m.ag.turned(m, agent)
}

// point is the area at a place in the body.
func (m *Model) point(x, y int) area {
	w, h := m.w, m.bodyHeight()
	if y < 0 || y >= h {
		return area{}
	}
	switch m.screen {
	case scrApprovals:
		return m.ap.point(x, y, w, h)
	case scrExecutions:
		if !m.ex.side(w) || x < w*60/100 {
			return area{rows: &m.ex.list, line: y - 1}
		}
	case scrAgents:
		if x < m.ag.split(w) {
			return area{rows: &m.ag.list, line: y - 1, focus: func() { m.ag.onText = false }}
		}
		return area{text: &m.ag.policy, line: y - 2, focus: func() { m.ag.onText = true }}
	case scrDetail:
		return m.de.point(m, x, y, w, h)
	case scrDiverge:
		return area{text: &m.dv.view, line: y - 2}
	case scrMetrics:
	}
	return area{}
}

func (s *approvalsScreen) point(x, y, w, h int) area {
	l := s.layout(w, h)
	above := h - l.preview
	switch {
	case l.preview == 0, l.side && x < l.listW, !l.side && y < above:
		return area{rows: &s.list, line: y - 1, focus: func() { s.onText = false }}
	case !l.side:
		y -= above
	}
	return area{text: &s.args, line: y - s.argsAt, focus: func() { s.onText = true }}
}

func (s *detailScreen) point(m *Model, x, y, w, h int) area {
	l := s.layout(m, w, h)
	if !l.wide {
		y-- // the names of the panes
		if y >= l.main {
			return s.area(paneCard, y-l.main)
		}
		return s.area(s.base, y+1) // which has no title there
	}
	switch {
	case x < l.lw && y < l.main:
		return s.area(paneEvents, y)
	case x < l.lw:
		return s.area(paneCard, y-l.main)
	case y < l.steps:
		return s.area(paneSteps, y)
	case y < l.steps+l.approval:
		return area{}
	case y < l.steps+l.approval+l.stream:
		return s.area(paneStream, y-l.steps-l.approval)
	}
	return s.area(paneIO, y-l.steps-l.approval-l.stream)
}

// area is that of a pane, and of a line of it counted from its title.
func (s *detailScreen) area(p pane, line int) area {
	a := area{line: line - 1, focus: func() { s.turn(p) }}
	switch p {
	case paneEvents:
		a.rows, a.line = &s.evs, line-2
	case paneSteps:
		a.rows, a.line = &s.sts, line-2
	case paneCard:
		a.text = &s.card
	case paneStream:
		a.text = &s.out
	case paneIO:
		a.text = &s.io
	}
	return a
}

// move goes n rows on.
func (a area) move(n int) {
	switch {
	case a.rows != nil:
		a.rows.to(a.rows.at + n)
	case a.text != nil:
		a.text.to(a.text.at + n)
	}
}

// pick selects the row that is pointed at, and gives keys to its part.
func (a area) pick() {
	if a.focus != nil {
		a.focus()
	}
	switch {
	case a.line < 0:
	case a.rows != nil:
		if i := a.rows.top + a.line; a.line < a.rows.h && i < len(a.rows.ids) {
			a.rows.to(i)
		}
	case a.text != nil:
		if i := a.text.top + a.line; a.line < a.text.h && i < len(a.text.rows) {
			a.text.to(i)
		}
	}
}
