package server_test

import (
	"net/http"
	"testing"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TestSignals are kept in order per type, until they are taken.
func TestSignals(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	run := owner.Start("")
	send := func(body string, opts ...daemontest.Option) string {
		var accepted wire.SignalAccepted
		s.Admin(http.MethodPost, run.Path("/signal"), body, http.StatusAccepted, &accepted, opts...)
		return accepted.SignalID
	}
	send(`{"signal_type":"a","payload":{"n": 1.0}}`)
	send(`{"signal_type":"b"}`)
	first := send(`{"signal_type":"a","payload":"two"}`, daemontest.Key("k"))
	if again := send(`{"signal_type":"a","payload":"two"}`, daemontest.Key("k")); again != first {
		t.Errorf("a repeat: %s, want %s", again, first)
	}
	if a := s.Send(http.MethodPost, run.Path("/signal"), `{"signal_type":"b","payload":"two"}`, daemontest.Bearer(daemontest.Token), daemontest.Key("k")); a.Code() != wire.CodeConflict {
		t.Errorf("the key with another body: status %d: %s", a.Status, a.Body)
	}
	for name, key := range badKeys {
		wantProblem(t, name, s.Send(http.MethodPost, run.Path("/signal"), `{"signal_type":"a"}`, daemontest.Bearer(daemontest.Token), key), wire.HeaderIdempotencyKey)
	}
	for _, want := range []struct{ kind, result string }{{"a", `{"n": 1.0}`}, {"b", `null`}, {"a", `"two"`}} {
		if d := run.Wait(`{"signal_type":"` + want.kind + `"}`); d.Decision != wire.DecisionReplay || string(d.Result) != want.result {
			t.Errorf("wait for %s: %s, want %s", want.kind, daemontest.JSON(d), want.result)
		}
	}
	d := run.Wait(`{"signal_type":"a"}`)
	if d.Decision != wire.DecisionBlocked || d.ApprovalID != "" || d.RetryAfterSeconds != nil {
		t.Errorf("a wait for what did not come: %s", daemontest.JSON(d))
	}
	if x := run.Execution(); x.Status != wire.ExecutionBlocked {
		t.Errorf("status %s, want blocked", x.Status)
	}
	if step := run.Step(d.StepID); step.Kind != wire.KindLocal || step.Target != "signal:a" || step.Occurrence != 2 || step.Status != wire.StepExecuting {
		t.Errorf("the wait: %s", daemontest.JSON(step))
	}
	if a := run.Post("/steps/"+d.StepID+"/complete", `{}`); a.Code() != wire.CodeConflict {
		t.Errorf("complete a wait: status %d: %s", a.Status, a.Body)
	}
	send(`{"signal_type":"a","payload":3}`)
	run = owner.Next()
	for i, want := range []string{`{"n": 1.0}`, `"two"`, `3`} {
		if d := run.Wait(`{"signal_type":"a"}`); d.Decision != wire.DecisionReplay || string(d.Result) != want {
			t.Errorf("wait %d again: %s, want %s", i, daemontest.JSON(d), want)
		}
	}
	run.Complete("1")
	if a := s.Send(http.MethodPost, run.Path("/signal"), `{"signal_type":"a"}`, daemontest.Bearer(daemontest.Token)); a.Code() != wire.CodeExecutionTerminal {
		t.Errorf("a signal after the end: status %d: %s", a.Status, a.Body)
	}
	if again := send(`{"signal_type":"a","payload":"two"}`, daemontest.Key("k")); again != first {
		t.Errorf("a repeat after the end: %s, want %s", again, first)
	}
}

// TestWaitTimesOut: the step fails, and the run goes on.
func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	run := owner.Start("")
	const wait = `{"signal_type":"s","timeout_seconds":1}`
	d := run.Wait(wait)
	run = owner.Next()
	again := run.Wait(wait)
	if again.Decision != wire.DecisionReplay || again.StepID != d.StepID || string(again.Error) != `{"reason":"signal_timeout"}` {
		t.Errorf("after the timeout: %s", daemontest.JSON(again))
	}
}
