package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TestOutcomes: complete and fail are said once; the same again is no error.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy(approvalPolicy)

	done := owner.Start("")
	done.Complete(`{"a":1,"b":[1.0]}`)
	broken := owner.Start("")
	broken.Must("/fail", `{"error":"it broke"}`, http.StatusNoContent)
	gone := owner.Start("")
	s.Admin(http.MethodPost, gone.Path("/cancel"), "", http.StatusNoContent, nil)
	blocked := owner.Start("")
	blocked.Submit(wire.KindToolCall, "ask", "1")
	lost := owner.Start("")
	approval := lost.Submit(wire.KindToolCall, "ask", "1").ApprovalID
	s.Admin(http.MethodPost, "/v0/approvals/"+approval+"/grant", `{"decided_by":"bob"}`, http.StatusNoContent, nil)
	owner.Next().Complete(`1`)

	for _, tt := range []struct {
		name       string
		run        *daemontest.Run
		path, body string
		code       wire.ErrorCode // "": 204
	}{
		{"the same", done, "/complete", `{"output":{"a":1,"b":[1.0]}}`, ""},
		{"the same, written otherwise", done, "/complete", `{ "output": { "b":[1.0] , "a":1 } }`, ""},
		{"another output", done, "/complete", `{"output":{"a":1,"b":[1]}}`, wire.CodeExecutionTerminal},
		{"no output", done, "/complete", `{}`, wire.CodeExecutionTerminal},
		{"failure after success", done, "/fail", `{"error":"e"}`, wire.CodeExecutionTerminal},
		{"the same failure", broken, "/fail", `{"error":"it broke"}`, ""},
		{"another failure", broken, "/fail", `{"error":"it broke again"}`, wire.CodeExecutionTerminal},
		{"success after failure", broken, "/complete", `{}`, wire.CodeExecutionTerminal},
		{"success after cancellation", gone, "/complete", `{}`, wire.CodeExecutionTerminal},
		{"failure after cancellation", gone, "/fail", `{"error":"client_cancelled"}`, wire.CodeExecutionTerminal},
		{"success while blocked", blocked, "/complete", `{}`, wire.CodeConflict},
		{"failure while blocked", blocked, "/fail", `{"error":"e"}`, wire.CodeConflict},
		{"the same by an earlier attempt", lost, "/complete", `{"output":1}`, wire.CodeLeaseSuperseded},
		{"another by an earlier attempt", lost, "/fail", `{"error":"e"}`, wire.CodeLeaseSuperseded},
	} {
		before := s.Events(tt.run.ExecutionID)
		a := tt.run.Post(tt.path, tt.body)
		if a.Code() != tt.code || tt.code == "" && a.Status != http.StatusNoContent {
			t.Errorf("%s: status %d, want code %q: %s", tt.name, a.Status, tt.code, a.Body)
		}
		if diff := cmp.Diff(before, s.Events(tt.run.ExecutionID)); diff != "" {
			t.Errorf("%s wrote (-before +after):\n%s", tt.name, diff)
		}
	}
	if x := done.Execution(); string(x.Output) != `{"a":1,"b":[1.0]}` || x.FailureReason != "" {
		t.Errorf("completed: %s", daemontest.JSON(x))
	}
	if x := broken.Execution(); x.Status != wire.ExecutionFailed || x.FailureReason != "it broke" || string(x.Output) != "null" {
		t.Errorf("failed: %s", daemontest.JSON(x))
	}
	if x := gone.Execution(); x.Status != wire.ExecutionCancelled || x.FailureReason != wire.ReasonClientCancelled {
		t.Errorf("cancelled: %s", daemontest.JSON(x))
	}
}

// TestHeartbeats with and without the headers, in every state.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy(approvalPolicy)
	first := owner.Start("")
	approval := first.Submit(wire.KindToolCall, "ask", "1").ApprovalID
	beat := func(name string, r *daemontest.Run, fenced, bare wire.ErrorCode) {
		t.Helper()
		if a := r.Post("/heartbeat", ""); a.Code() != fenced {
			t.Errorf("%s, with headers: status %d, want code %q: %s", name, a.Status, fenced, a.Body)
		}
		if a := s.Send(http.MethodPost, r.Path("/heartbeat"), "", owner.Signed()); a.Code() != bare {
			t.Errorf("%s, without: status %d, want code %q: %s", name, a.Status, bare, a.Body)
		}
	}
	beat("blocked", first, wire.CodeLeaseSuperseded, wire.CodeLeaseSuperseded)
	s.Admin(http.MethodPost, "/v0/approvals/"+approval+"/grant", `{"decided_by":"bob"}`, http.StatusNoContent, nil)
	second := owner.Next()
	beat("by the old attempt", first, wire.CodeLeaseSuperseded, "")
	beat("by the current one", second, "", "")
	second.Complete("1")
	beat("by the old attempt, after the end", first, wire.CodeLeaseSuperseded, wire.CodeExecutionTerminal)
	beat("after the end", second, wire.CodeExecutionTerminal, wire.CodeExecutionTerminal)
}

// TestOldAttemptsWriteNothing: once a newer attempt is claimed, nothing of the
// one before is taken; of the newest, what ran is, even when it is released.
func TestOldAttemptsWriteNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy(approvalPolicy)
	first := owner.Start("")
	a, b := first.Tool("a", "1"), first.Tool("b", "1")
	ask := first.Submit(wire.KindToolCall, "ask", "1")
	if d := first.Result(a, `"ran while blocked"`); d.Decision != wire.DecisionRecorded {
		t.Errorf("a report while blocked: %s", daemontest.JSON(d))
	}
	if d := first.Submit(wire.KindToolCall, "new", "1"); d.Decision != wire.DecisionExecutionBlocked || d.StepID == "" {
		t.Errorf("a new step while blocked: %s", daemontest.JSON(d))
	}
	s.Admin(http.MethodPost, "/v0/approvals/"+ask.ApprovalID+"/grant", `{"decided_by":"bob"}`, http.StatusNoContent, nil)
	second := owner.Next()
	for path, body := range map[string]string{
		"/steps":                    `{"kind":"local","target":"l"}`,
		"/wait":                     `{"signal_type":"s"}`,
		"/steps/" + b + "/complete": `{}`,
		"/steps/" + b + "/fail":     `{"error":1}`,
		"/steps/" + b + "/stream":   `{"seq":0,"data":""}`,
		"/heartbeat":                ``,
		"/complete":                 `{}`,
		"/fail":                     `{"error":"e"}`,
	} {
		if got := first.Post(path, body); got.Code() != wire.CodeLeaseSuperseded {
			t.Errorf("%s by an old attempt: status %d: %s", path, got.Status, got.Body)
		}
	}
	if d := second.Submit(wire.KindToolCall, "a", "1"); d.Decision != wire.DecisionReplay || string(d.Result) != `"ran while blocked"` {
		t.Errorf("what ran while blocked: %s", daemontest.JSON(d))
	}
	if again := second.Tool("b", "1"); again != b {
		t.Errorf("the step that was open: %s, want %s", again, b)
	}
	if step := second.Step(b); step.DispatchID != second.DispatchID || step.Attempt != 1 || step.Status != wire.StepExecuting {
		t.Errorf("started again: %s", daemontest.JSON(step))
	}
}

// TestLapsedAttempt: what it did still counts until the next attempt is
// claimed, which here cannot leave; everything else is over.
func TestLapsedAttempt(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{LeaseTimeout: time.Second, DispatchConcurrency: 1})
	owner := s.Agent("owner")
	run := owner.Start("")
	step, other := run.Tool("t", "1"), run.Tool("u", "1")
	hold := make(chan struct{})
	hog := s.AgentThat("hog", func(http.ResponseWriter, *http.Request) { <-hold })
	t.Cleanup(func() { close(hold) })
	hog.Start("")
	s.Await(run.ExecutionID, wire.EventDispatchFailed)
	for path, body := range map[string]string{
		"/steps":                      `{"kind":"local","target":"l"}`,
		"/steps/" + other + "/stream": `{"seq":0,"data":""}`,
		"/heartbeat":                  ``,
		"/complete":                   `{}`,
		"/fail":                       `{"error":"e"}`,
	} {
		if got := run.Post(path, body); got.Code() != wire.CodeLeaseSuperseded {
			t.Errorf("%s after the lapse: status %d: %s", path, got.Status, got.Body)
		}
	}
	if a := s.Send(http.MethodPost, run.Path("/heartbeat"), "", owner.Signed()); a.Code() != wire.CodeLeaseSuperseded {
		t.Errorf("a heartbeat of nobody: status %d: %s", a.Status, a.Body)
	}
	if d := run.Result(step, "1"); d.Decision != wire.DecisionRecorded {
		t.Errorf("a report after the lapse: %s", daemontest.JSON(d))
	}
	if d := run.Decide("/steps/"+other+"/fail", `{"error":1}`); d.Decision != wire.DecisionRecorded {
		t.Errorf("a report after the lapse: %s", daemontest.JSON(d))
	}
}

// TestWriteProvesDelivery: a write that comes before the webhook's answer is
// the proof, and whatever the answer is then adds nothing.
func TestWriteProvesDelivery(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{DispatchConcurrency: 1})
	answer := make(chan struct{})
	owner := s.AgentThat("owner", func(w http.ResponseWriter, _ *http.Request) {
		<-answer
		w.WriteHeader(http.StatusInternalServerError)
	})
	t.Cleanup(func() { close(answer) })
	logs := map[string][]wire.Event{}
	for _, write := range []func(*daemontest.Run){
		func(r *daemontest.Run) { r.Tool("t", "1") },
		func(r *daemontest.Run) { r.Must("/heartbeat", "", http.StatusNoContent) },
		func(r *daemontest.Run) { r.Complete("1") },
		func(r *daemontest.Run) { r.Wait(`{"signal_type":"s"}`) },
	} {
		run := owner.Start("") // the only place: the delivery before has been dealt with
		write(run)
		logs[run.ExecutionID] = s.Events(run.ExecutionID)
		answer <- struct{}{}
	}
	owner.Start("")
	want := []wire.EventType{wire.EventExecutionCreated, wire.EventDispatchQueued, wire.EventDispatchAcked, wire.EventExecutionStarted}
	for id, log := range logs {
		if diff := cmp.Diff(want, daemontest.Types(log)[:min(len(want), len(log))]); diff != "" {
			t.Errorf("before the answer (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(log, s.Events(id)); diff != "" {
			t.Errorf("the answer wrote (-before +after):\n%s", diff)
		}
	}
}

// TestCleanRestartIsInvisible: attempts, leases, occurrence counters and keys
// go on.
func TestCleanRestartIsInvisible(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy(approvalPolicy)
	run := owner.Start("")
	first := run.Tool("t", "1")
	keyed := run.Submit(wire.KindToolCall, "keyed", "1", daemontest.Key("k"))
	blocked := owner.Start("")
	approval := blocked.Submit(wire.KindToolCall, "ask", "1").ApprovalID
	before := s.Events(run.ExecutionID)

	s = s.Restart()
	owner, run, blocked = owner.On(s), run.On(s), blocked.On(s)
	run.Must("/heartbeat", "", http.StatusNoContent)
	if diff := cmp.Diff(keyed, run.Submit(wire.KindToolCall, "keyed", "1", daemontest.Key("k"))); diff != "" {
		t.Errorf("a key (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, s.Events(run.ExecutionID)); diff != "" {
		t.Errorf("the restart shows (-before +after):\n%s", diff)
	}
	second := run.Tool("t", "1")
	if step := run.Step(second); step.Occurrence != 1 || second == first {
		t.Errorf("the same again: %s, want occurrence 1", daemontest.JSON(step))
	}
	if d := run.Result(first, "1"); d.Decision != wire.DecisionRecorded {
		t.Errorf("a report: %s", daemontest.JSON(d))
	}
	if d := blocked.Submit(wire.KindToolCall, "ask", "1"); d.Decision != wire.DecisionExecutionBlocked {
		t.Errorf("a second occurrence while blocked: %s", daemontest.JSON(d))
	}
	s.Admin(http.MethodPost, "/v0/approvals/"+approval+"/grant", `{"decided_by":"bob"}`, http.StatusNoContent, nil)
	if next := owner.Next(); next.ExecutionID != blocked.ExecutionID {
		t.Errorf("a webhook for %s", next.ExecutionID)
	}
	run.Complete("1")
}

// TestUncleanRestart: an attempt that had its ack may report, and say how it
// ended; what it starts is refused, and the next attempt goes out.
func TestUncleanRestart(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	reporting, ending := owner.Start(""), owner.Start("")
	step := reporting.Tool("t", "1")
	ending.Tool("t", "1")
	s = s.Crash()
	owner, reporting, ending = owner.On(s), reporting.On(s), ending.On(s)
	reporting.Must("/heartbeat", "", http.StatusNoContent)
	if d := reporting.Result(step, "1"); d.Decision != wire.DecisionRecorded {
		t.Errorf("a report: %s", daemontest.JSON(d))
	}
	ending.Complete("1")
	if a := reporting.Post("/steps", `{"kind":"local","target":"l"}`); a.Code() != wire.CodeLeaseSuperseded {
		t.Errorf("a submit: status %d: %s", a.Status, a.Body)
	}
	next := owner.Next()
	if next.ExecutionID != reporting.ExecutionID || next.DispatchID != reporting.DispatchID || next.DispatchAttempt != 2 {
		t.Errorf("the next attempt: %s", next.Raw)
	}
	if d := next.Submit(wire.KindToolCall, "t", "1"); d.Decision != wire.DecisionReplay || string(d.Result) != "1" {
		t.Errorf("what was reported: %s", daemontest.JSON(d))
	}
	if a := reporting.Post("/heartbeat", ""); a.Code() != wire.CodeLeaseSuperseded {
		t.Errorf("the old attempt's heartbeat: status %d: %s", a.Status, a.Body)
	}
}
