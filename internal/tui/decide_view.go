package tui

import (
	"fmt"
	"strings"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// geometry is the width of the modal's inside and the lines for arguments.
func (d *decide) geometry(m *Model) (w, args int) {
	w = min(max(m.w-12, 50), 110)
	w = min(w, m.w-6)
	if w != d.wrap || m.h != d.tall {
		d.wrap, d.tall = w, m.h
		d.flat = d.text(m, w-2)
		d.seen = map[int]bool{}
		d.top = 0
	}
	fixed := len(d.head(m, w)) + 8 // title, gap, count, fields, gap, button, help, bottom
	if d.want != "" {
		fixed++
	}
	return w, max(m.h-2-fixed, 1)
}

// look notes what is on the screen. Update calls it after every message.
func (d *decide) look(m *Model) {
	_, n := d.geometry(m)
	d.top = max(min(d.top, len(d.flat)-n), 0)
	for i := d.top; i < min(d.top+n, len(d.flat)); i++ {
		d.seen[i] = true
	}
}

func (d *decide) scroll(m *Model, key string) {
	_, n := d.geometry(m)
	switch key {
	case "pgdown":
		d.top += max(n-1, 1)
	case "pgup":
		d.top -= max(n-1, 1)
	case "down":
		d.top++
	case "up":
		d.top--
	}
	d.top = max(min(d.top, len(d.flat)-n), 0)
}

// text are the arguments of all items, whole: long lines are broken, nothing is
// folded.
func (d *decide) text(m *Model, w int) []string {
	var out []string
	d.cut = 0
	if len(d.items) == 1 {
		if _, cut := d.facts(m, w+2); cut { // the whole of it can be read here
			for _, s := range []string{d.what(&d.items[0]), d.ruling(&d.items[0])} {
				out = append(out, text.Words(s, w)...)
			}
			out = append(out, "args:")
		}
	}
	for i := range d.items {
		a := &d.items[i]
		if len(d.items) > 1 {
			out = append(out, text.Words(fmt.Sprintf("%d. %s%s  %s", i+1, d.outcome(a.ID), short(a.ID), d.what(a)), w)...)
		}
		if len(a.Args) == 0 {
			out = append(out, "  args not available")
			continue
		}
		doc := newDoc(a.Args)
		d.cut += doc.cut
		out = append(out, doc.flat(w)...)
	}
	return out
}

// outcome is what became of an item of several, as far as that is known.
func (d *decide) outcome(id string) string {
	switch {
	case d.results[id] != "":
		return "[" + d.results[id] + "] "
	case d.faults[id] != "":
		return "[" + d.faults[id] + "] "
	}
	return ""
}

// tell shows new outcomes. What was seen of the arguments stays so as long as
// the lines are as many; otherwise they are to be looked at again.
func (d *decide) tell(m *Model) {
	if len(d.items) == 1 {
		return
	}
	w, _ := d.geometry(m)
	before := len(d.flat)
	if d.flat = d.text(m, w-2); len(d.flat) != before {
		d.seen = map[int]bool{}
	}
}

// hidden is what was not on the screen so far.
func (d *decide) hidden() string {
	n := len(d.flat) - len(d.seen)
	var parts []string
	if n > 0 {
		parts = append(parts, plural(n, "line")+" not shown (pgdn)")
	}
	if d.cut > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes too many to show", d.cut))
	}
	return strings.Join(parts, ", ")
}

// head is what is decided, before the arguments.
func (d *decide) head(m *Model, w int) []string {
	if len(d.items) > 1 {
		return []string{fmt.Sprintf("%d approvals, all listed below with their arguments", len(d.items))}
	}
	short, _ := d.facts(m, w)
	return short
}

// facts are the target and the rule of a single approval, in as few lines as
// the terminal has room for; cut says that not all of it is there.
func (d *decide) facts(m *Model, w int) (lines []string, cut bool) {
	a := &d.items[0]
	room := []int{1, 3}
	if m.h < 20 {
		room[1] = 1
	}
	for i, s := range []string{d.what(a), d.ruling(a)} {
		ls := text.Words(s, w)
		if n := room[i]; len(ls) > n {
			ls = append(ls[:n-1:n-1], text.Cut(strings.Join(ls[n-1:], " "), w))
			cut = true
		}
		lines = append(lines, ls...)
	}
	return lines, cut
}

func (d *decide) what(a *approval) string {
	return fmt.Sprintf("%s   agent %s   execution %s", text.Clean(a.Target), text.Clean(a.AgentID), short(a.ExecutionID))
}

func (d *decide) ruling(a *approval) string {
	s := "rule " + text.Clean(a.RuleID)
	for _, part := range []string{a.Reason, a.Message} {
		if part != "" {
			s += ": " + text.Clean(part)
		}
	}
	return s
}

func (d *decide) view(m *Model, _, _ int) []string {
	th := &m.th
	w, n := d.geometry(m)
	verb, tok := "GRANT", tokOK
	if !d.grant {
		verb, tok = "DENY", tokBad
	}
	title, end := fmt.Sprintf("%s %d approvals", verb, len(d.items)), ""
	if len(d.items) == 1 {
		title = verb + " " + short(d.items[0].ID)
		end = "time left " + left(d.items[0].TimeoutAt.Sub(m.serverNow()))
	}
	lines := append(d.head(m, w), "")
	last := min(d.top+n, len(d.flat))
	count := fmt.Sprintf("args (lines %d-%d of %d)", min(d.top+1, last), last, len(d.flat))
	if hid := d.hidden(); hid != "" {
		count = text.Between(count, th.paint(tokWarn, hid), w)
	}
	lines = append(lines, th.paint(tokDim, count))
	lines = append(lines, fill(paintOdd(th, d.flat[d.top:last]), min(n, len(d.flat)))...)
	lines = append(lines, d.fields(m, w)...)
	lines = append(lines, d.buttons(m, verb, w)...)
	return boxed(th, tok, title, end, lines, w)
}

// paintOdd marks lines whose escapes stand for what would not be seen.
func paintOdd(th *theme, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if out[i] = l; strings.HasPrefix(l, "! ") {
			out[i] = th.paint(tokWarn, l)
		}
	}
	return out
}

func (d *decide) fields(m *Model, w int) []string {
	th := &m.th
	row := func(name string, f *field, on focus, hint string) string {
		mark := "  "
		if d.on == on {
			mark = "> "
		}
		room := max(w-15-text.Width(hint), 8)
		return mark + text.Fit(name, 11) + " " + f.view(th, room, d.on == on) + " " + th.paint(tokDim, hint)
	}
	need := "(optional)"
	if d.need == "always" || d.need != "never" && !d.grant {
		need = "(needed)"
	}
	out := []string{row("decided by", &d.by, onBy, "(tab to change)"), row("rationale", &d.why, onWhy, need)}
	if d.want != "" {
		out = append(out, row("type "+d.want, &d.gate, onGate, "(to go on)"))
	}
	return out
}

func (d *decide) buttons(m *Model, verb string, w int) []string {
	th := &m.th
	label := strings.ToUpper(verb[:1]) + strings.ToLower(verb[1:])
	if len(d.items) > 1 {
		label += fmt.Sprintf(" %d", len(d.items))
	}
	if by := d.by.value(); by != "" {
		label += " as " + text.Cut(text.Clean(by), 24)
	}
	cancel, button := "[ Cancel ]", "[ "+label+" ]"
	off := d.blocked(m)
	switch {
	case d.on == onCancel:
		cancel = focused(th, cancel)
	case d.on == onButton && off == "":
		button = focused(th, button)
	case d.on == onButton:
		button = "> " + button
	}
	if off != "" {
		button = th.paint(tokDim, button)
	}
	line := "    " + cancel + "      " + button
	note := d.hidden()
	if off != "" {
		note = off
	}
	if d.problem != "" {
		note = d.problem
	}
	help := "enter: next field, press the button   pgdn pgup: args   esc: cancel"
	if d.on == onButton && off == "" && !d.armed {
		help = "enter twice: " + strings.ToLower(verb) + "   tab: next field   esc: cancel"
	}
	if d.asked {
		help = "esc again drops your text"
	}
	out := []string{text.Between(line, "", w)}
	if room := w - text.Width(line) - 3; text.Width(note) <= room {
		out[0] = line + "   " + th.paint(tokWarn, note)
		return append(out, th.paint(tokDim, text.Cut(help, w)))
	}
	return append(out, th.paint(tokWarn, text.Cut(note, w)))
}

// focused shows a button that enter presses, also without attributes.
func focused(th *theme, s string) string {
	if th.sgr[tokSel] == "" {
		return ">" + s[1:]
	}
	return th.paint(tokSel, s)
}
