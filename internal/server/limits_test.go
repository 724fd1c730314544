package server_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TestRateLimits count per execution, per agent and over all agents, and go on
// counting behind a restart.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	const bundle = `rules:
  - {id: mine, when: {target: mine}, then: {decision: allow, rate_limit: {max_calls: 1, window: 1h}}}
  - {id: ours, when: {target: ours}, then: {decision: allow, rate_limit: {max_calls: 2, window: 1h, per_what: agent}}}
  - {id: all, when: {target: all}, then: {decision: allow, rate_limit: {max_calls: 3, window: 1h, per_what: global}}}
  - {id: asked, when: {target: asked}, then: {decision: require_approval, rate_limit: {max_calls: 1, window: 1h}}}
  - {id: never, when: {target: never}, then: {decision: deny, rate_limit: {max_calls: 1, window: 1h}}}
`
	s := newService(t, daemon.Options{})
	a, b := s.Agent("a"), s.Agent("b")
	a.Policy(bundle)
	b.Policy(bundle)
	a1, a2, b1 := a.Start(""), a.Start(""), b.Start("")
	call := func(r *daemontest.Run, target string, want wire.DecisionName) {
		t.Helper()
		d := r.Submit(wire.KindToolCall, target, "1")
		if d.Decision != want {
			t.Errorf("%s: %s, want %s", target, daemontest.JSON(d), want)
		}
		if want == wire.DecisionRateLimited && (d.Reason != "rate_limit_exceeded" || d.RuleID != target || d.RetryAfterSeconds == nil || *d.RetryAfterSeconds < 3000 || *d.RetryAfterSeconds > 3600) {
			t.Errorf("%s: %s", target, daemontest.JSON(d))
		}
	}
	const yes, no = wire.DecisionProceed, wire.DecisionRateLimited
	call(a1, "mine", yes)
	call(a1, "mine", no)
	call(a2, "mine", yes)
	call(a1, "ours", yes)
	call(b1, "ours", yes)
	call(a2, "ours", yes)
	call(a1, "all", yes)
	call(b1, "all", yes)

	s = s.Restart()
	a1, a2, b1 = a1.On(s), a2.On(s), b1.On(s)
	call(a1, "ours", no)
	call(a2, "ours", no)
	call(b1, "ours", yes)
	call(b1, "ours", no)
	call(a2, "all", yes)
	call(a1, "all", no)
	call(b1, "all", no)
	// What is denied is recorded, too, and uses a slot; what is refused does not.
	call(a1, "never", wire.DecisionDenied)
	call(a1, "never", no)
	call(a2, "asked", wire.DecisionBlocked)
	// A refused submit leaves no record.
	for _, step := range b1.Steps() {
		if step.Occurrence > 1 || step.Status != wire.StepExecuting {
			t.Errorf("step %s", daemontest.JSON(step))
		}
	}
}

// TestParkOnce: a step that is parked comes back once; a wait that is too long
// is refused at once; nothing else may start meanwhile.
func TestParkOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	a := s.Agent("a")
	a.Policy(`rules:
  - {id: short, when: {target: short}, then: {decision: allow, rate_limit: {max_calls: 1, window: 1s, max_wait: 1m}}}
  - {id: long, when: {target: long}, then: {decision: allow, rate_limit: {max_calls: 1, window: 1h, max_wait: 1m}}}
  - {id: go, then: {decision: allow}}
`)
	run := a.Start("")
	run.Tool("long", "1")
	if d := run.Submit(wire.KindToolCall, "long", "2"); d.Decision != wire.DecisionRateLimited {
		t.Errorf("a wait that is too long: %s", daemontest.JSON(d))
	}
	run.Tool("short", "1")
	parked := run.Submit(wire.KindToolCall, "short", "2")
	if parked.Decision != wire.DecisionBlocked || parked.ApprovalID != "" || parked.RuleID != "short" || parked.RetryAfterSeconds == nil || *parked.RetryAfterSeconds > 1 || parked.StepID == "" {
		t.Errorf("parked: %s", daemontest.JSON(parked))
	}
	if x := run.Execution(); x.Status != wire.ExecutionRunning {
		t.Errorf("parked, status %s: want running", x.Status)
	}
	if d := run.Submit(wire.KindToolCall, "new", "1"); d.Decision != wire.DecisionExecutionBlocked {
		t.Errorf("a new step while another is parked: %s", daemontest.JSON(d))
	}
	if got := s.Send(http.MethodGet, run.Path("/steps/"+parked.StepID), "", daemontest.Bearer(daemontest.Token)); got.Status != http.StatusNotFound {
		t.Errorf("a parked step has a record: %s", got.Body)
	}
	run = a.Next()
	if again := run.Tool("short", "2"); again != parked.StepID {
		t.Errorf("it came back as %s, want %s", again, parked.StepID)
	}
}

// TestBudget: tokens that were used so far, looked at before the step.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	a := s.Agent("a")
	a.Policy(`rules:
  - {id: ask, when: {target: ask}, then: {decision: allow, budget: {max_tokens: 10, on_exceed: require_approval}}}
  - {id: stop, when: {step_kind: llm_call}, then: {decision: allow, budget: {max_tokens: 10}}}
  - {id: go, then: {decision: allow}}
`)
	run := a.Start("")
	use := func(args string) {
		t.Helper()
		d := run.Submit(wire.KindLLMCall, "m", args)
		if d.Decision != wire.DecisionProceed {
			t.Fatalf("submit: %s", daemontest.JSON(d))
		}
		run.Result(d.StepID, `{"usage":{"input_tokens":4,"output_tokens":5}}`)
	}
	use("1")
	use("2") // the one that crosses the line runs
	want := wire.Decision{Decision: wire.DecisionDenied, Reason: "execution_token_budget_exceeded", RuleID: "stop"}
	got := run.Submit(wire.KindLLMCall, "m", "3")
	want.StepID = got.StepID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("over the budget (-want +got):\n%s", diff)
	}
	if d := run.Submit(wire.KindToolCall, "other", "1"); d.Decision != wire.DecisionProceed {
		t.Errorf("a rule without a budget: %s", daemontest.JSON(d))
	}
	if d := run.Submit(wire.KindToolCall, "ask", "1"); d.Decision != wire.DecisionBlocked || d.ApprovalID == "" {
		t.Errorf("a budget that asks: %s", daemontest.JSON(d))
	}
}

// TestReasons: a denial always says why.
func TestReasons(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	a := s.Agent("a")
	a.Policy("rules:\n  - {id: said, when: {target: said}, then: {decision: deny, reason: because}}\n  - {id: unsaid, when: {target: unsaid}, then: {decision: deny}}\n")
	run := a.Start("")
	for target, want := range map[string][2]string{
		"said": {"because", "said"}, "unsaid": {"policy_denied", "unsaid"}, "other": {"no rule allows this", "default"},
	} {
		if d := run.Submit(wire.KindToolCall, target, "1"); d.Decision != wire.DecisionDenied || d.Reason != want[0] || d.RuleID != want[1] {
			t.Errorf("%s: %s, want %v", target, daemontest.JSON(d), want)
		}
	}
	if d := run.Submit(wire.KindLocal, "l", "1"); d.Decision != wire.DecisionProceed || run.Step(d.StepID).RuleID != "local" {
		t.Errorf("a local step that no rule matches: %s", daemontest.JSON(d))
	}
}
