package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// The least size of a terminal.
const (
	minW = 60
	minH = 15
)

// View draws the frame: exactly as many lines as the terminal has, none wider
// than it.
func (m *Model) View() string {
	if m.w <= 0 || m.h <= 0 || m.quitting {
		return ""
	}
	return strings.Join(m.frame(), "\n")
}

func (m *Model) frame() []string {
	if m.small() {
		lines := []string{fmt.Sprintf("too small, need %dx%d", minW, minH)}
		return clip(fill(lines, m.h), m.w)
	}
	body := fill(m.body(), m.bodyHeight())
	if !m.conn.online() && m.conn.everUp {
		for i := range body {
			body[i] = m.th.faded(body[i])
		}
	}
	lines := append([]string{m.header(), m.second2()}, body...)
	lines = append(lines, m.status(), m.footer())
	lines = fill(lines, m.h)
	if m.modal != nil {
		lines = m.overlay(lines)
	}
	return clip(lines, m.w)
}

func (m *Model) small() bool { return m.w < minW || m.h < minH }

// bodyHeight is what the header, the rule, the status line and the footer leave.
func (m *Model) bodyHeight() int { return max(m.h-4, 0) }

func clip(lines []string, w int) []string {
	for i, l := range lines {
		if text.Width(l) > w {
			lines[i] = ansi.Truncate(l, w, "")
		}
	}
	return lines
}

func (m *Model) body() []string {
	w, h := m.w, m.bodyHeight()
	switch m.screen {
	case scrApprovals:
		return m.ap.draw(m, w, h)
	case scrExecutions:
		return m.ex.draw(m, w, h)
	case scrAgents:
		return m.ag.draw(m, w, h)
	case scrMetrics:
		return m.me.draw(m, w, h)
	case scrDetail:
		return m.de.draw(m, w, h)
	case scrDiverge:
		return m.dv.draw(m, w, h)
	}
	return nil
}

// arrange sizes the parts of the screen for what they hold now. Update calls it
// after every message, so that View has nothing to decide.
func (m *Model) arrange() {
	if m.w <= 0 || m.small() {
		return
	}
	w, h := m.w, m.bodyHeight()
	switch m.screen {
	case scrApprovals:
		m.ap.arrange(m, w, h)
	case scrExecutions:
		m.ex.arrange(m, w, h)
	case scrAgents:
		m.ag.arrange(m, w, h)
	case scrMetrics:
	case scrDetail:
		m.de.arrange(m, w, h)
	case scrDiverge:
		m.dv.arrange(m, w, h)
	}
	if d, ok := m.modal.(*decide); ok {
		d.look(m)
	}
}

// header is the first line: the tabs or the way here, and where that is.
func (m *Model) header() string {
	var left string
	if m.screen == scrDetail || m.screen == scrDiverge {
		left = m.crumb()
	} else {
		for i, name := range []string{"Approvals", "Executions", "Agents", "Metrics"} {
			tab := fmt.Sprintf(" %s %s ", m.keys.name([]action{actApprovals, actExecutions, actAgents, actMetrics}[i]), name)
			if i == 0 && m.st.pending > 0 {
				tab = fmt.Sprintf("%s%d ", tab, m.st.pending)
			}
			if screenID(i) == m.screen {
				tab = "[" + strings.Trim(tab, " ") + "]"
				tab = m.th.paint(tokBold, tab)
			}
			left += tab
		}
	}
	return m.th.header(m.place.Color, text.Between(left, m.where(m.w-text.Width(left)-1), m.w))
}

// where says in the cells that are left which place this is, and who decides.
// The name of the context is worth more than the address.
func (m *Model) where(w int) string {
	who := m.place.By
	if who == "" {
		who = "(nobody)"
	}
	if m.readOnly() {
		who = "read-only"
	}
	who = text.Cut(text.Clean(who), 20)
	server := strings.TrimPrefix(strings.TrimPrefix(m.place.Client.Server(), "http://"), "https://")
	name := text.Cut(text.Clean(m.place.Name), 24)
	if name != "" {
		name += "  "
	}
	for _, s := range []string{name + text.Cut(text.Clean(server), max(m.w/3, 10)) + "  " + who, name + who, strings.TrimSpace(name)} {
		if text.Width(s) <= w && s != "" {
			return s
		}
	}
	return who
}

func (m *Model) crumb() string {
	if m.screen == scrDiverge {
		return m.dv.crumb(m)
	}
	return m.de.crumb(m)
}

func (m *Model) second2() string {
	if b := m.banner(); b != "" {
		return m.th.paint(tokBad, text.Fit(" "+b, m.w))
	}
	return m.th.paint(tokDim, strings.Repeat(m.th.box.dash, m.w))
}

// status is the line above the footer: the prompt, or news at the left and the
// age of the data at the right.
func (m *Model) status() string {
	if m.prompt != nil {
		return m.prompt.view(m)
	}
	var left string
	switch {
	case m.chord:
		left = "copy: i id  e execution  s step  a args  j row as JSON"
	case m.toast.line != "" && m.now().Before(m.toast.until):
		left = m.toast.line
		if m.toast.bad {
			left = m.th.paint(tokBad, left)
		}
	default:
		left = m.about()
	}
	return text.Between(" "+left, m.live()+" ", m.w)
}

// about is what the status line says when nothing happened.
func (m *Model) about() string {
	var parts []string
	switch m.screen {
	case scrApprovals:
		if n := len(m.ap.marks); n > 0 {
			parts = append(parts, fmt.Sprintf("marked %d", n))
		}
		if m.ap.filter != "" {
			parts = append(parts, fmt.Sprintf("filter %s: %d of %d", text.Clean(m.ap.filter), len(m.ap.ids), m.st.pending))
		}
	case scrExecutions:
		if n := len(m.ex.marks); n > 0 {
			parts = append(parts, fmt.Sprintf("marked %d", n))
		}
		parts = append(parts, m.ex.about(m))
	case scrDetail:
		parts = append(parts, m.de.about())
	case scrAgents, scrMetrics, scrDiverge:
	}
	if m.st.news != "" && m.now().Sub(m.st.newsAt) < 30e9 {
		parts = append(parts, fmt.Sprintf("new: %s (%s ago)", m.st.news, ago(m.now().Sub(m.st.newsAt))))
	}
	return strings.Join(parts, "   ")
}

// footer lists the keys that do something here and now.
func (m *Model) footer() string {
	if m.modal != nil {
		return ""
	}
	if m.prompt != nil {
		return m.th.paint(tokDim, " enter: go   esc: never mind   "+m.prompt.hint(m))
	}
	tail := fmt.Sprintf("%s palette  %s help", m.keys.name(actPalette), m.keys.name(actHelp))
	room := m.w - text.Width(tail) - 3
	var parts []string
	for _, b := range m.keys {
		if b.foot == "" || b.act == actPalette || b.act == actHelp || !b.active(m.screen) || !m.can(b.act) || m.tabbed(b.act) {
			continue
		}
		part := strings.Fields(b.key.Help().Key)[0] + " " + m.word(b)
		if room -= text.Width(part) + 2; room < 0 {
			break
		}
		if decides(b.act) && !m.entitled() {
			part = m.th.paint(tokDim, part)
		}
		parts = append(parts, part)
	}
	return " " + strings.Join(append(parts, tail), "  ")
}

func decides(a action) bool { return a == actGrant || a == actDeny }

// entitled reports whether the person at the screen is among the approvers of
// what g and d are about; the card says who is.
func (m *Model) entitled() bool {
	return !slices.ContainsFunc(m.subjects(), func(a approval) bool {
		return len(a.Approvers) > 0 && !slices.Contains(a.Approvers, m.place.By)
	})
}

// tabbed reports whether the key stands in the line of panes already.
func (m *Model) tabbed(a action) bool {
	return m.w < 120 && (a == actEvents || a == actSteps || a == actStream || a == actInput)
}

// word is what a key is called in the footer.
func (m *Model) word(b binding) string {
	n := len(m.ap.marks)
	if m.screen == scrApprovals && n > 0 && decides(b.act) {
		return fmt.Sprintf("%s %d marked", b.foot, n)
	}
	if b.act == actFilter && m.searches() {
		return "search"
	}
	return b.foot
}

// overlay draws the modal over the frame.
func (m *Model) overlay(lines []string) []string {
	box := m.modal.view(m, m.w, m.h-2)
	if len(box) > m.h-2 {
		box = box[:m.h-2]
	}
	y := max((m.h-len(box))/2, 1)
	for i, l := range box {
		x := max((m.w-text.Width(l))/2, 0)
		lines[y+i] = text.Over(text.Fit(ansi.Strip(lines[y+i]), m.w), l, x, m.w)
	}
	return lines
}
