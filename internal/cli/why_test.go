package cli

import (
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestWhy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) wire.Time { return wire.At(now.Add(-ago)) }
	event := func(typ wire.EventType, ago time.Duration, payload string) wire.Event {
		if payload == "" {
			payload = "{}"
		}
		return wire.Event{Type: typ, OccurredAt: at(ago), Payload: []byte(payload)}
	}
	started := at(time.Minute)
	base := func(st wire.ExecutionStatus) facts {
		return facts{
			now:   now,
			x:     wire.Execution{ID: "01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2", AgentID: "demo", Status: st, UpdatedAt: at(3 * time.Minute), CreatedAt: at(time.Hour)},
			agent: wire.Agent{ID: "demo", WebhookURL: "http://a/hook", LeaseTimeoutSeconds: 60},
		}
	}
	tests := []struct {
		name  string
		facts func() facts
		cause string
		want  string
		next  string
	}{
		{"completed", func() facts { return base(wire.ExecutionCompleted) }, causeEnded, "It completed 3m0s ago.", "kernelctl ex get 9f3a71c2"},
		{"failed", func() facts {
			f := base(wire.ExecutionFailed)
			f.x.FailureReason = "boom"
			return f
		}, causeEnded, "It failed 3m0s ago: boom.", "kernelctl events list 9f3a71c2"},
		{"given up", func() facts {
			f := base(wire.ExecutionFailed)
			f.x.FailureReason = wire.ReasonDispatchExhausted
			f.events = []wire.Event{event(wire.EventDispatchFailed, time.Minute, `{"error":"status 500","http_status":500}`)}
			return f
		}, causeEnded, "It was given up 3m0s ago, because no delivery to the agent came through; the last error was status 500 (HTTP 500).", "kernelctl agents get demo"},
		{"cancelled", func() facts {
			f := base(wire.ExecutionCancelled)
			f.x.FailureReason = wire.ReasonDeadlineExceeded
			return f
		}, causeEnded, "It was cancelled 3m0s ago: deadline_exceeded.", "kernelctl events list 9f3a71c2"},
		{"approval", func() facts {
			f := base(wire.ExecutionBlocked)
			f.approvals = []wire.Approval{{ID: "01930c2e-7a10-7c55-b2aa-0f1e51c09ab4", Target: "send_email", RuleID: "mail-out", Approvers: []string{"alice", "bob"}, CreatedAt: at(3 * time.Minute), TimeoutAt: at(-4*time.Minute - 12*time.Second)}}
			return f
		}, causeApproval, "It has been waiting for 3m0s for alice or bob to decide approval 51c09ab4 of send_email (rule mail-out); in 4m12s it is denied.", "kernelctl ap grant 51c09ab4 --by NAME"},
		{"signal", func() facts {
			f := base(wire.ExecutionBlocked)
			f.events = []wire.Event{event(wire.EventExecutionBlocked, 2*time.Minute, `{"reason":"signal","ref":"go","timeout_at":"2026-11-20T14:01:00.000000Z"}`)}
			return f
		}, causeSignal, "It has been waiting for the signal go for 2m0s; in 1m0s it gives up.", "kernelctl signals send 9f3a71c2 go"},
		{"blocked on nothing", func() facts { return base(wire.ExecutionBlocked) }, causeUnknown, "It is blocked, but nothing is pending: it resumes in a moment.", "kernelctl events list 9f3a71c2"},
		{"first delivery", func() facts {
			f := base(wire.ExecutionPending)
			f.events = []wire.Event{event(wire.EventExecutionCreated, 5*time.Second, ""), event(wire.EventDispatchQueued, 5*time.Second, `{"reason":"created"}`)}
			return f
		}, causeDelivery, "Its first delivery to http://a/hook has been under way for 5s, and the agent has not answered.", "kernelctl agents get demo"},
		{"retry", func() facts {
			f := base(wire.ExecutionPending)
			f.events = []wire.Event{
				event(wire.EventDispatchQueued, 9*time.Second, ""),
				event(wire.EventDispatchFailed, 4*time.Second, `{"attempt":2,"error":"connection refused","next_attempt_at":"2026-11-20T14:00:06.000000Z"}`),
			}
			return f
		}, causeRetry, "Delivery 2 to the agent failed 4s ago with connection refused; it is tried again in 6s, at 14:00:06Z.", "kernelctl agents get demo"},
		{"retry now", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{event(wire.EventDispatchFailed, 4*time.Second, `{"attempt":2,"error":"x","next_attempt_at":"2026-11-20T13:59:59.000000Z"}`)}
			return f
		}, causeRetry, "Delivery 2 to the agent failed 4s ago with x; it is being tried again now.", "kernelctl agents get demo"},
		{"lapsed lease", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{
				event(wire.EventDispatchAcked, time.Minute, `{"attempt":1}`),
				event(wire.EventDispatchFailed, 4*time.Second, `{"attempt":1,"error":"lease_lapsed"}`),
				event(wire.EventDispatchQueued, 4*time.Second, `{"reason":"lease_lapsed"}`),
			}
			return f
		}, causeDelivery, "A delivery to http://a/hook (lease_lapsed) has been under way for 4s, and the agent has not answered.", "kernelctl agents get demo"},
		{"rate limit", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{
				event(wire.EventDispatchAcked, time.Minute, `{"attempt":1}`),
				event(wire.EventStepProposed, 10*time.Second, ""),
				event(wire.EventStepRateLimited, 10*time.Second, `{"target":"search","rule_id":"few","parked":true,"retry_at":"2026-11-20T14:00:50.000000Z"}`),
			}
			return f
		}, causeRateLimit, "Its step search has been waiting for 10s for a slot of the rate limit of rule few, which is free in 50s.", "kernelctl policies get demo"},
		{"step", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{event(wire.EventDispatchAcked, 2*time.Minute, `{"attempt":1}`), event(wire.EventStepExecuting, time.Minute, "")}
			f.steps = []wire.Step{{StepID: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Target: "dig", Kind: wire.KindToolCall, Status: wire.StepExecuting, Attempt: 1, StartedAt: &started}}
			return f
		}, causeStep, "Its step dig (tool_call) has been running for 1m0s.", "kernelctl steps get 9f3a71c2 b0f00a08"},
		{"step of an earlier attempt", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{event(wire.EventStepExecuting, time.Minute, ""), event(wire.EventDispatchAcked, 20*time.Second, `{"attempt":2}`)}
			f.steps = []wire.Step{{StepID: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Target: "dig", Kind: wire.KindToolCall, Status: wire.StepExecuting, Attempt: 1, StartedAt: &started}}
			return f
		}, causeStep, "Its step dig (tool_call) has been running for 1m0s, since an earlier attempt: the agent came back 20s ago and has not reported it.", "kernelctl steps get 9f3a71c2 b0f00a08"},
		{"granted", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{event(wire.EventApprovalGranted, 8*time.Second, ""), event(wire.EventDispatchQueued, 8*time.Second, `{"reason":"approval_granted"}`)}
			f.steps = []wire.Step{{Target: "send_email", Status: wire.StepAllowed}}
			return f
		}, causeGranted, "Its step send_email was granted 8s ago, and the agent has not come back for it yet.", "kernelctl agents get demo"},
		{"silent", func() facts {
			f := base(wire.ExecutionRunning)
			f.events = []wire.Event{event(wire.EventDispatchAcked, 25*time.Second, `{"attempt":1}`), event(wire.EventExecutionStarted, 25*time.Second, "")}
			return f
		}, causeSilent, "It waits for nothing: the agent has been silent for 25s, since execution.started; without a heartbeat its lease of 60s lapses and it is dispatched again in 35s.", "kernelctl events tail 9f3a71c2"},
		{"a status of tomorrow", func() facts { return base("resting") }, causeUnknown, "Its status is resting, which this kernelctl does not know.", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.facts().explain()
			if r.Cause != tt.cause || r.Sentence != tt.want || r.Next != tt.next {
				t.Errorf("got  %s: %s\n     next %s\nwant %s: %s\n     next %s", r.Cause, r.Sentence, r.Next, tt.cause, tt.want, tt.next)
			}
		})
	}
}
