package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
)

// press takes a key: the modal first, then the prompt, then the screen.
func (m *Model) press(k tea.KeyMsg) tea.Cmd {
	name := k.String()
	if a, _ := m.keys.find(m.screen, name); a == actQuitNow {
		return m.quit()
	}
	switch {
	case m.small():
		if name == "q" {
			return m.quit()
		}
		return nil
	case m.modal != nil:
		return m.modal.key(m, k)
	case m.prompt != nil:
		return m.prompt.key(m, k)
	case k.Paste:
		return nil // a paste is text, and there is no place for it
	case m.chord:
		m.chord = false
		return m.copyWhat(name)
	}
	a, ok := m.keys.find(m.screen, name)
	if !ok {
		return nil
	}
	return m.act(a)
}

// act does what a key means here.
func (m *Model) act(a action) tea.Cmd {
	switch a {
	case actApprovals, actExecutions, actAgents, actMetrics:
		return m.visit(map[action]screenID{actApprovals: scrApprovals, actExecutions: scrExecutions, actAgents: scrAgents, actMetrics: scrMetrics}[a])
	case actHistBack:
		return m.history(-1)
	case actHistFwd:
		return m.history(1)
	case actQuit:
		return m.leave(true)
	case actBack:
		return m.leave(false)
	case actRefresh:
		return m.refresh()
	case actRepaint:
		return tea.ClearScreen
	case actPalette:
		m.prompt = newPalette()
	case actFilter:
		m.prompt = m.newFilter()
	case actHelp:
		m.modal = &help{}
	case actErrors:
		m.modal = m.errorLog()
	case actPager:
		if m.can(a) {
			return m.page()
		}
	case actCopy:
		m.chord = m.can(actCopy)
	case actGrant, actDeny:
		return m.startDecide(a == actGrant, m.subjects()) // which says why not
	case actCancelRun:
		return m.startCancel(m.execution())
	default:
		if m.can(a) {
			return m.screenAct(a)
		}
	}
	return nil
}

func (m *Model) screenAct(a action) tea.Cmd {
	switch m.screen {
	case scrApprovals:
		return m.ap.act(m, a)
	case scrExecutions:
		return m.ex.act(m, a)
	case scrAgents:
		return m.ag.act(m, a)
	case scrMetrics:
	case scrDetail:
		m.de.act(a)
	case scrDiverge:
		m.dv.act(a)
	}
	return nil
}

func (m *Model) readOnly() bool { return m.place.ReadOnly || m.opt.ReadOnly }

// can reports whether a key does something here and now. The footer shows those
// that do.
func (m *Model) can(a action) bool {
	switch a {
	case actGrant, actDeny:
		return !m.readOnly() && m.conn.online() && len(m.subjects()) > 0
	case actCancelRun:
		e := m.st.executions[m.execution()]
		return !m.readOnly() && m.conn.online() && e != nil && !e.Status.Terminal()
	case actDiverge:
		return len(m.ex.marks) == 2
	case actUnmark:
		return len(m.marks()) > 0
	case actMark, actMarkSame:
		return m.screen == scrExecutions && m.ex.cur != "" || m.screen == scrApprovals && m.ap.cur != ""
	case actOpen:
		return m.canOpen()
	case actCopy:
		return m.screen != scrMetrics && (m.execution()+m.ag.cur != "" || m.screen == scrExecutions)
	case actFilter:
		return m.screen != scrMetrics
	case actBack:
		return m.screen == scrDetail || m.screen == scrDiverge || m.filtered() != "" || m.reading()
	case actEvents, actSteps, actStream, actInput:
		return m.de.focus != map[action]pane{actEvents: paneEvents, actSteps: paneSteps, actStream: paneStream, actInput: paneIO}[a]
	case actNext, actPrev:
		if m.screen == scrDetail || m.screen == scrApprovals {
			v := m.text()
			return v != nil && v.find != ""
		}
	case actJump:
		return m.de.jumps()
	case actTestPolicy:
		return m.ag.cur != "" && m.conn.online()
	case actEdit:
		return m.ag.cur != "" && m.conn.online() && !m.readOnly()
	case actPager:
		return m.text() != nil && m.text().lines != nil
	case actPane, actPaneBack, actLeft, actRight:
		return m.screen != scrApprovals || m.ap.preview && m.ap.cur != ""
	}
	return true
}

func (m *Model) canOpen() bool {
	if m.reading() && m.screen != scrAgents {
		return m.text().folds()
	}
	switch m.screen {
	case scrApprovals:
		return m.ap.cur != ""
	case scrExecutions:
		return m.ex.cur != ""
	case scrAgents:
		return m.ag.cur != ""
	case scrDetail:
		return m.de.focus == paneSteps && m.de.sts.cur != "" || m.de.focus == paneEvents && m.de.evs.cur != ""
	case scrMetrics, scrDiverge:
	}
	return false
}

// subjects are the approvals that g and d are about.
func (m *Model) subjects() []approval {
	switch m.screen {
	case scrApprovals:
		return m.ap.subjects(m.st)
	case scrDetail:
		if a := m.st.waiting(m.de.id); a != nil {
			return []approval{*a}
		}
	case scrExecutions, scrAgents, scrMetrics, scrDiverge:
	}
	return nil
}

func (m *Model) marks() map[string]bool {
	switch m.screen {
	case scrApprovals:
		return m.ap.marks
	case scrExecutions:
		return m.ex.marks
	case scrAgents, scrMetrics, scrDetail, scrDiverge:
	}
	return nil
}

// execution is the id of the execution that the screen is about.
func (m *Model) execution() string {
	switch m.screen {
	case scrApprovals:
		if a := m.ap.selected(m.st); a != nil {
			return a.ExecutionID
		}
	case scrExecutions:
		return m.ex.cur
	case scrDetail:
		return m.de.id
	case scrDiverge:
		return m.dv.ids[0]
	case scrAgents, scrMetrics:
	}
	return ""
}

// leave goes back: out of a filter, a screen, and with quit the program.
func (m *Model) leave(quit bool) tea.Cmd {
	switch {
	case m.screen == scrDetail && m.de.stepOut():
		return nil
	case m.screen == scrApprovals && m.ap.onText:
		m.ap.onText = false
		return nil
	case m.screen == scrAgents && m.ag.onText:
		m.ag.onText = false
		return nil
	case m.filtered() != "":
		m.setFilter("")
		return nil
	case m.screen == scrDetail || m.screen == scrDiverge:
		return m.up()
	case !quit:
		return nil
	}
	return m.quit()
}

func (m *Model) quit() tea.Cmd {
	m.quitting = true
	m.feed.close()
	m.de.close()
	return tea.Quit
}

// refresh asks for everything again, and connects at once when that is needed.
func (m *Model) refresh() tea.Cmd {
	m.conn.denied = false
	m.say("asking again")
	cmds := []tea.Cmd{m.enter()}
	if m.conn.online() {
		return tea.Batch(append(cmds, m.askAll())...)
	}
	m.conn.noFeed = false
	return tea.Batch(append(cmds, m.connect())...)
}

// notify rings when something new waits and nobody looks.
func (m *Model) notify() tea.Cmd {
	n := m.st.fresh
	m.st.fresh = 0
	if n == 0 || !m.blurred || m.opt.Notify == "off" || m.opt.Terminal == nil || m.now().Sub(m.belled) < 5e9 {
		return nil
	}
	m.belled = m.now()
	term, kind := m.opt.Terminal, m.opt.Notify
	return m.life.ask(askLimit, func(context.Context) tea.Msg { term.Bell(kind); return nil })
}
