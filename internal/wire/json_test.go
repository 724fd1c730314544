package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/wire"
)

var at = wire.At(time.Date(2026, 11, 21, 10, 0, 0, 5_000, time.UTC))

// TestShapes pins what an empty and a full value look like on the wire.
func TestShapes(t *testing.T) {
	t.Parallel()
	retry := 1.5
	lease := int64(30)
	tests := []struct {
		name string
		in   any
		want string
	}{
		{
			"execution",
			wire.Execution{ID: "x", AgentID: "a", Status: wire.ExecutionPending, Input: json.RawMessage(`{"q":"a<b>&c"}`), CreatedAt: at, UpdatedAt: at},
			`{"id":"x","agent_id":"a","status":"pending","input":{"q":"a<b>&c"},"output":null,"failure_reason":"","labels":{},"parent_id":null,` +
				`"created_at":"2026-11-21T10:00:00.000005Z","updated_at":"2026-11-21T10:00:00.000005Z","deadline_at":null,"last_event_seq":0}`,
		},
		{"executions", wire.ExecutionList{}, `{"executions":[],"next_cursor":""}`},
		{"create", wire.CreateExecution{AgentID: "a"}, `{"agent_id":"a"}`},
		{
			"step",
			wire.Step{StepID: "s", Kind: wire.KindLLMCall, Status: wire.StepSucceeded, Args: json.RawMessage(`9007199254740993`), Usage: &wire.Usage{InputTokens: 1}, CreatedAt: at},
			`{"step_id":"s","execution_id":"","kind":"llm_call","target":"","status":"succeeded","idempotency":"","args":9007199254740993,"args_hash":"",` +
				`"occurrence":0,"dispatch_id":"","attempt":0,"rule_id":"","approval_id":null,"result":null,"error":null,` +
				`"usage":{"input_tokens":1,"output_tokens":0},"created_at":"2026-11-21T10:00:00.000005Z","started_at":null,"completed_at":null}`,
		},
		{
			"a replayed null is shown",
			wire.Decision{Decision: wire.DecisionReplay, StepID: "s", Result: json.RawMessage(`null`)},
			`{"decision":"replay","step_id":"s","result":null}`,
		},
		{"a decision has only what applies", wire.Decision{Decision: wire.DecisionExecutionTerminal}, `{"decision":"execution_terminal"}`},
		{
			"parked",
			wire.Decision{Decision: wire.DecisionBlocked, StepID: "s", RuleID: "r", RetryAfterSeconds: &retry},
			`{"decision":"blocked","step_id":"s","rule_id":"r","retry_after_seconds":1.5}`,
		},
		{
			"agent",
			wire.Agent{ID: "a", WebhookURL: "http://h", RegisteredAt: at, UpdatedAt: at},
			`{"id":"a","webhook_url":"http://h","registered_at":"2026-11-21T10:00:00.000005Z","updated_at":"2026-11-21T10:00:00.000005Z"}`,
		},
		{
			"register",
			wire.RegisterAgent{ID: "a", WebhookURL: "http://h", Secret: "k", LeaseTimeoutSeconds: &lease},
			`{"id":"a","webhook_url":"http://h","secret":"k","lease_timeout_seconds":30}`,
		},
		{
			"approval",
			wire.Approval{ID: "p", CreatedAt: at, TimeoutAt: at},
			`{"id":"p","execution_id":"","step_id":"","agent_id":"","status":"","kind":"","target":"","args":null,"rule_id":"","reason":"","message":"",` +
				`"approvers":[],"created_at":"2026-11-21T10:00:00.000005Z","timeout_at":"2026-11-21T10:00:00.000005Z",` +
				`"decided_by":null,"decided_at":null,"rationale":null}`,
		},
		{
			"event",
			wire.Event{ID: "e", EventSeq: 1, Type: wire.EventStepAllowed, SchemaVersion: 1, OccurredAt: at, Payload: json.RawMessage(`{}`)},
			`{"id":"e","execution_id":"","event_seq":1,"type":"step.allowed","schema_version":1,"occurred_at":"2026-11-21T10:00:00.000005Z",` +
				`"causation_id":null,"correlation_id":"","payload":{}}`,
		},
		{"error", wire.ErrorEnvelope{Code: wire.CodeNotFound, Message: "no"}, `{"code":"not_found","message":"no","details":{}}`},
		{
			"problems",
			wire.ErrorDetails{Problems: []wire.Problem{{Field: "f", Problem: "p"}, {Field: "g", Problem: "q", Line: 2, Column: 3}}},
			`{"problems":[{"field":"f","problem":"p"},{"field":"g","problem":"q","line":2,"column":3}]}`,
		},
		{"policy report", wire.PolicyTestReport{}, `{"results":[],"total":0,"failed":0,"unexercised_rules":[]}`},
		{"version", wire.Version{}, `{"version":"","commit":"","go":"","features":[]}`},
		{
			"webhook",
			wire.Webhook{ExecutionID: "x", DispatchID: "d", DispatchAttempt: 1, LeaseTimeoutSeconds: 120},
			`{"execution_id":"x","dispatch_id":"d","dispatch_attempt":1,"lease_timeout_seconds":120}`,
		},
		{"list", wire.List[string]{"<"}, `["<"]`},
		{"labels", wire.Labels{"b": "&", "a": "1"}, `{"a":"1","b":"&"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.Marshal(tt.in)
			if err != nil {
				t.Fatalf("Marshal: %v", err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Marshal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarshalReportsWhatCannotBeJSON(t *testing.T) {
	t.Parallel()
	if b, err := wire.Marshal(wire.Execution{Input: json.RawMessage(`{`)}); err == nil {
		t.Errorf("Marshal = %s, want an error", b)
	}
}
