package tui

import (
	"fmt"
	"strings"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// deLayout is how the panes share the room.
type deLayout struct {
	wide               bool
	lw, rw             int
	main, card         int // lines of the list or text, and of the card below it
	steps, stream, inp int // of the right column
	approval           int
}

func (s *detailScreen) layout(m *Model, w, h int) deLayout {
	if w >= 120 && !s.zoom {
		l := deLayout{wide: true, lw: w * 52 / 100}
		l.rw = w - l.lw - 3
		l.main = h * 3 / 5
		l.card = h - l.main
		if m.st.waiting(s.id) != nil {
			l.approval = 4
		}
		rest := h - l.approval
		l.steps = max(min(len(s.sts.ids)+2, rest/2), 4)
		rest -= l.steps
		l.inp = rest / 2
		l.stream = rest - l.inp
		return l
	}
	l := deLayout{lw: w, rw: w, main: h - 1} // a line for the names of the panes
	switch {
	case s.zoom && s.focus == paneCard:
		l.main, l.card = 0, h-1
	case s.zoom || s.base == paneStream || s.base == paneIO:
	case h >= 9:
		l.card = max((h-1)*2/5, 4)
		if s.focus == paneCard {
			l.card = (h - 1) * 3 / 5
		}
		l.main = h - 1 - l.card
	}
	return l
}

// arrange sizes the panes and fills their texts.
func (s *detailScreen) arrange(m *Model, w, h int) {
	l := s.layout(m, w, h)
	s.fillCard()
	s.fillOutput()
	s.io.show(fmt.Sprint("io", s.loaded, s.x.LastEventSeq, s.x.Status), s.inputOutput)
	if l.wide {
		s.evs.size(l.main - 2)
		s.sts.size(l.steps - 2)
		s.card.size(l.lw, l.card-1)
		s.out.size(l.rw, l.stream-1)
		s.io.size(l.rw, l.inp-1)
	} else {
		s.evs.size(l.main - 1)
		s.sts.size(l.main - 1)
		s.out.size(w, l.main)
		s.io.size(w, l.main)
		s.card.size(w, l.card-1)
	}
	if s.focus != paneStream {
		s.out.to(len(s.out.rows) - 1)
	}
}

// fillOutput keeps the place in the live output; at its end, it stays there.
func (s *detailScreen) fillOutput() {
	at := s.out.at
	last := at >= len(s.out.rows)-1
	s.out.flow = true // a model writes paragraphs of one line
	s.out.show(fmt.Sprint("out", s.heardOut), func() doc {
		if len(s.output) == 0 {
			return newText("Nothing yet. Live output is shown as it comes, and is not stored.")
		}
		return newText(string(s.output))
	})
	if last {
		at = len(s.out.rows) - 1
	}
	s.out.to(at)
}

func (s *detailScreen) fillCard() {
	if s.base == paneSteps {
		if st := s.step(s.sts.cur); st != nil {
			s.card.show("step "+st.StepID+string(st.Status), func() doc { return jsonDoc(st) })
			return
		}
	}
	if e := s.event(s.evs.cur); e != nil {
		s.card.show("event "+e.ID+s.evs.cur, func() doc { return newDoc(e.Payload) })
		return
	}
	s.card.show("none", func() doc { return doc{} })
}

// jsonDoc shows a value as JSON.
func jsonDoc(v any) doc {
	b, err := wire.Marshal(v)
	if err != nil {
		return newText(err.Error())
	}
	return newDoc(b)
}

func (s *detailScreen) inputOutput() doc {
	if !s.loaded {
		return newText("…")
	}
	in, out := newDoc(s.x.Input), newDoc(s.x.Output)
	all := s.joined(in, out)
	if all.cut > 0 {
		all.whole = func() doc { return s.joined(in.full(), out.full()) }
	}
	return all
}

// joined is one text of the input, why it failed, and the output.
func (s *detailScreen) joined(in, out doc) doc {
	all := doc{lines: []docLine{{text: "input"}}, cut: in.cut + out.cut}
	add := func(from doc) {
		shift := len(all.lines)
		for _, l := range from.lines {
			if l.close > 0 {
				l.close += shift
			}
			all.lines = append(all.lines, l)
		}
	}
	add(in)
	if s.x.FailureReason != "" {
		all.lines = append(all.lines, docLine{}, docLine{text: "failed: " + text.Clean(s.x.FailureReason)})
	}
	all.lines = append(all.lines, docLine{}, docLine{text: "output"})
	add(out)
	return all
}

func (s *detailScreen) crumb(m *Model) string {
	line := fmt.Sprintf(" < %s  ", short(s.id))
	e := m.st.executions[s.id]
	if e == nil {
		return line + text.Clean(s.problem)
	}
	now := m.serverNow()
	line += fmt.Sprintf("%s  %s %s  started %s ago", text.Clean(e.AgentID),
		m.th.paint(execToken(e.Status), strings.ToUpper(string(e.Status))), ago(now.Sub(e.UpdatedAt.Time)), ago(now.Sub(e.CreatedAt.Time)))
	if e.DeadlineAt != nil && !e.Status.Terminal() {
		line += "  deadline " + left(e.DeadlineAt.Sub(now))
	}
	return line
}

func (s *detailScreen) about() string {
	var parts []string
	if s.follow {
		parts = append(parts, "following")
	}
	if s.filter != "" {
		parts = append(parts, fmt.Sprintf("filter %s: %d of %d events", text.Clean(s.filter), len(s.evs.ids), len(s.events)))
	}
	if s.dropped > 0 {
		parts = append(parts, fmt.Sprintf("the first %d events are left out", s.dropped))
	}
	return strings.Join(parts, "   ")
}

func (s *detailScreen) draw(m *Model, w, h int) []string {
	l := s.layout(m, w, h)
	if s.problem != "" {
		return center(w, s.problem)
	}
	if l.wide {
		left := append([]string{s.paneTitle(m, paneEvents, s.eventsTitle(), l.lw)}, s.drawEvents(m, l.lw)...)
		left = append(fill(left, l.main), s.drawCard(m, l.lw, l.card)...)
		right := append([]string{s.paneTitle(m, paneSteps, fmt.Sprintf("steps %d", len(s.sts.ids)), l.rw)}, s.drawSteps(m, l.rw)...)
		right = fill(right, l.steps)
		right = append(right, s.drawApproval(m, l.rw, l.approval)...)
		right = append(right, s.paneTitle(m, paneStream, s.outputTitle(), l.rw))
		right = append(right, fill(s.out.draw(&m.th, l.rw, s.focus == paneStream), l.stream-1)...)
		right = append(right, s.paneTitle(m, paneIO, "input and output", l.rw))
		right = append(right, fill(s.io.draw(&m.th, l.rw, s.focus == paneIO), l.inp-1)...)
		return beside(&m.th, left, right, l.lw, h)
	}
	out := []string{s.tabs(m, w)}
	var main []string
	switch s.base {
	case paneEvents, paneCard:
		main = s.drawEvents(m, w)
	case paneSteps:
		main = s.drawSteps(m, w)
	case paneStream:
		main = s.out.draw(&m.th, w, true)
	case paneIO:
		main = s.io.draw(&m.th, w, true)
	}
	out = append(out, fill(main, l.main)...)
	return append(out, s.drawCard(m, w, l.card)...)
}

func (s *detailScreen) eventsTitle() string {
	if s.filter != "" {
		return fmt.Sprintf("events %d of %d", len(s.evs.ids), len(s.events))
	}
	return fmt.Sprintf("events %d", len(s.events))
}

func (s *detailScreen) outputTitle() string {
	if len(s.output) == 0 {
		return "live output"
	}
	return "live output, not stored"
}

// tabs names the panes where only one is shown.
func (s *detailScreen) tabs(m *Model, w int) string {
	line := ""
	for _, p := range []struct {
		p    pane
		a    action
		name string
	}{{paneEvents, actEvents, s.eventsTitle()}, {paneSteps, actSteps, fmt.Sprintf("steps %d", len(s.sts.ids))}, {paneStream, actStream, "output"}, {paneIO, actInput, "input"}} {
		name := m.keys.name(p.a) + " " + p.name
		if p.p == s.base {
			line += m.th.paint(tokBold, "["+name+"]") + " "
		} else {
			line += " " + name + "  "
		}
	}
	if a := m.st.waiting(s.id); a != nil {
		line += m.th.paint(tokWarn, "waits: "+text.Clean(a.Target)+" "+left(a.TimeoutAt.Sub(m.serverNow()))+" left")
	}
	return text.Cut(" "+line, w)
}

func (s *detailScreen) paneTitle(m *Model, p pane, title string, w int) string {
	return titled(&m.th, title, "", w, s.focus == p)
}

func (s *detailScreen) drawEvents(m *Model, w int) []string {
	cols := newColumns(w, col{"seq", 5}, col{"time", 8}, col{"+dt", 6}, col{"type", 22}, col{"detail", -1})
	out := []string{m.th.paint(tokDim, cols.header("", false))}
	for _, id := range s.evs.window() {
		e := s.event(id)
		if e == nil {
			continue
		}
		dt := ""
		if p := s.event(fmt.Sprint(e.EventSeq - 1)); p != nil {
			dt = "+" + took(e.OccurredAt.Sub(p.OccurredAt.Time))
		}
		selected := id == s.evs.cur
		line := cols.line(marker(selected, false), func(name string) string {
			switch name {
			case "seq":
				return text.Right(id, 5)
			case "time":
				return clock(e.OccurredAt)
			case "+dt":
				return dt
			case "type":
				if selected {
					return text.Clean(string(e.Type))
				}
				return m.th.paint(eventToken(e.Type), text.Clean(string(e.Type)))
			}
			return e.detail
		})
		out = append(out, s.painted(m, text.Fit(line, w), selected, paneEvents))
	}
	return out
}

// painted shows the row under the cursor: reversed where the keys go.
func (s *detailScreen) painted(m *Model, line string, selected bool, p pane) string {
	switch {
	case selected && s.focus == p:
		return m.th.selected(line)
	case selected:
		return m.th.paint(tokBold, line)
	}
	return line
}

func (s *detailScreen) drawSteps(m *Model, w int) []string {
	cols := newColumns(w, col{"step", 8}, col{"kind", 9}, col{"target", -1}, col{"status", 10}, col{"tokens", 9}, col{"took", 6})
	out := []string{m.th.paint(tokDim, cols.header("", false))}
	for _, id := range s.sts.window() {
		st := s.step(id)
		if st == nil {
			continue
		}
		selected := id == s.sts.cur
		line := cols.line(marker(selected, false), func(name string) string { return stepCell(m, st, name, selected) })
		out = append(out, s.painted(m, text.Fit(line, w), selected, paneSteps))
	}
	return out
}

func stepCell(m *Model, st *wire.Step, name string, selected bool) string {
	switch name {
	case "step":
		return short(st.StepID)
	case "kind":
		return text.Clean(string(st.Kind))
	case "target":
		return text.Clean(st.Target)
	case "status":
		word := string(st.Status)
		if st.Status == wire.StepAwaitingApproval {
			word = "awaiting"
		}
		if selected {
			return word
		}
		return m.th.paint(stepToken(st.Status), text.Clean(word))
	case "tokens":
		if st.Usage != nil {
			return fmt.Sprintf("%d/%d", st.Usage.InputTokens, st.Usage.OutputTokens)
		}
	case "took":
		switch {
		case st.StartedAt != nil && st.CompletedAt != nil:
			return took(st.CompletedAt.Sub(st.StartedAt.Time))
		case st.CompletedAt == nil:
			return ago(m.serverNow().Sub(st.CreatedAt.Time))
		}
	}
	return ""
}

func (s *detailScreen) drawCard(m *Model, w, h int) []string {
	if h <= 0 {
		return nil
	}
	title := "event " + s.evs.cur
	if s.base == paneSteps {
		title = "step " + short(s.sts.cur)
	}
	out := []string{s.paneTitle(m, paneCard, title, w)}
	return fill(append(out, s.card.draw(&m.th, w, s.focus == paneCard)...), h)
}

func (s *detailScreen) drawApproval(m *Model, w, h int) []string {
	a := m.st.waiting(s.id)
	if a == nil || h == 0 {
		return nil
	}
	out := []string{ruleLine(&m.th, "approval "+short(a.ID), "time left "+left(a.TimeoutAt.Sub(m.serverNow())), w)}
	out = append(out, m.th.paint(tokWarn, text.Cut(" "+text.Clean(a.Target)+"  rule "+text.Clean(a.RuleID)+": "+text.Clean(a.Reason), w)))
	out = append(out, text.Cut(" approvers "+approvers(a)+m.mayDecide(a), w))
	return fill(out, h)
}
