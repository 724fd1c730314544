package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// agentsScreen lists the agents and shows the policy of the selected one.
type agentsScreen struct {
	list
	asked   string // the agent whose policy was asked for last
	known   string // the agent whose policy, or that it has none, is known
	cases   string // what a test was asked of last
	policy  docView
	bundle  wire.Policy
	problem string // why there is no policy
	report  *wire.PolicyTestReport
	tested  string // on what
	tests   int
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
	on     string // what it was tested on
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
	if id != s.asked { // what was there is that of another agent
		s.bundle, s.problem, s.report, s.known = wire.Policy{}, "…", nil, ""
		s.asked = id
		s.show()
	}
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
	s.bundle, s.problem, s.known = msg.policy, "", s.cur
	switch {
	case client.StatusOf(msg.err) == 404:
		s.problem = "no policy is loaded: everything is allowed"
	case msg.err != nil:
		m.good(msg.err)
		s.problem, s.known = "the policy is not known", ""
	}
	s.show()
}

// newTest is the prompt of T: on what to test the policy.
func (m *Model) newTest() *prompt {
	return &prompt{
		sign: "test on", field: newField(m.ag.cases),
		done: func(m *Model, line string) tea.Cmd { return m.ag.test(m, line) },
		help: func(*Model, string) string {
			return "a file of cases, the id of an execution, or nothing: the newest one"
		},
	}
}

// test puts the policy of the selected agent to a past execution, or to a file
// of cases.
func (s *agentsScreen) test(m *Model, line string) tea.Cmd {
	s.cases = line
	if line == "" {
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
		return s.put(m, "execution "+short(newest.ID), wire.PolicyTest{ExecutionID: newest.ID}, "")
	}
	if found := m.st.like(line); len(found) == 1 {
		return s.put(m, "execution "+short(found[0]), wire.PolicyTest{ExecutionID: found[0]}, "")
	}
	return s.put(m, line, wire.PolicyTest{}, line)
}

// put asks for a test. A file is read for its cases.
func (s *agentsScreen) put(m *Model, on string, req wire.PolicyTest, file string) tea.Cmd {
	c, gen, agent := m.place.Client, m.gen, s.cur
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		msg := policyTestMsg{gen: gen, agent: agent, on: on}
		if file != "" {
			if req.Cases, msg.err = readCases(file); msg.err != nil {
				return msg
			}
		}
		msg.report, msg.err = c.TestPolicy(ctx, agent, req)
		return msg
	})
}

// readCases reads a file of cases; ~ is the home directory.
func readCases(file string) (cases []wire.PolicyCase, err error) {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the home directory: %w", err)
		}
		file = filepath.Join(home, rest)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	parsed, err := policy.ParseCases(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(parsed) == 0 {
		return nil, fmt.Errorf("%s: there is no case in it", file)
	}
	if b, err = wire.Marshal(parsed); err != nil {
		return nil, err
	}
	return cases, json.Unmarshal(b, &cases)
}

func (s *agentsScreen) gotTest(m *Model, msg policyTestMsg) {
	if msg.err != nil {
		m.fail(fmt.Errorf("test the policy of %s: %w", msg.agent, msg.err))
		return
	}
	if msg.agent != s.cur {
		return
	}
	s.report, s.tested = &msg.report, msg.on
	s.tests++
	s.show()
	m.say("%d of %d as expected, on %s", msg.report.Total-msg.report.Failed, msg.report.Total, text.Clean(msg.on))
}

// show fills the text at the right.
func (s *agentsScreen) show() {
	key := fmt.Sprint(s.cur, s.bundle.SHA256, s.problem, s.tests)
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
func reportText(r *wire.PolicyTestReport, on string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tested on %s: %s, %d not as expected\n", on, plural(r.Total, "case"), r.Failed)
	for _, x := range r.Results {
		mark := "ok      "
		if !x.Pass {
			mark = "MISMATCH"
		}
		fmt.Fprintf(&b, "  %s %s%s %s: %s by %s", mark, caseName(x), x.Kind, x.Target, x.Decision, x.RuleID)
		if x.Failure != "" {
			fmt.Fprintf(&b, "  (%s)", x.Failure)
		}
		b.WriteByte('\n')
	}
	if len(r.UnexercisedRules) > 0 {
		fmt.Fprintf(&b, "  rules that no case met: %s\n", strings.Join(r.UnexercisedRules, ", "))
	}
	return b.String()
}

// caseName is the name of a case, when that says more than its target.
func caseName(x wire.PolicyResult) string {
	if x.Name == "" || x.Name == x.Target {
		return ""
	}
	return x.Name + "  "
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
		m.prompt = m.newTest()
	case actEdit:
		return m.startEdit()
	case actNext, actPrev:
		s.rule(a)
	default:
		if s.onText {
			s.policy.act(a)
		} else {
			s.list.act(a)
		}
	}
	return s.turned(m, before)
}

// turned asks for the policy of the selected agent when it was another before.
func (s *agentsScreen) turned(m *Model, before string) tea.Cmd {
	if s.cur == before {
		return nil
	}
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
	s.policy.wrap = true
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
	return beside(&m.th, left, right, lw, h)
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
