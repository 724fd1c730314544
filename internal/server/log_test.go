package server_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// symbols gives every id a name that is the same in each run: the kind of
// thing, and how many of them came before.
type symbols struct {
	names map[string]string
	count map[string]int
}

func newSymbols() *symbols {
	return &symbols{names: map[string]string{}, count: map[string]int{}}
}

var (
	idFields    = regexp.MustCompile(`"(\w+)":\s*"([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64})"`)
	moments     = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`)
	agentFields = regexp.MustCompile(`"agent_id":"[^"]*"`)
	kinds       = map[string]string{
		"execution_id": "execution", "dispatch_id": "dispatch", "approval_id": "approval", "signal_id": "signal",
		"step_id": "step", "ref": "step", "args_hash": "hash", "id": "id", "sha256": "sum",
	}
)

func (s *symbols) name(kind, id string) string {
	if s.names[id] == "" {
		s.count[kind]++
		s.names[id] = fmt.Sprintf("<%s %d>", kind, s.count[kind])
	}
	return s.names[id]
}

func (s *symbols) apply(text string) string {
	text = agentFields.ReplaceAllString(text, `"agent_id":<agent>`)
	text = idFields.ReplaceAllStringFunc(text, func(m string) string {
		part := idFields.FindStringSubmatch(m)
		kind := kinds[part[1]]
		if kind == "" {
			kind = part[1]
		}
		return `"` + part[1] + `":` + s.name(kind, part[2])
	})
	return moments.ReplaceAllString(text, "<time>")
}

// transcript is a log with everything that differs from run to run taken out.
func transcript(t *testing.T, events []wire.Event) string {
	t.Helper()
	var b strings.Builder
	names, seqs := newSymbols(), map[string]int64{}
	for i, e := range events {
		if e.EventSeq != int64(i+1) || e.ExecutionID != events[0].ExecutionID || e.CorrelationID != e.ExecutionID || e.SchemaVersion != 1 {
			t.Errorf("event %d: %s", i+1, daemontest.JSON(e))
		}
		if i > 0 && e.OccurredAt.Before(events[i-1].OccurredAt.Time) {
			t.Errorf("event %d: %s is before the one before", i+1, e.OccurredAt)
		}
		seqs[e.ID] = e.EventSeq
		cause := "outside"
		if e.CausationID != nil {
			cause = fmt.Sprint(seqs[*e.CausationID])
		}
		fmt.Fprintf(&b, "%d %s by %s\n  %s\n", e.EventSeq, e.Type, cause, names.apply(string(e.Payload)))
	}
	return b.String()
}

// stage is where a scenario plays.
type stage struct {
	*daemontest.Service
	t     *testing.T
	agent string // id of the agent of the scenario
}

// scenario is a way that an execution can go; play returns its id and the type
// of event that it ends with. Scenarios without options share one service.
type scenario struct {
	name string
	opts *daemon.Options
	play func(s *stage) (string, wire.EventType)
}

const approvalPolicy = `rules:
  - id: ask
    when: {target: ask}
    then:
      decision: require_approval
      reason: a look is needed
      approval_config: {approvers: [alice, bob], timeout: 1h, message: "look <here>"}
  - id: hurry
    when: {target: hurry}
    then: {decision: require_approval, approval_config: {timeout: 1ms}}
  - {id: no, when: {target: no}, then: {decision: deny, reason: never}}
  - {id: once-an-hour, when: {target: seldom}, then: {decision: allow, rate_limit: {max_calls: 1, window: 1h}}}
  - {id: paced, when: {target: paced}, then: {decision: allow, rate_limit: {max_calls: 1, window: 1s, max_wait: 1h}}}
  - {id: parked, when: {target: parked}, then: {decision: allow, rate_limit: {max_calls: 1, window: 1h, max_wait: 2h}}}
  - {id: go, then: {decision: allow}}
`

// play runs an agent with the policy above through a part of its life.
func play(body string, script func(s *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType) func(*stage) (string, wire.EventType) {
	return func(s *stage) (string, wire.EventType) {
		a := s.Agent(s.agent)
		a.Policy(approvalPolicy)
		r := s.start(a, body)
		return r.ExecutionID, script(s, a, r)
	}
}

// start waits for the ack, too: what an agent writes before it has another
// cause, for it is what records the ack.
func (s *stage) start(a *daemontest.Agent, body string) *daemontest.Run {
	r := a.Start(body)
	s.Await(r.ExecutionID, wire.EventExecutionStarted)
	return r
}

// resumed waits for the second run and its ack.
func (s *stage) resumed(a *daemontest.Agent) *daemontest.Run {
	r := a.Next()
	s.Await(r.ExecutionID, wire.EventDispatchAcked, 2)
	return r
}

// slowAgent answers its webhooks when the test ends.
func (s *stage) slowAgent(id string) *daemontest.Agent {
	hold := make(chan struct{})
	a := s.AgentThat(id, func(http.ResponseWriter, *http.Request) { <-hold })
	s.t.Cleanup(func() { close(hold) })
	return a
}

func (s *stage) decide(approval, verb, body string) {
	s.Admin(http.MethodPost, "/v0/approvals/"+approval+"/"+verb, body, http.StatusNoContent, nil)
}

func (s *stage) cancel(id string) wire.EventType {
	s.Admin(http.MethodPost, "/v0/executions/"+id+"/cancel", "", http.StatusNoContent, nil)
	return wire.EventExecutionCancelled
}

var scenarios = []scenario{
	{"plain", nil, play(`"input":{"a":1},"labels":{"b":"2","a":"1"}`, func(_ *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Result(r.Tool("t", `{"x":1}`), `{"y":2}`)
		llm := r.Submit(wire.KindLLMCall, "m", `{}`).StepID
		r.Result(llm, `{"usage":{"input_tokens":3,"output_tokens":4}}`)
		r.Decide("/steps/"+r.Submit(wire.KindLocal, "l", `null`).StepID+"/fail", `{"error":{"message":"<x>"}}`)
		r.Submit(wire.KindToolCall, "no", `1`)
		r.Complete(`{"z": 9007199254740993}`)
		return wire.EventExecutionCompleted
	})},
	{"failed", nil, play("", func(_ *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Must("/fail", `{"error":"it \"broke\""}`, http.StatusNoContent)
		return wire.EventExecutionFailed
	})},
	{"granted", nil, play("", func(s *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		s.decide(r.Submit(wire.KindToolCall, "ask", `1`).ApprovalID, "grant", `{"decided_by":"alice","rationale":"fine"}`)
		r = s.resumed(a)
		r.Result(r.Tool("ask", `1`), `1`)
		r.Complete(`null`)
		return wire.EventExecutionCompleted
	})},
	{"denied", nil, play("", func(s *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		s.decide(r.Submit(wire.KindToolCall, "ask", `1`).ApprovalID, "deny", `{"decided_by":"bob"}`)
		r = a.Next()
		r.Submit(wire.KindToolCall, "ask", `1`)
		r.Complete(`1`)
		return wire.EventExecutionCompleted
	})},
	{"denied with words", nil, play("", func(s *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		s.decide(r.Submit(wire.KindToolCall, "ask", `1`).ApprovalID, "deny", `{"decided_by":"bob","rationale":"wrong list"}`)
		a.Next().Complete(`1`)
		return wire.EventExecutionCompleted
	})},
	{"expired", nil, play("", func(_ *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Submit(wire.KindToolCall, "hurry", `1`)
		a.Next().Complete(`1`)
		return wire.EventExecutionCompleted
	})},
	{"rate limited", nil, play("", func(_ *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Tool("seldom", `1`)
		r.Submit(wire.KindToolCall, "seldom", `2`)
		r.Complete(`1`)
		return wire.EventExecutionCompleted
	})},
	{"parked", nil, play("", func(s *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Result(r.Tool("paced", `1`), `1`)
		r.Submit(wire.KindToolCall, "paced", `2`)
		r = s.resumed(a)
		r.Submit(wire.KindToolCall, "paced", `1`) // is recorded: uses no slot
		r.Tool("paced", `2`)
		r.Complete(`1`)
		return wire.EventExecutionCompleted
	})},
	{"cancelled before the ack", nil, func(s *stage) (string, wire.EventType) {
		id := s.slowAgent(s.agent).Start("").ExecutionID
		return id, s.cancel(id)
	}},
	{"cancelled before the first claim", &daemon.Options{DispatchConcurrency: 1}, func(s *stage) (string, wire.EventType) {
		s.slowAgent("hog").Start("")
		id := s.Agent(s.agent).Create("").ID
		s.cancel(id)
		return id, wire.EventExecutionCancelled
	}},
	{"cancelled while running", nil, play("", func(s *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Result(r.Tool("done", `1`), `1`)
		r.Tool("open", `1`)
		r.Submit(wire.KindLocal, "open", `1`)
		return s.cancel(r.ExecutionID)
	})},
	{"cancelled while blocked", nil, play("", func(s *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Tool("open", `1`)
		r.Submit(wire.KindToolCall, "ask", `1`)
		return s.cancel(r.ExecutionID)
	})},
	{"cancelled while granted", &daemon.Options{DispatchConcurrency: 1}, func(s *stage) (string, wire.EventType) {
		a := s.Agent(s.agent)
		a.Policy(approvalPolicy)
		r := s.start(a, "")
		approval := r.Submit(wire.KindToolCall, "ask", `1`).ApprovalID
		s.slowAgent("hog").Start("")
		s.decide(approval, "grant", `{"decided_by":"alice"}`)
		s.cancel(r.ExecutionID)
		return r.ExecutionID, wire.EventExecutionCancelled
	}},
	{"cancelled while parked", nil, play("", func(s *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Tool("parked", `1`)
		r.Submit(wire.KindToolCall, "parked", `2`)
		return s.cancel(r.ExecutionID)
	})},
	{"cancelled while it waits", nil, play("", func(s *stage, _ *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Wait(`{"signal_type":"s","timeout_seconds":3600}`)
		return s.cancel(r.ExecutionID)
	})},
	{"deadline", nil, func(s *stage) (string, wire.EventType) {
		a := s.Agent(s.agent)
		deadline := wire.At(time.Now().Add(time.Second))
		r := s.start(a, `"deadline_at":"`+deadline.String()+`"`)
		r.Tool("open", `1`)
		events := s.Await(r.ExecutionID, wire.EventExecutionCancelled)
		if late := events[len(events)-1].OccurredAt.Sub(deadline.Time); late < 0 || late > time.Second {
			s.t.Errorf("the deadline passed %s late", late)
		}
		return r.ExecutionID, wire.EventExecutionCancelled
	}},
	{"exhausted", &daemon.Options{DispatchMaxAttempts: 2}, func(s *stage) (string, wire.EventType) {
		a := s.AgentThat(s.agent, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		return a.Create("").ID, wire.EventExecutionFailed
	}},
	{"failed once", nil, func(s *stage) (string, wire.EventType) {
		refusals := make(chan struct{}, 1)
		refusals <- struct{}{}
		a := s.AgentThat(s.agent, func(w http.ResponseWriter, _ *http.Request) {
			select {
			case <-refusals:
				w.WriteHeader(http.StatusAccepted) // any status but 200
			default:
			}
		})
		r := a.Start("")
		a.Next().Complete(`1`)
		return r.ExecutionID, wire.EventExecutionCompleted
	}},
	{"lapsed", &daemon.Options{LeaseTimeout: 500 * time.Millisecond, DispatchMaxAttempts: 2}, func(s *stage) (string, wire.EventType) {
		return s.Agent(s.agent).Create("").ID, wire.EventExecutionFailed
	}},
	{"restarted", &daemon.Options{}, func(s *stage) (string, wire.EventType) {
		a := s.Agent(s.agent)
		r := s.start(a, "")
		safe := r.Tool("safe", `1`)
		once := r.Decide("/steps", `{"kind":"tool_call","target":"once","args":1,"idempotency":"at_most_once"}`).StepID
		s.Service = s.Crash()
		a, r = a.On(s.Service), r.On(s.Service)
		if got := r.Post("/steps", `{"kind":"local","target":"l"}`); got.Code() != wire.CodeLeaseSuperseded {
			s.t.Errorf("a submit after an unclean stop: status %d: %s", got.Status, got.Body)
		}
		r = s.resumed(a)
		if again := r.Tool("safe", `1`); again != safe {
			s.t.Errorf("another id: %s, want %s", again, safe)
		}
		d := r.Decide("/steps", `{"kind":"tool_call","target":"once","args":1,"idempotency":"at_most_once"}`)
		if d.Decision != wire.DecisionReplay || d.StepID != once || !strings.Contains(string(d.Error), `"reason":"indeterminate"`) {
			s.t.Errorf("a step that may have run: %s", daemontest.JSON(d))
		}
		twin := r.Decide("/steps", `{"kind":"tool_call","target":"once","args":1,"idempotency":"at_most_once"}`)
		if twin.Decision != wire.DecisionDenied || twin.RuleID != "indeterminate-retry" || twin.Reason == "" {
			s.t.Errorf("its twin: %s", daemontest.JSON(twin))
		}
		r.Complete(`1`)
		return r.ExecutionID, wire.EventExecutionCompleted
	}},
	{"signal", nil, play("", func(s *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		send := func(body string) {
			s.Admin(http.MethodPost, r.Path("/signal"), body, http.StatusAccepted, nil)
		}
		send(`{"signal_type":"early","payload":{"n": 1}}`)
		r.Wait(`{"signal_type":"early"}`)
		r.Wait(`{"signal_type":"late"}`)
		send(`{"signal_type":"other"}`)
		send(`{"signal_type":"late","payload":[2]}`)
		r = a.Next()
		r.Wait(`{"signal_type":"early"}`)
		r.Wait(`{"signal_type":"late"}`)
		r.Complete(`1`)
		return wire.EventExecutionCompleted
	})},
	{"signal that never comes", nil, play("", func(_ *stage, a *daemontest.Agent, r *daemontest.Run) wire.EventType {
		r.Wait(`{"signal_type":"s","timeout_seconds":1}`)
		r = a.Next()
		r.Wait(`{"signal_type":"s","timeout_seconds":1}`)
		r.Complete(`1`)
		return wire.EventExecutionCompleted
	})},
}

// TestLogs holds whole logs, every type and every field of every payload, to
// what testdata/logs says, which is the reading of docs/events.md.
func TestLogs(t *testing.T) {
	t.Parallel()
	shared := newService(t, daemon.Options{})
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(sc.name, " ", "-")
			s := &stage{Service: shared, t: t, agent: name}
			if sc.opts != nil {
				s.Service = newService(t, *sc.opts)
			}
			id, last := sc.play(s)
			s.Await(id, last)
			golden(t, filepath.Join("logs", name+".txt"), transcript(t, s.Events(id)))
		})
	}
}
