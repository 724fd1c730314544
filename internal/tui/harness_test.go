package tui

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// noon is the time of all tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// posted is a decision that reached the service.
type posted struct {
	verb, id, by, why string
}

// fake is a service that answers from memory. Feeds and tails stay silent: tests
// give what they would tell to Update.
type fake struct {
	mu         sync.Mutex
	approvals  []wire.Approval
	executions []wire.Execution
	agents     []wire.Agent
	steps      map[string][]wire.Step
	policy     string
	metrics    string
	posts      []posted
	cancelled  []string
	policies   []string // that were loaded
	tests      []wire.PolicyTest
	refuse     error
}

func (f *fake) Server() string                              { return "http://127.0.0.1:8080" }
func (f *fake) ClockOffset() (time.Duration, bool)          { return 0, false }
func (f *fake) Health(context.Context) (wire.Health, error) { return wire.Health{}, nil }
func (f *fake) Metrics(context.Context) ([]byte, error)     { return []byte(f.metrics), nil }

func (f *fake) ListApprovals(context.Context, client.ApprovalFilter) ([]wire.Approval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []wire.Approval
	for _, a := range f.approvals {
		if a.Status == wire.ApprovalPending {
			out = append(out, a)
		}
	}
	return out, nil
}

func (f *fake) GetApproval(_ context.Context, id string) (wire.Approval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.approvals {
		if a.ID == id {
			return a, nil
		}
	}
	return wire.Approval{}, errors.New("not found")
}

func (f *fake) decide(verb, id string, d wire.DecideApproval, to wire.ApprovalStatus) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts = append(f.posts, posted{verb, id, d.DecidedBy, d.Rationale})
	if f.refuse != nil {
		return f.refuse
	}
	for i := range f.approvals {
		if f.approvals[i].ID == id {
			f.approvals[i].Status, f.approvals[i].DecidedBy = to, &d.DecidedBy
		}
	}
	return nil
}

func (f *fake) GrantApproval(_ context.Context, id string, d wire.DecideApproval) error {
	return f.decide("grant", id, d, wire.ApprovalGranted)
}

func (f *fake) DenyApproval(_ context.Context, id string, d wire.DecideApproval) error {
	return f.decide("deny", id, d, wire.ApprovalDenied)
}

func (f *fake) ListExecutions(context.Context, client.ExecutionFilter) (wire.ExecutionList, error) {
	return wire.ExecutionList{Executions: f.executions}, nil
}

func (f *fake) GetExecution(_ context.Context, id string) (wire.Execution, error) {
	for _, x := range f.executions {
		if x.ID == id {
			return x, nil
		}
	}
	return wire.Execution{}, &client.Error{Code: wire.CodeNotFound, Status: 404, Message: "not found"}
}

func (f *fake) CancelExecution(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return f.refuse
	}
	f.cancelled = append(f.cancelled, id)
	return nil
}

func (f *fake) ListSteps(_ context.Context, id, _ string) ([]wire.Step, error) {
	return f.steps[id], nil
}
func (f *fake) ListAgents(context.Context) ([]wire.Agent, error) { return f.agents, nil }

func (f *fake) GetPolicy(_ context.Context, id string) (wire.Policy, error) {
	return wire.Policy{AgentID: id, Bundle: f.policy, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(f.policy))), UpdatedAt: wire.At(noon.Add(-time.Hour))}, nil
}

func (f *fake) ListEvents(_ context.Context, id string, after int64, limit int) (out []wire.Event, _ error) {
	for _, r := range typicalEvents(id) {
		if r.EventSeq > after && len(out) < limit {
			out = append(out, r.Event)
		}
	}
	return out, nil
}

func (f *fake) LoadPolicy(_ context.Context, id, bundle string) error {
	f.policies = append(f.policies, id+": "+bundle)
	f.policy = bundle
	return nil
}

func (f *fake) TestPolicy(_ context.Context, _ string, req wire.PolicyTest) (wire.PolicyTestReport, error) {
	f.tests = append(f.tests, req)
	return wire.PolicyTestReport{
		Total: 2, Failed: 1, UnexercisedRules: []string{"egress"},
		Results: []wire.PolicyResult{
			{Kind: wire.KindLLMCall, Target: "gpt-x", Decision: wire.ActionAllow, RuleID: "models", Pass: true},
			{Kind: wire.KindToolCall, Target: "send_email", Decision: wire.ActionDeny, RuleID: "mail", Failure: "deny, want require_approval"},
		},
	}, nil
}

func (f *fake) Feed(ctx context.Context, _ client.FeedOptions, _ func(wire.Event) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f *fake) TailEvents(ctx context.Context, _ string, _ client.TailOptions, _ func(wire.Event) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f *fake) Stream(ctx context.Context, _ string, _ func(client.Link), _ func(wire.StreamDelta) error) (wire.StreamEnd, error) {
	<-ctx.Done()
	return wire.StreamEnd{}, ctx.Err()
}

// rig drives a model without a program: commands are run at once,
// and what they answer is given back.
type rig struct {
	t     testing.TB
	m     *Model
	f     *fake
	now   time.Time
	bells int
	copy  string
	quit  bool
}

func (r *rig) Copy(_ context.Context, s string) (string, error) { r.copy = s; return "test", nil }
func (r *rig) Bell(string)                                      { r.bells++ }

func newRig(t testing.TB, f *fake, w, h int, edit ...func(*Place, *Options)) *rig {
	t.Helper()
	r := &rig{t: t, f: f, now: noon}
	p := Place{Name: "dev", Client: f, By: "alice"}
	o := Options{Now: func() time.Time { return r.now }, Terminal: r, Theme: "mono"}
	for _, e := range edit {
		e(&p, &o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m, err := NewModel(ctx, p, o, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); m.life.wg.Wait() })
	r.m = m
	m.life.still = true
	r.run(m.Init())
	r.send(tea.WindowSizeMsg{Width: w, Height: h})
	return r
}

// online makes the connection and fills the lists.
func (r *rig) online() *rig {
	r.send(sourceMsg{r.m.feed, linkMsg(client.Link{Up: true})})
	return r
}

func (r *rig) resize(w, h int) { r.send(tea.WindowSizeMsg{Width: w, Height: h}) }

func (r *rig) feed(cs ...change) { r.send(sourceMsg{r.m.feed, changesMsg(cs)}) }

func (r *rig) send(msg tea.Msg) {
	_, cmd := r.m.Update(msg)
	r.run(cmd)
}

// run runs a command, unless it is one that waits for a source or the clock.
func (r *rig) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	msg := cmd()
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			r.run(c)
		}
	case tea.QuitMsg:
		r.quit = true
	default:
		if strings.HasPrefix(fmt.Sprintf("%T", msg), "tea.") {
			return
		}
		r.send(msg)
	}
}

func keyMsg(s string) tea.KeyMsg {
	types := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"ctrl+c": tea.KeyCtrlC, "ctrl+d": tea.KeyCtrlD, "ctrl+u": tea.KeyCtrlU, "ctrl+l": tea.KeyCtrlL, "backspace": tea.KeyBackspace,
	}
	if t, ok := types[s]; ok {
		return tea.KeyMsg{Type: t}
	}
	if s == " " || s == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)}
}

// press sends keys at the pace of a person.
func (r *rig) press(keys ...string) {
	for _, k := range keys {
		r.now = r.now.Add(400 * time.Millisecond)
		r.send(keyMsg(k))
	}
}

// text types a text, letter by letter.
func (r *rig) text(s string) {
	for _, c := range s {
		r.press(string(c))
	}
}

// frame is what is on the screen, without attributes; it checks its size.
func (r *rig) frame() string {
	r.t.Helper()
	lines := strings.Split(r.m.View(), "\n")
	if len(lines) != r.m.h {
		r.t.Fatalf("the frame has %d lines, want %d", len(lines), r.m.h)
	}
	for i, l := range lines {
		if w := text.Width(l); w > r.m.w {
			r.t.Fatalf("line %d is %d cells wide, want at most %d: %q", i, w, r.m.w, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n")
}

func (r *rig) want(parts ...string) {
	r.t.Helper()
	f := r.frame()
	for _, p := range parts {
		if !strings.Contains(f, p) {
			r.t.Fatalf("the frame lacks %q:\n%s", p, f)
		}
	}
}

func (r *rig) wantNot(parts ...string) {
	r.t.Helper()
	f := r.frame()
	for _, p := range parts {
		if strings.Contains(f, p) {
			r.t.Fatalf("the frame has %q:\n%s", p, f)
		}
	}
}

func id(kind, n int) string { return fmt.Sprintf("01930c2e-0000-7000-8000-%04x%08x", kind, n) }

// typical is a service with something of everything.
func typical() *fake {
	at := func(ago time.Duration) wire.Time { return wire.At(noon.Add(-ago)) }
	by := "bob"
	decided := at(time.Minute)
	ap := func(n int, agent, target, rule, reason, args string, left time.Duration, approvers ...string) wire.Approval {
		return wire.Approval{
			ID: id(1, n), ExecutionID: id(2, n), StepID: id(3, n), AgentID: agent, Status: wire.ApprovalPending, Kind: wire.KindToolCall,
			Target: target, Args: []byte(args), RuleID: rule, Reason: reason, Approvers: approvers,
			CreatedAt: at(time.Duration(n) * time.Minute), TimeoutAt: wire.At(noon.Add(left)),
		}
	}
	f := &fake{
		approvals: []wire.Approval{
			ap(1, "research", "send_email", "mail-out", "outbound mail needs a person", `{"to":"ceo@x.com","subject":"Q3 numbers","attachments":["q3.xlsx","notes.md"],"cc":[]}`, 48*time.Second, "alice", "bob"),
			ap(2, "ops", "drop_table", "ddl-prod", "tables of production", `{"table":"users_old"}`, 252*time.Second),
			ap(3, "billing", "http_post", "egress", "", `{"url":"https://api.example.com"}`, 580*time.Second, "bob"),
			ap(4, "ops", "drop_table", "ddl-prod", "tables of production", `{"table":"orders_old"}`, 20*time.Minute),
		},
		steps: map[string][]wire.Step{}, agents: []wire.Agent{{ID: "research", WebhookURL: "http://127.0.0.1:9000/hook", LeaseTimeoutSeconds: 60}, {ID: "ops", WebhookURL: "http://127.0.0.1:9001/hook"}},
		policy:  "default_action: deny\nrules:\n  - id: models\n    when: {step_kind: llm_call}\n    then: {decision: allow}\n  - id: mail-out\n    when: {target: send_email}\n    then: {decision: require_approval}\n",
		metrics: "# HELP x\nkernelctl_executions{status=\"running\"} 112\nkernelctl_executions{status=\"failed\"} 3\nkernelctl_steps_total{decision=\"allowed\",kind=\"llm_call\"} 96\nkernelctl_steps_total{decision=\"denied\",kind=\"tool_call\"} 4\nkernelctl_db_bytes 4.3e+07\nkernelctl_store_commit_seconds_bucket{le=\"0.001\"} 10\nkernelctl_store_commit_seconds_bucket{le=\"0.01\"} 100\nkernelctl_store_commit_seconds_bucket{le=\"+Inf\"} 100\n",
	}
	f.approvals = append(f.approvals, wire.Approval{ID: id(1, 99), Status: wire.ApprovalGranted, DecidedBy: &by, DecidedAt: &decided})
	for n, st := range []wire.ExecutionStatus{"running", "blocked", "blocked", "blocked", "blocked", "completed", "failed", "cancelled", "pending"} {
		x := wire.Execution{
			ID: id(2, n), AgentID: []string{"research", "research", "ops", "billing", "ops"}[n%5], Status: st, Input: []byte(`{"task":"send the Q3 report"}`), Output: []byte("null"),
			Labels: wire.Labels{"env": "prod", "run": fmt.Sprint(n)}, CreatedAt: at(time.Duration(n) * time.Minute), UpdatedAt: at(time.Duration(n) * 10 * time.Second), LastEventSeq: int64(n + 3),
		}
		if st == "failed" {
			x.FailureReason = "agent: out of luck"
		}
		f.executions = append(f.executions, x)
		f.steps[x.ID] = typicalSteps(x.ID, n)
	}
	return f
}

func typicalSteps(exec string, n int) []wire.Step {
	at := wire.At(noon.Add(-time.Minute))
	done := wire.At(noon.Add(-58 * time.Second))
	steps := []wire.Step{
		{StepID: id(4, 1), ExecutionID: exec, Kind: wire.KindLLMCall, Target: "gpt-x", Status: wire.StepSucceeded, Args: []byte(`{"prompt":"hi"}`), Result: []byte(`{"text":"hello"}`), RuleID: "models", Usage: &wire.Usage{InputTokens: 812, OutputTokens: 95}, CreatedAt: at, StartedAt: &at, CompletedAt: &done},
		{StepID: id(4, 2), ExecutionID: exec, Kind: wire.KindToolCall, Target: "search_web", Status: wire.StepSucceeded, Args: []byte(`{"q":"q3"}`), Result: []byte(fmt.Sprintf(`{"hits":%d,"top":"a"}`, n)), RuleID: "search", CreatedAt: at, StartedAt: &at, CompletedAt: &done},
		{StepID: id(3, n), ExecutionID: exec, Kind: wire.KindToolCall, Target: "send_email", Status: wire.StepAwaitingApproval, Args: []byte(`{"to":"ceo@x.com"}`), RuleID: "mail-out", CreatedAt: at},
	}
	return steps
}

// typicalEvents is the log of an execution that waits.
func typicalEvents(exec string) []eventRow {
	var out []eventRow
	add := func(t wire.EventType, payload string) {
		n := len(out) + 1
		e := wire.Event{ID: id(5, n), ExecutionID: exec, EventSeq: int64(n), Type: t, OccurredAt: wire.At(noon.Add(time.Duration(n-60) * time.Second)), Payload: []byte(payload)}
		out = append(out, newEventRow(e))
	}
	add(wire.EventExecutionCreated, `{"agent_id":"research","labels":{"env":"prod"}}`)
	add(wire.EventDispatchQueued, `{"reason":"created"}`)
	add(wire.EventDispatchAcked, `{"attempt":1}`)
	add(wire.EventExecutionStarted, `{"attempt":1}`)
	add(wire.EventStepProposed, `{"step_id":"`+id(4, 1)+`","step_type":"llm_call","target":"gpt-x"}`)
	add(wire.EventStepAllowed, `{"step_id":"`+id(4, 1)+`","target":"gpt-x","rule_id":"models"}`)
	add(wire.EventStepSucceeded, `{"step_id":"`+id(4, 1)+`","target":"gpt-x","usage":{"input_tokens":812,"output_tokens":95}}`)
	add(wire.EventStepProposed, `{"step_id":"`+id(3, 1)+`","step_type":"tool_call","target":"send_email"}`)
	add(wire.EventApprovalRequested, `{"approval_id":"`+id(1, 1)+`","step_id":"`+id(3, 1)+`","approvers":["alice","bob"],"message":"check"}`)
	add(wire.EventExecutionBlocked, `{"reason":"approval","approval_id":"`+id(1, 1)+`"}`)
	return out
}

// openTypical opens the screen of the execution that waits, with its log.
func (r *rig) openTypical() {
	r.run(r.m.openDetail(id(2, 1)))
	r.send(sourceMsg{r.m.de.tail, eventsMsg(typicalEvents(id(2, 1)))})
	r.send(sourceMsg{r.m.de.stream, deltasMsg{{StepID: id(4, 1), Seq: 0, Data: "Drafting the mail to the board."}}})
}

// flood is a fake that tells 5,000 events a second, and of the last one that it
// is the last.
type flood struct{ *fake }

const floodEvents = 10000

func (f flood) Feed(ctx context.Context, o client.FeedOptions, fn func(wire.Event) error) error {
	o.Link(client.Link{Up: true})
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for n := 1; n <= floodEvents; n++ {
		target := fmt.Sprintf("tool_%d", n)
		if n == floodEvents {
			target = "last_of_all"
		}
		e := wire.Event{
			ExecutionID: id(2, n%9), EventSeq: int64(100 + n), Type: wire.EventStepProposed, OccurredAt: wire.At(time.Now()),
			Payload: fmt.Appendf(nil, `{"step_id":"s","step_type":"tool_call","target":%q}`, target),
		}
		if err := fn(e); err != nil {
			return err
		}
		if n%100 == 0 {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// eager is a fake whose feed is there at once.
type eager struct{ *fake }

func (e eager) Feed(ctx context.Context, o client.FeedOptions, _ func(wire.Event) error) error {
	o.Link(client.Link{Up: true})
	<-ctx.Done()
	return ctx.Err()
}
