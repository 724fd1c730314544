package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// agentsScreen lists the agents and shows the policy of the selected one.
type agentsScreen struct {
	list
	asked   string // the agent whose policy was asked for last
	policy  docView
	bundle  wire.Policy
	problem string // why there is no policy
	report  *wire.PolicyTestReport
	tested  string // of which execution
	onText  bool
}

type policyMsg struct {
	gen    int
	agent  string
	policy wire.Policy
	err    error
}

type policyTestMsg struct {
	gen    int
	agent  string
	exec   string
	report wire.PolicyTestReport
	err    error
}

func (m *Model) agentIDs() []string {
	ids := make([]string, len(m.st.agents))
	for i, a := range m.st.agents {
		ids[i] = a.ID
	}
	return ids
}

func (s *agentsScreen) rows(st *store) {
	ids := make([]string, len(st.agents))
	for i, a := range st.agents {
		ids[i] = a.ID
	}
	s.set(ids)
}

// ask reads the policy of the selected agent.
func (s *agentsScreen) ask(m *Model) tea.Cmd {
	s.rows(m.st)
	id := s.cur
	if id == "" {
		return nil
	}
	s.asked = id
	c, gen := m.place.Client, m.gen
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		p, err := c.GetPolicy(ctx, id)
		return policyMsg{gen, id, p, err}
	})
}

func (s *agentsScreen) got(m *Model, msg policyMsg) {
	if msg.agent != s.cur {
		return
	}
	s.bundle, s.problem = msg.policy, ""
	switch {
	case client.StatusOf(msg.err) == 404:
		s.problem = "no policy is loaded: everything is allowed"
	case msg.err != nil:
		m.good(msg.err)
		s.problem = "the policy is not known"
	}
	s.show()
}

// test replays the agent's newest execution against its policy.
func (s *agentsScreen) test(m *Model) tea.Cmd {
	var newest *execution
	for _, e := range m.st.executions {
		if e.AgentID == s.cur && (newest == nil || e.CreatedAt.After(newest.CreatedAt.Time)) {
			newest = e
		}
	}
	if newest == nil {
		m.say("there is no execution of %s to replay", text.Clean(s.cur))
		return nil
	}
	c, gen, agent, exec := m.place.Client, m.gen, s.cur, newest.ID
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		r, err := c.TestPolicy(ctx, agent, wire.PolicyTest{ExecutionID: exec})
		return policyTestMsg{gen, agent, exec, r, err}
	})
}

func (s *agentsScreen) gotTest(m *Model, msg policyTestMsg) {
	if msg.err != nil {
		m.fail(fmt.Errorf("test the policy of %s: %w", msg.agent, msg.err))
		return
	}
	if msg.agent != s.cur {
		return
	}
	s.report, s.tested = &msg.report, msg.exec
	s.show()
	m.say("%d of %d steps of %s are ruled as they were", msg.report.Total-msg.report.Failed, msg.report.Total, short(msg.exec))
}

// show fills the text at the right.
func (s *agentsScreen) show() {
	key := fmt.Sprint(s.cur, s.bundle.SHA256, s.problem, s.tested)
	s.policy.show(key, func() doc {
		var b strings.Builder
		if s.report != nil {
			b.WriteString(reportText(s.report, s.tested) + "\n")
		}
		if s.problem != "" {
			b.WriteString(s.problem)
		} else {
			lines := strings.Split(strings.TrimRight(s.bundle.Bundle, "\n"), "\n")
			for i, l := range lines {
				fmt.Fprintf(&b, "%4d  %s\n", i+1, l)
			}
		}
		return newText(b.String())
	})
}

// reportText is the outcome of a test of a policy.
func reportText(r *wire.PolicyTestReport, exec string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "replay of execution %s: %d steps, %d ruled otherwise\n", short(exec), r.Total, r.Failed)
	for _, x := range r.Results {
		mark := "ok      "
		if !x.Pass {
			mark = "MISMATCH"
		}
		fmt.Fprintf(&b, "  %s %s %s: %s by %s", mark, x.Kind, x.Target, x.Decision, x.RuleID)
		if x.Failure != "" {
			fmt.Fprintf(&b, "  (%s)", x.Failure)
		}
		b.WriteByte('\n')
	}
	if len(r.UnexercisedRules) > 0 {
		fmt.Fprintf(&b, "  rules that no step met: %s\n", strings.Join(r.UnexercisedRules, ", "))
	}
	return b.String()
}

func (s *agentsScreen) act(m *Model, a action) tea.Cmd {
	before := s.cur
	switch a {
	case actPane, actPaneBack:
		s.onText = !s.onText
	case actLeft:
		s.onText = false
	case actRight:
		s.onText = true
	case actOpen:
		if s.onText {
			s.policy.act(a)
		}
		s.onText = true
	case actTestPolicy:
		return s.test(m)
	case actNext, actPrev:
		s.rule(a)
	default:
		if s.onText {
			s.policy.act(a)
		} else {
			s.list.act(a)
		}
	}
	if s.cur == before {
		return nil
	}
	s.bundle, s.problem, s.report, s.tested = wire.Policy{}, "…", nil, ""
	s.show()
	return s.ask(m)
}

// rule goes to the next match, or to the next rule when nothing is sought.
func (s *agentsScreen) rule(a action) {
	s.onText = true
	if s.policy.find != "" {
		s.policy.act(a)
		return
	}
	s.policy.find = "- id:"
	s.policy.act(a)
	s.policy.find = ""
}

func (s *agentsScreen) split(w int) int { return min(max(w/4, 18), 40) }

func (s *agentsScreen) arrange(m *Model, w, h int) {
	s.rows(m.st)
	s.size(h - 1)
	s.policy.size(w-s.split(w)-3, h-2)
}

func (s *agentsScreen) draw(m *Model, w, h int) []string {
	if len(s.ids) == 0 {
		switch {
		case !m.st.agLoaded && !m.conn.online():
			return center(w, "Nothing was heard of the server yet.")
		case !m.st.agLoaded:
			return center(w, "Asking …")
		}
		return center(w, "No agents. Try:", "kernelctl agents register --help")
	}
	lw := s.split(w)
	rw := w - lw - 3
	left := []string{m.th.paint(tokDim, text.Fit(fmt.Sprintf("   AGENTS %d", len(s.ids)), lw))}
	for _, id := range s.window() {
		line := text.Fit(marker(id == s.cur, false)+" "+text.Clean(id), lw)
		switch {
		case id == s.cur && !s.onText:
			line = m.th.selected(line)
		case id == s.cur:
			line = m.th.paint(tokBold, line)
		}
		left = append(left, line)
	}
	right := s.head(m, rw)
	if s.policy.rows != nil {
		right = append(right, s.policy.draw(&m.th, rw, s.onText)...)
	}
	return beside(left, right, lw, h)
}

// head is what is known of the selected agent.
func (s *agentsScreen) head(m *Model, w int) []string {
	var a wire.Agent
	for _, x := range m.st.agents {
		if x.ID == s.cur {
			a = x
		}
	}
	running, blocked := 0, 0
	for _, e := range m.st.executions {
		if e.AgentID == s.cur {
			switch e.Status {
			case wire.ExecutionRunning:
				running++
			case wire.ExecutionBlocked:
				blocked++
			case wire.ExecutionPending, wire.ExecutionCompleted, wire.ExecutionFailed, wire.ExecutionCancelled:
			}
		}
	}
	lease := "default lease"
	if a.LeaseTimeoutSeconds > 0 {
		lease = fmt.Sprintf("lease %ds", a.LeaseTimeoutSeconds)
	}
	rules := ""
	if s.bundle.Bundle != "" {
		rules = fmt.Sprintf("policy: %d rules, loaded %s ago", strings.Count(s.bundle.Bundle, "- id:"), ago(m.serverNow().Sub(s.bundle.UpdatedAt.Time)))
	}
	return []string{
		text.Cut(fmt.Sprintf("%s  %s  %s  %d running  %d blocked", text.Clean(a.ID), text.Clean(a.WebhookURL), lease, running, blocked), w),
		ruleLine(&m.th, rules, "", w),
	}
}
