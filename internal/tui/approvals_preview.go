package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// drawPreview shows the selected approval.
func (s *approvalsScreen) drawPreview(m *Model, w, h int) []string {
	a := s.selected(m.st)
	if a == nil {
		return fill(nil, h)
	}
	out := m.card(a, w)
	title, end := "args ("+plural(len(s.args.lines), "line")+")", ""
	if a.odd {
		title += " ! holds characters that are shown as escapes"
	}
	if n := len(s.args.rows); n > s.args.h {
		end = fmt.Sprintf("%d-%d of %d", s.args.top+1, min(s.args.top+s.args.h, n), n)
	}
	out = append(out, titled(&m.th, title, end, w, s.onText))
	out = append(out, s.args.draw(&m.th, w, s.onText)...)
	if s.layout(m.w, m.bodyHeight()).side {
		out = append(out, m.aboutExecution(a, w)...)
	}
	return fill(out, h)
}

// cardLines bounds each value of a card, so that none pushes the others out.
const cardLines = 3

// card is the head of an approval: all that is known of it but the arguments.
func (m *Model) card(a *approval, w int) []string {
	state := "time left " + left(a.TimeoutAt.Sub(m.serverNow()))
	if !a.pending() {
		state = m.fate(a)
	}
	step := "step " + short(a.StepID)
	out := []string{ruleLine(&m.th, short(a.ID), state, w)}
	add := func(name, value string) {
		if value == "" {
			return
		}
		pieces := text.Words(text.Clean(value), max(w-12, 10))
		for i, piece := range pieces {
			if i > 0 {
				name = ""
			}
			if i == cardLines-1 && len(pieces) > cardLines {
				piece = "… " + plural(len(pieces)-i, "more line")
			}
			if i < cardLines {
				out = append(out, text.Fit(" "+text.Fit(name, 10)+" "+piece, w))
			}
		}
	}
	add("target", fmt.Sprintf("%s  (%s)  %s  requested %s, %s ago", a.Target, a.Kind, step, clock(a.CreatedAt), ago(m.serverNow().Sub(a.CreatedAt.Time))))
	add("agent", a.AgentID+"  execution "+short(a.ExecutionID))
	add("rule", a.RuleID)
	add("reason", a.Reason)
	add("message", a.Message)
	add("approvers", strings.Join(a.Approvers, ", ")+m.mayDecide(a))
	return out
}

// mayDecide says in a few words whether the person at the screen may decide.
func (m *Model) mayDecide(a *approval) string {
	switch {
	case len(a.Approvers) == 0:
		return "anyone"
	case slices.Contains(a.Approvers, m.place.By):
		return " (you may decide)"
	case m.place.By == "":
		return ""
	}
	return " (not you: " + m.place.By + ")"
}

// fate says what became of an approval.
func (m *Model) fate(a *approval) string {
	s := string(a.Status)
	if a.DecidedBy != nil {
		s += " by " + text.Clean(*a.DecidedBy)
	}
	if a.DecidedAt != nil {
		s += " " + ago(m.serverNow().Sub(a.DecidedAt.Time)) + " ago"
	}
	return s
}

// aboutExecution is what a wide preview tells beside the arguments: the state of
// the execution, its input, its last events, and what was decided of its like.
func (m *Model) aboutExecution(a *approval, w int) []string {
	e := m.st.executions[a.ExecutionID]
	if e == nil {
		return nil
	}
	out := []string{"", ruleLine(&m.th, "execution "+short(e.ID), "", w)}
	line := fmt.Sprintf(" status %s   started %s ago", m.th.paint(execToken(e.Status), string(e.Status)), ago(m.serverNow().Sub(e.CreatedAt.Time)))
	if e.DeadlineAt != nil {
		line += "   deadline " + left(e.DeadlineAt.Sub(m.serverNow()))
	}
	out = append(out, text.Cut(line, w))
	if b := m.ap.about; b.approval == a.ID {
		if b.input != "" {
			out = append(out, text.Cut(" input  "+b.input, w))
		}
		if len(b.events) > 0 {
			out = append(out, "", ruleLine(&m.th, "last events", "", w))
		}
		for _, r := range b.events {
			out = append(out, text.Cut(fmt.Sprintf(" %4d  %s  %s", r.EventSeq, text.Fit(text.Clean(string(r.Type)), 22), r.detail), w))
		}
	}
	past := m.st.alike(a)
	if len(past) > 0 {
		out = append(out, "", ruleLine(&m.th, "decisions seen here for rule "+text.Clean(a.RuleID), "", w))
	}
	for _, b := range past {
		why := ""
		if b.Rationale != nil {
			why = "  " + text.Clean(*b.Rationale)
		}
		out = append(out, text.Cut(" "+short(b.ID)+"  "+m.fate(b)+why, w))
	}
	return out
}

// aboutMsg is what the preview wants to know of an execution.
type aboutMsg struct {
	approval string
	input    string // clean, on one line
	events   []eventRow
}

// The preview asks once the cursor has rested, for so many events.
const (
	aboutRest   = 200 * time.Millisecond
	aboutEvents = 5
)

// restedMsg tells that the cursor may have rested on an approval.
type restedMsg struct{ approval string }

// want waits until the cursor rests on an approval.
func (s *approvalsScreen) want(m *Model) tea.Cmd {
	if m.screen != scrApprovals || s.cur == s.wanted || !m.conn.online() || !s.layout(m.w, m.bodyHeight()).side {
		return nil
	}
	s.wanted = s.cur
	return m.life.after(aboutRest, restedMsg{s.cur})
}

// rested asks for what the preview shows beside an approval.
func (s *approvalsScreen) rested(m *Model, id string) tea.Cmd {
	a := s.selected(m.st)
	if a == nil || a.ID != id {
		return nil
	}
	c, exec := m.place.Client, a.ExecutionID
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		x, err := c.GetExecution(ctx, exec)
		if err != nil {
			return nil // the rest of the preview stands without it
		}
		b := aboutMsg{approval: id, input: text.Clean(compact(x.Input, 2048))}
		events, err := c.ListEvents(ctx, exec, max(x.LastEventSeq-aboutEvents, 0), aboutEvents)
		if err != nil {
			return b
		}
		for _, e := range events {
			b.events = append(b.events, newEventRow(e))
		}
		return b
	})
}
