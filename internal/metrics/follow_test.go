package metrics_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/metrics"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// service is an engine on a real database whose commits feed metrics.
type service struct {
	*engine.Engine
	t       *testing.T
	metrics *metrics.Metrics
	stop    func()
}

func start(t *testing.T, path string) *service {
	t.Helper()
	m := metrics.New()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{OnCommit: m.Committed, Stats: m})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Seed(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	s := &service{Engine: engine.New(db, engine.Options{MaxAttempts: 2, Ruled: m.Ruled}), t: t, metrics: m}
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s.ok(s.LoadAgents(t.Context()))
	return s
}

func (s *service) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// agree compares the gauges with the database, which knows.
func (s *service) agree(when string) {
	s.t.Helper()
	s.ok(s.Ready(s.t.Context())) // one more commit: the writer has told of those before it
	counts, err := s.Reader().Counts(s.t.Context())
	s.ok(err)
	expected := map[string]float64{
		"kernelctl_dispatch_queue_depth": float64(counts.QueuedDispatches),
		"kernelctl_approvals_pending":    float64(counts.PendingApprovals),
	}
	for _, status := range kernel.Statuses() {
		expected["kernelctl_executions{status="+status.String()+"}"] = float64(counts.Executions[status])
	}
	s.t.Log(when)
	want(s.t, s.metrics, expected)
}

func (s *service) create() kernel.ExecutionID {
	s.t.Helper()
	x, _, err := s.Create(s.t.Context(), engine.Create{Agent: "a", Input: []byte("{}")})
	s.ok(err)
	return x.ID
}

// claim takes the dispatch of an execution.
func (s *service) claim(id kernel.ExecutionID) kernel.Holder {
	s.t.Helper()
	due, err := s.Reader().(store.Queue).DueDispatches(s.t.Context(), store.QueuePlace{}, 100)
	s.ok(err)
	for _, d := range due {
		if d.Execution != id {
			continue
		}
		delivery, ok, err := s.Claim(s.t.Context(), id, "a", d.Dispatch)
		s.ok(err)
		if !ok {
			s.t.Fatalf("%s was not claimed", id)
		}
		return delivery.Attempt
	}
	s.t.Fatalf("%s has no due dispatch", id)
	return kernel.Holder{}
}

func (s *service) run(id kernel.ExecutionID) kernel.Holder {
	s.t.Helper()
	attempt := s.claim(id)
	s.ok(s.Acked(s.t.Context(), id, attempt))
	return attempt
}

func (s *service) submit(id kernel.ExecutionID, by kernel.Holder, kind kernel.StepKind, target string, wait *engine.Wait) kernel.Answer {
	s.t.Helper()
	header, err := s.Header(s.t.Context(), id)
	s.ok(err)
	answer, err := s.Submit(s.t.Context(), engine.Submit{
		Execution: header, Caller: by, Kind: kind, Target: target, Idempotency: kernel.SafeToRetry, Wait: wait,
	})
	s.ok(err)
	return answer
}

// blocked is an execution that waits for an approval.
func (s *service) blocked() (kernel.ExecutionID, kernel.ApprovalID) {
	s.t.Helper()
	id := s.create()
	return id, s.submit(id, s.run(id), kernel.ToolCall, "ask", nil).Approval
}

const rules = "default_action: allow\nrules:\n- {id: ask, when: {target: ask}, then: {decision: require_approval}}\n"

func TestGaugesFollowTheDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "k.db")
	s := start(t, path)
	_, err := s.RegisterAgent(ctx, store.AgentSpec{ID: "a", WebhookURL: "http://a", Secret: "s"})
	s.ok(err)
	s.ok(s.PutPolicy(ctx, "a", []byte(rules)))

	x := s.create()
	s.agree("created")
	attempt := s.claim(x)
	s.agree("claimed")
	s.ok(s.DeliveryFailed(ctx, x, attempt, "refused", 0))
	s.agree("waits for its next delivery")
	s.ok(s.Cancel(ctx, x))
	s.agree("cancelled before it ran")

	x = s.create()
	attempt = s.run(x)
	s.agree("runs")
	step := s.submit(x, attempt, kernel.ToolCall, "free", nil)
	_, err = s.FinishStep(ctx, x, attempt, step.Step, true, []byte("1"))
	s.ok(err)
	s.ok(s.Complete(ctx, x, attempt, []byte("null")))
	s.agree("completed")

	x, approval := s.blocked()
	s.agree("blocked")
	s.ok(s.Decide(ctx, approval, kernel.ApprovalStatusGranted, "alice", ""))
	s.agree("granted")
	s.ok(s.Fail(ctx, x, s.run(x), "no"))
	s.agree("failed")

	cancelled, _ := s.blocked()
	denied, approval := s.blocked()
	signalled := s.create()
	s.submit(signalled, s.run(signalled), kernel.Local, kernel.SignalTarget("go"), &engine.Wait{SignalType: "go"})
	waiting := s.create()
	runs := s.create()
	attempt = s.run(runs)
	s.agree("five that are open")
	s.stop()

	s = start(t, path)
	defer func() { s.stop() }()
	s.agree("seeded")
	s.ok(s.Cancel(ctx, cancelled))
	s.agree("cancelled with its approval")
	s.ok(s.Decide(ctx, approval, kernel.ApprovalStatusDenied, "bob", "no"))
	s.ok(s.Cancel(ctx, denied))
	s.agree("denied, then cancelled")
	_, err = s.Signal(ctx, signalled, "go", []byte("1"), "")
	s.ok(err)
	s.agree("signalled")
	s.ok(s.Cancel(ctx, waiting))
	s.agree("cancelled while it waited for its first delivery")
	s.ok(s.Complete(ctx, runs, attempt, []byte("null")))
	s.agree("completed after the restart")
	want(t, s.metrics, map[string]float64{
		"kernelctl_approvals_decided_total{verdict=cancelled}": 1,
		"kernelctl_approvals_decided_total{verdict=denied}":    1,
		"kernelctl_executions_ended_total{status=cancelled}":   3,
		"kernelctl_executions_ended_total{status=completed}":   1,
		"kernelctl_dispatch_attempts_total{outcome=discarded}": 2,
		"kernelctl_executions_created_total":                   0,
	})

	if _, err := s.Expire(ctx, kernel.Instant(1<<60), 100); err != nil {
		t.Fatal(err)
	}
	s.ok(s.metrics.Recount(ctx, s.Reader()))
	s.agree("after the retention")
}
