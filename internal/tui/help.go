package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// help is a text over the screen: the keys that work there, or the last errors.
type help struct {
	title string
	lines []string // empty: the keys
	top   int
}

func (p *help) key(m *Model, k tea.KeyMsg) tea.Cmd {
	a, _ := m.keys.find(scrApprovals, k.String()) // which has all keys that move
	n := m.h - 6
	switch a {
	case actUp:
		p.top--
	case actDown:
		p.top++
	case actPageUp, actHalfUp:
		p.top -= n
	case actPageDown, actHalfDown:
		p.top += n
	case actTop:
		p.top = 0
	case actBottom:
		p.top = 1 << 20
	case actBack, actQuit, actHelp, actOpen:
		m.modal = nil
	}
	p.top = max(min(p.top, len(p.text(m))-n), 0)
	return nil
}

func (p *help) text(m *Model) []string {
	if p.lines != nil {
		return p.lines
	}
	inner := min(m.w-8, 90)
	var out []string
	section := func(title string, everywhere bool) {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, m.th.paint(tokBold, title))
		for _, b := range m.keys {
			if len(b.on) == 0 != everywhere || !b.active(m.screen) || m.readOnly() && writes(b.act) {
				continue
			}
			for i, piece := range text.Words(b.key.Help().Desc, max(inner-16, 20)) {
				name := b.key.Help().Key
				if i > 0 {
					name = ""
				}
				out = append(out, "  "+text.Fit(name, 13)+" "+piece)
			}
		}
	}
	section("On this screen", false)
	section("Everywhere", true)
	out = append(out, "", m.th.paint(tokBold, "Palette"))
	for _, c := range commands() {
		out = append(out, "  "+text.Fit(":"+strings.TrimSpace(strings.Join(c.names, " :")+" "+c.args), min(44, inner/2))+" "+c.help)
	}
	return out
}

// keysHelp is the key map as it is shipped, for the help of the command line.
func keysHelp() string {
	var b strings.Builder
	b.WriteString("\nThe dashboard (kernelctl ui, then ? for the keys of each screen):\n")
	for _, k := range defaultKeys() {
		fmt.Fprintf(&b, "  %-15s %s\n", k.key.Help().Key, k.key.Help().Desc)
	}
	return b.String()
}

// writes reports whether an action changes something at the service.
func writes(a action) bool { return decides(a) || a == actCancelRun || a == actEdit }

func (p *help) view(m *Model, w, _ int) []string {
	all := p.text(m)
	n := m.h - 6
	title := p.title
	if title == "" {
		title = "Keys of " + screenNames[m.screen]
	}
	end := "esc closes"
	if len(all) > n {
		end = "j k pgdn pgup: more, esc closes"
	}
	lines := all[min(p.top, len(all)):min(p.top+n, len(all))]
	return boxed(&m.th, tokInfo, title, end, fill(append([]string{}, lines...), min(n, len(all))), min(w-6, 92))
}

// errorLog shows the last errors, the newest first.
func (m *Model) errorLog() *help {
	p := &help{title: "Last errors", lines: []string{}}
	inner := min(m.w-8, 90)
	for i := len(m.log) - 1; i >= 0; i-- {
		for _, line := range strings.Split(m.log[i], "\n") {
			p.lines = append(p.lines, text.Hard(text.Clean(line), inner)...)
		}
	}
	if len(p.lines) == 0 {
		p.lines = append(p.lines, "None since "+m.started.Format("15:04:05")+".")
	}
	return p
}
