package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/metrics"
	"github.com/agentkernel/kernelctl/internal/store"
)

var (
	execution = kernel.ExecutionID{UUID: kernel.UUID{1}}
	tool      = kernel.StepRef{Kind: kernel.ToolCall, Target: "t"}
	llm       = kernel.StepRef{Kind: kernel.LLMCall, Target: "m"}
)

func operation(c kernel.Command, events ...kernel.Data) store.Committed {
	out := store.Committed{Execution: execution, Agent: "a", Command: c}
	for _, d := range events {
		out.Records = append(out.Records, kernel.Record{Event: &kernel.Event{Data: d}})
	}
	return out
}

func TestSteps(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Committed([]store.Committed{
		operation(&kernel.SubmitStep{}, &kernel.StepProposed{StepRef: tool}, &kernel.StepAllowed{StepRef: tool}, &kernel.StepExecuting{StepRef: tool}),
		operation(&kernel.SubmitStep{}, &kernel.StepProposed{StepRef: tool}, &kernel.StepDenied{StepRef: tool}),
		operation(&kernel.SubmitStep{}, &kernel.StepProposed{StepRef: tool}, &kernel.StepRateLimited{StepRef: tool, Parked: true}),
		operation(&kernel.SubmitStep{}, &kernel.StepProposed{StepRef: tool}, &kernel.StepRateLimited{StepRef: tool}),
		operation(&kernel.DecideApproval{}, &kernel.StepAllowed{StepRef: tool}),
		operation(&kernel.DecideApproval{}, &kernel.StepDenied{StepRef: tool}),
		operation(&kernel.FinishStep{}, &kernel.StepSucceeded{StepRef: llm, Usage: &kernel.Usage{InputTokens: 7, OutputTokens: 3}}),
		operation(&kernel.FinishStep{}, &kernel.StepSucceeded{StepRef: tool}, &kernel.StepFailed{StepRef: tool}),
		operation(&kernel.SubmitStep{}, &kernel.StepFailed{StepRef: tool, Indeterminate: true}, &kernel.StepCancelled{StepRef: tool}),
	})
	for range 3 {
		m.Decided(kernel.ToolCall, kernel.Replay)
	}
	m.Decided(kernel.Local, kernel.Proceed)
	m.Decided(99, kernel.Proceed) // nothing that there is: counts nowhere
	m.Decided(kernel.Local, 99)
	want(t, m, map[string]float64{
		"kernelctl_steps_total{decision=allowed,kind=tool_call}":              1,
		"kernelctl_steps_total{decision=denied,kind=tool_call}":               1,
		"kernelctl_steps_total{decision=parked,kind=tool_call}":               1,
		"kernelctl_steps_total{decision=rate_limited,kind=tool_call}":         1,
		"kernelctl_steps_total{decision=allowed,kind=local}":                  0,
		"kernelctl_step_outcomes_total{kind=llm_call,outcome=succeeded}":      1,
		"kernelctl_step_outcomes_total{kind=tool_call,outcome=succeeded}":     1,
		"kernelctl_step_outcomes_total{kind=tool_call,outcome=failed}":        1,
		"kernelctl_step_outcomes_total{kind=tool_call,outcome=indeterminate}": 1,
		"kernelctl_step_outcomes_total{kind=tool_call,outcome=cancelled}":     1,
		"kernelctl_llm_tokens_total{direction=input}":                         7,
		"kernelctl_llm_tokens_total{direction=output}":                        3,
		"kernelctl_events_total{type=step.proposed}":                          4,
		"kernelctl_submits_total{decision=replay,kind=tool_call}":             3,
		"kernelctl_submits_total{decision=proceed,kind=local}":                1,
		"kernelctl_replay_hits_total{kind=tool_call}":                         3,
	})
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	failed := func(why string, s kernel.DispatchStatus) store.Committed {
		return operation(&kernel.RecordDelivery{}, &kernel.DeliveryFailed{Error: why, Status: s})
	}
	m.Committed([]store.Committed{
		operation(&kernel.RecordDelivery{}, &kernel.DispatchAcked{}),
		failed("no answer", kernel.DispatchFailed),
		failed("no answer", kernel.DispatchExhausted),
		failed(kernel.ReasonLeaseLapsed, kernel.DispatchFailed),
		failed(kernel.ReasonLeaseLapsed, kernel.DispatchExhausted),
		failed(kernel.ReasonRestarted, kernel.DispatchFailed),
	})
	want(t, m, map[string]float64{
		"kernelctl_dispatch_attempts_total{outcome=acked}":     1,
		"kernelctl_dispatch_attempts_total{outcome=failed}":    1,
		"kernelctl_dispatch_attempts_total{outcome=exhausted}": 2,
		"kernelctl_dispatch_attempts_total{outcome=lapsed}":    1,
		"kernelctl_dispatch_attempts_total{outcome=restarted}": 1,
		"kernelctl_dispatch_attempts_total{outcome=discarded}": 0,
		"kernelctl_lease_lapses_total":                         2,
	})
}

func TestApprovalWait(t *testing.T) {
	t.Parallel()
	requested := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mint := kernel.NewMint(kernel.At(requested), [10]byte{})
	granted := operation(&kernel.DecideApproval{}, &kernel.ApprovalGranted{Approval: kernel.ApprovalID{UUID: mint.UUID()}})
	granted.Records[0].Event.At = kernel.At(requested.Add(90 * time.Second))
	m := metrics.New()
	m.Committed([]store.Committed{granted})
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "kernelctl_approval_wait_seconds" {
			if got := f.GetMetric()[0].GetHistogram().GetSampleSum(); got != 90 {
				t.Errorf("waited %v s, want 90", got)
			}
			return
		}
	}
	t.Error("no metric of the wait")
}

func TestStoreAndPolicy(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Batch(3, time.Millisecond, time.Millisecond, true)
	m.Batch(9, time.Millisecond, time.Microsecond, false)
	m.Ruled(5 * time.Microsecond)
	want(t, m, map[string]float64{
		"kernelctl_store_batch_operations":    1,
		"kernelctl_store_commit_seconds":      1,
		"kernelctl_store_apply_seconds":       2,
		"kernelctl_policy_evaluation_seconds": 1,
		"kernelctl_store_queue_length":        0,
		"kernelctl_db_bytes":                  0,
	})
	m.Watch(metrics.Sources{QueueLength: func() int { return 4 }, DroppedDeltas: func() int64 { return 2 }})
	m.Watch(metrics.Sources{
		QueueLength: func() int { return 5 }, Sizes: func() (int64, int64) { return 10, 20 },
		Subscribers: func() int64 { return 3 }, DroppedDeltas: func() int64 { return 2 },
	})
	want(t, m, map[string]float64{
		"kernelctl_store_queue_length":          5,
		"kernelctl_db_bytes":                    10,
		"kernelctl_wal_bytes":                   20,
		"kernelctl_stream_subscribers":          3,
		"kernelctl_stream_deltas_dropped_total": 2,
	})
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	for range 2 {
		m.HTTP("/v0/executions/{id}", http.MethodGet, 200, time.Millisecond)
	}
	m.HTTP("/v0/executions/{id}", http.MethodGet, 404, time.Millisecond)
	m.HTTP("", http.MethodGet, 404, time.Millisecond)
	m.HTTP("/v0/agents", "BREW", 405, time.Millisecond)
	m.HTTP("/v0/agents", "STEEP", 405, time.Millisecond)
	want(t, m, map[string]float64{
		"kernelctl_http_requests_total{method=GET,route=/v0/executions/{id},status=200}": 2,
		"kernelctl_http_requests_total{method=GET,route=/v0/executions/{id},status=404}": 1,
		"kernelctl_http_requests_total{method=GET,route=unmatched,status=404}":           1,
		"kernelctl_http_requests_total{method=other,route=/v0/agents,status=405}":        2,
		"kernelctl_http_request_duration_seconds{method=GET,route=/v0/executions/{id}}":  3,
	})
}

func TestHandler(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	metrics.New().Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("status %d, error %v", answer.Code, err)
	}
	for _, line := range []string{"kernelctl_build_info{", "kernelctl_executions{status=\"blocked\"} 0\n", "go_goroutines ", "kernelctl_replay_hits_total{kind=\"llm_call\"} 0\n"} {
		if !strings.Contains(string(body), line) {
			t.Errorf("a scrape does not have %q", line)
		}
	}
}

func TestNoAllocations(t *testing.T) { // counts allocations: not parallel
	m := metrics.New()
	batch := []store.Committed{
		operation(&kernel.SubmitStep{}, &kernel.DispatchAcked{}, &kernel.StepProposed{StepRef: tool}, &kernel.StepAllowed{StepRef: tool}, &kernel.StepExecuting{StepRef: tool}),
		operation(&kernel.FinishStep{}, &kernel.StepSucceeded{StepRef: llm, Usage: &kernel.Usage{InputTokens: 1}}),
		operation(&kernel.SubmitStep{}, &kernel.ApprovalRequested{}, &kernel.ExecutionBlocked{Reason: kernel.BlockedOnApproval}),
		operation(&kernel.DecideApproval{}, &kernel.ApprovalGranted{}, &kernel.ExecutionResumed{}, &kernel.DispatchQueued{}),
		operation(&kernel.ClaimDispatch{}),
	}
	once := func() {
		m.Committed(batch)
		m.Batch(5, time.Millisecond, time.Millisecond, true)
		m.HTTP("/v0/executions/{id}/steps", http.MethodPost, 200, time.Millisecond)
		m.Ruled(time.Microsecond)
		m.Decided(kernel.ToolCall, kernel.Replay)
	}
	once()
	if n := testing.AllocsPerRun(100, once); n != 0 {
		t.Errorf("%v allocations for what is told on the path of requests, want 0", n)
	}
}

func BenchmarkCommitted(b *testing.B) {
	m := metrics.New()
	batch := []store.Committed{
		operation(&kernel.SubmitStep{}, &kernel.StepProposed{StepRef: tool}, &kernel.StepAllowed{StepRef: tool}, &kernel.StepExecuting{StepRef: tool}),
		operation(&kernel.FinishStep{}, &kernel.StepSucceeded{StepRef: tool}),
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Committed(batch)
	}
}
