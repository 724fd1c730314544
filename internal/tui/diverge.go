package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// divergeScreen compares two executions: the first step that differs in what it
// is, in what was decided of it, or in what came of it.
type divergeScreen struct {
	ids   [2]string
	steps [2][]wire.Step
	have  int
	err   string
	found divergence
	lines []diffLine
	view  docView // of the lines, as text, for moving and searching
}

type divergeMsg struct {
	of    *divergeScreen
	i     int
	steps []wire.Step
	err   error
}

// divergence is where two lists of steps part.
type divergence struct {
	at   int      // index of the first step that differs; the length when none does
	kind []string // in what: identity, decision, result, length; empty: nowhere
}

func (m *Model) startDiverge(ids [2]string) tea.Cmd {
	s := &divergeScreen{ids: ids}
	m.dv = s
	c := m.place.Client
	var cmds []tea.Cmd
	for i, id := range ids {
		cmds = append(cmds, m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
			steps, err := c.ListSteps(ctx, id, "")
			return divergeMsg{s, i, steps, err}
		}))
	}
	return tea.Batch(cmds...)
}

func (s *divergeScreen) got(m *Model, msg divergeMsg) {
	if msg.err != nil {
		s.err = "the steps of " + short(msg.of.ids[msg.i]) + " are not to be had: " + reason(msg.err)
		m.good(msg.err)
		return
	}
	m.good(nil)
	s.steps[msg.i] = msg.steps
	if s.have++; s.have < 2 {
		return
	}
	s.found = diverge(s.steps[0], s.steps[1])
	s.lines = s.compare()
}

// diverge finds the first step that differs.
func diverge(a, b []wire.Step) divergence {
	for i := range min(len(a), len(b)) {
		if kind := differ(&a[i], &b[i]); len(kind) > 0 {
			return divergence{i, kind}
		}
	}
	d := divergence{at: min(len(a), len(b))}
	if len(a) != len(b) {
		d.kind = []string{"length"}
	}
	return d
}

// differ says in what two steps differ. Rules and refusals are decisions;
// whether a step has ended yet is part of its result.
func differ(a, b *wire.Step) (in []string) {
	if a.Kind != b.Kind || a.Target != b.Target || a.Occurrence != b.Occurrence || !equalJSON(a.Args, b.Args) {
		in = append(in, "identity")
	}
	if decision(a) != decision(b) || a.RuleID != b.RuleID {
		in = append(in, "decision")
	}
	if a.Status != b.Status && decision(a) == decision(b) || !equalJSON(a.Result, b.Result) || !equalJSON(a.Error, b.Error) {
		in = append(in, "result")
	}
	return in
}

func decision(s *wire.Step) string {
	switch s.Status {
	case wire.StepDenied:
		return "denied"
	case wire.StepAwaitingApproval:
		return "awaiting approval"
	case wire.StepProposed:
		return "proposed"
	case wire.StepAllowed, wire.StepExecuting, wire.StepSucceeded, wire.StepFailed, wire.StepCancelled:
	}
	if s.ApprovalID != nil {
		return "allowed by approval"
	}
	return "allowed"
}

func equalJSON(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && x == y
}

func canonical(raw []byte) (string, error) {
	if len(raw) == 0 {
		return "null", nil
	}
	b, err := canonjson.Append(nil, raw)
	return string(b), err
}

// compare makes the lines of the view.
func (s *divergeScreen) compare() []diffLine {
	var out []diffLine
	both := func(t string) { out = append(out, diffLine{t, t, true}) }
	a, b, at := s.steps[0], s.steps[1], s.found.at
	first := max(at-3, 0)
	if first > 0 {
		both("… " + plural(first, "equal step"))
	}
	for i := first; i < at; i++ {
		both(fmt.Sprintf("%d  %s", i+1, stepLine(&a[i])))
	}
	if len(s.found.kind) == 0 {
		both("")
		both("no step differs")
		return out
	}
	both("")
	out = append(out, diffLines(stepLines(a, at), stepLines(b, at))...)
	if n := max(len(a), len(b)); at+1 < n {
		both("")
		both("after it")
		for i := at + 1; i < min(n, at+200); i++ {
			l := diffLine{left: "-", right: "-"}
			if i < len(a) {
				l.left = fmt.Sprintf("%d  %s", i+1, stepLine(&a[i]))
			}
			if i < len(b) {
				l.right = fmt.Sprintf("%d  %s", i+1, stepLine(&b[i]))
			}
			l.same = i < len(a) && i < len(b) && len(differ(&a[i], &b[i])) == 0
			out = append(out, l)
		}
	}
	return out
}

func stepLine(s *wire.Step) string {
	return text.Clean(fmt.Sprintf("%s %s  %s  rule %s", s.Kind, s.Target, s.Status, s.RuleID))
}

// stepLines is one step as lines, without what is different in every run.
func stepLines(steps []wire.Step, at int) []string {
	if at >= len(steps) {
		return []string{fmt.Sprintf("%d  no such step: the run has %d", at+1, len(steps))}
	}
	st := &steps[at]
	out := []string{
		fmt.Sprintf("%d  %s", at+1, text.Clean(string(st.Kind)+" "+st.Target)),
		fmt.Sprintf("occurrence %d", st.Occurrence),
		"decision   " + decision(st),
		"rule       " + text.Clean(st.RuleID),
		"status     " + text.Clean(string(st.Status)),
	}
	for _, p := range []struct {
		name string
		raw  []byte
	}{{"args", st.Args}, {"result", st.Result}, {"error", st.Error}} {
		if len(p.raw) == 0 || string(p.raw) == "null" {
			continue
		}
		raw := p.raw
		if c, err := canonjson.Append(nil, raw); err == nil {
			raw = c // names in one order, so that only values differ
		}
		out = append(out, p.name)
		d := newDoc(raw)
		for _, l := range d.lines {
			out = append(out, "  "+l.text)
		}
		if d.cut > 0 {
			out = append(out, fmt.Sprintf("  … %d more bytes are not compared here", d.cut))
		}
	}
	return out
}

func (s *divergeScreen) crumb(m *Model) string {
	name := func(i int) string {
		if e := m.st.executions[s.ids[i]]; e != nil {
			return short(s.ids[i]) + " " + text.Clean(e.AgentID) + " " + string(e.Status)
		}
		return short(s.ids[i])
	}
	return fmt.Sprintf(" < %s  against  %s", name(0), name(1))
}

// act moves; n and N go from difference to difference when nothing is sought.
func (s *divergeScreen) act(a action) {
	if (a == actNext || a == actPrev) && s.view.find == "" {
		step := 1
		if a == actPrev {
			step = -1
		}
		i := s.view.at
		for k := i + step; k >= 0 && k < len(s.lines); k += step {
			if !s.lines[k].same && (k == 0 || s.lines[k-1].same || step < 0) {
				s.view.to(k)
				return
			}
		}
		return
	}
	if a != actOpen && a != actLeft && a != actRight {
		s.view.act(a)
	}
}

func (s *divergeScreen) arrange(_ *Model, w, h int) {
	s.view.show(fmt.Sprint(s.have, s.err), func() doc {
		var d doc
		for _, l := range s.lines {
			d.lines = append(d.lines, docLine{text: l.left + " | " + l.right})
		}
		return d
	})
	s.view.size(w, h-2)
}

func (s *divergeScreen) draw(m *Model, w, h int) []string {
	switch {
	case s.err != "":
		return center(w, s.err)
	case s.have < 2:
		return center(w, "Asking …")
	}
	verdict := "No step differs."
	if s.found.kind != nil {
		verdict = fmt.Sprintf("They diverge at step %d, in %s.", s.found.at+1, strings.Join(s.found.kind, " and "))
		if slices.Contains(s.found.kind, "length") {
			verdict = fmt.Sprintf("All %d steps of the shorter one are equal; the other one goes on.", s.found.at)
		}
	}
	lw := (w - 3) / 2
	rw := w - 3 - lw
	bar := " " + m.th.box.bar + " "
	out := []string{
		m.th.paint(tokBold, text.Fit(" "+verdict, w)),
		m.th.paint(tokDim, text.Fit("  "+short(s.ids[0]), lw)+bar+text.Fit("  "+short(s.ids[1]), rw)),
	}
	for i := s.view.top; i < min(s.view.top+s.view.h, len(s.lines)); i++ {
		l := s.lines[i]
		mid := bar
		a, b := text.Fit(" "+l.left, lw), text.Fit(" "+l.right, rw)
		if !l.same {
			mid = " ! "
			a, b = m.th.paint(tokBad, a), m.th.paint(tokOK, b)
		}
		line := a + mid + b
		if i == s.view.at {
			line = m.th.selected(line)
		}
		out = append(out, line)
	}
	return fill(out, h)
}
