package kernel_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// refused gives a command that is to be refused.
func refused(t *testing.T, w *world, c kernel.Command, want kernel.Code) {
	t.Helper()
	if out := w.do(c); out.err == nil || out.err.Code != want {
		t.Fatalf("%T: got %+v %v, want %s", c, out.answer, out.err, want)
	}
}

// odd is a command that the kernel does not know.
type odd struct{ kernel.Meta }

func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	w := newService().world(t)
	situations()["running"](w)
	plan, err := kernel.Decide(&w.state, &w.lease, &odd{w.meta()})
	var rejection *kernel.Rejection
	if !errors.As(err, &rejection) || rejection.Code != kernel.Conflict || len(plan.Events) > 0 {
		t.Errorf("got %v and %d events, want a conflict and none", err, len(plan.Events))
	}
}

// TestDecideIsPure: neither the state nor the lease changes, and the same
// command comes to the same plan again. (The audit looks after every command.)
func TestDecideIsPure(t *testing.T) {
	t.Parallel()
	for name, prepare := range situations() {
		w := newService().world(t)
		prepare(w)
		for _, c := range []kernel.Command{
			&kernel.CreateExecution{Meta: w.meta()},
			&kernel.ClaimDispatch{Meta: w.meta(), Dispatch: w.lease.ID, Timeout: time.Minute},
			&kernel.RecordDelivery{Meta: w.meta(), Attempt: w.lease.Holder, MaxAttempts: 1},
			w.submitCommand(&submission{caller: w.lease.Holder, kind: kernel.ToolCall, target: "new", key: "k", ruling: rulings[0]}),
			w.submitCommand(&submission{caller: w.lease.Holder, kind: kernel.ToolCall, target: "x", ruling: rulings[7]}),
			w.submitCommand(&submission{caller: w.lease.Holder, signal: "go", ruling: rulings[0]}),
			&kernel.FinishExecution{Meta: w.meta(), Caller: w.lease.Holder, Reason: "x"},
			&kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonClientCancelled},
			&kernel.SendSignal{Meta: w.meta(), SignalType: "go", Payload: kernel.NewBody([]byte("1"))},
			&kernel.RestartDispatch{Meta: w.meta()},
			&kernel.Heartbeat{Meta: w.meta()},
		} {
			state, lease := cloneState(&w.state), cloneLease(&w.lease)
			first, err1 := kernel.Decide(&w.state, &w.lease, c)
			second, err2 := kernel.Decide(&w.state, &w.lease, c)
			if d := diff(state, &w.state) + diff(lease, &w.lease); d != "" {
				t.Errorf("%s: %T changed (-before +after):\n%s", name, c, d)
			}
			if (err1 == nil) != (err2 == nil) || err1 != nil && err1.Error() != err2.Error() {
				t.Errorf("%s: %T again: got %v, want %v", name, c, err2, err1)
			}
			if d := diff(first.Events, second.Events) + diff(first.Answer, second.Answer); d != "" {
				t.Errorf("%s: %T again (-first +second):\n%s", name, c, d)
			}
		}
	}
}

// TestStaleFacts: an approval that the store says is pending, of an execution
// that does not wait for it.
func TestStaleFacts(t *testing.T) {
	t.Parallel()
	w := newService().world(t)
	situations()["approval"](w)
	facts := *w.approvals[0]
	facts.ID = kernel.ApprovalID{UUID: kernel.UUID{9}}
	decide := &kernel.DecideApproval{Meta: w.meta(), Approval: facts, Verdict: kernel.ApprovalStatusGranted, DecidedBy: "alice"}
	refused(t, w, decide, kernel.Conflict)
	decide.Meta, decide.Approval = w.meta(), *w.approvals[0]
	w.do(decide)
	decide.Meta = w.meta() // still the facts from before
	refused(t, w, decide, kernel.Conflict)
}

// TestVerdicts: an approval is granted, denied or expires; nothing else.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, verdict := range []kernel.ApprovalStatus{0, kernel.ApprovalStatusPending, kernel.ApprovalStatusCancelled, 99} {
		w := newService().world(t)
		situations()["approval"](w)
		facts := *w.approvals[0]
		w.now = facts.TimeoutAt
		refused(t, w, &kernel.DecideApproval{Meta: w.meta(), Approval: facts, Verdict: verdict, DecidedBy: "alice"}, kernel.Conflict)
	}
}

// TestMalformedSubmits: what no request can say is not recorded either.
func TestMalformedSubmits(t *testing.T) {
	t.Parallel()
	for _, spoil := range map[string]func(*kernel.SubmitStep){
		"no kind":         func(c *kernel.SubmitStep) { c.Kind = 0 },
		"unknown kind":    func(c *kernel.SubmitStep) { c.Kind = 4 },
		"no mode":         func(c *kernel.SubmitStep) { c.Idempotency = 0 },
		"unknown mode":    func(c *kernel.SubmitStep) { c.Idempotency = 3 },
		"wait for a tool": func(c *kernel.SubmitStep) { c.Wait = &kernel.Wait{SignalType: "go"} },
		"tool of a wait":  func(c *kernel.SubmitStep) { c.Kind, c.Target = kernel.Local, "signal:go" },
	} {
		w := newService().world(t)
		situations()["running"](w)
		c := w.submitCommand(&submission{caller: w.lease.Holder, kind: kernel.ToolCall, target: "x", ruling: rulings[0]})
		spoil(c)
		refused(t, w, c, kernel.Conflict)
	}
}

// TestBrokenLimits: a limit of no calls, or without its bucket, lets nothing
// through, and never parks for good.
func TestBrokenLimits(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*kernel.SubmitStep){
		"no bucket": func(c *kernel.SubmitStep) { c.Bucket = nil },
		"no calls":  func(c *kernel.SubmitStep) { c.Ruling.Limit.MaxCalls = 0 },
		"less":      func(c *kernel.SubmitStep) { c.Ruling.Limit.MaxCalls = -1 },
		"nothing":   func(c *kernel.SubmitStep) { c.Ruling.Limit, c.Bucket = &kernel.RateLimit{}, &kernel.Bucket{} },
	} {
		w := newService().world(t)
		situations()["running"](w)
		r := kernel.Ruling{Rule: "r", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute}}
		c := w.submitCommand(&submission{caller: w.lease.Holder, kind: kernel.ToolCall, target: "new", ruling: r})
		spoil(c)
		if out := w.do(c); out.answer.Decision != kernel.RateLimited || out.answer.RetryAfter <= 0 {
			t.Errorf("%s: got %+v, want rate_limited", name, out.answer)
		}
	}
}

// TestBucket: calls are kept in order and as long as the longest window asks.
func TestBucket(t *testing.T) {
	t.Parallel()
	limit := &kernel.RateLimit{MaxCalls: 1, Window: time.Minute}
	b := &kernel.Bucket{}
	for _, seconds := range []int{10, 30, 20, 0} {
		b.Take(limit, epoch.Add(time.Duration(seconds)*time.Second))
	}
	if d := diff([]kernel.Instant{epoch, epoch.Add(10 * time.Second), epoch.Add(20 * time.Second), epoch.Add(30 * time.Second)}, b.Calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	b.Take(&kernel.RateLimit{MaxCalls: 1, Window: time.Hour}, epoch.Add(time.Minute))
	b.Take(limit, epoch.Add(30*time.Minute))
	if len(b.Calls) != 6 {
		t.Errorf("%d calls are kept, want all 6: a window of an hour shares the bucket", len(b.Calls))
	}
	b.Take(limit, epoch.Add(time.Hour+30*time.Second))
	if len(b.Calls) != 3 {
		t.Errorf("%d calls are kept, want 3: %v", len(b.Calls), b.Calls)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, longest := range map[int]time.Duration{
		math.MinInt: time.Second, -1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second,
		5: 16 * time.Second, 6: 30 * time.Second, 7: 30 * time.Second, 100: 30 * time.Second, math.MaxInt: 30 * time.Second,
	} {
		for _, jitter := range []float64{0, 0.25, 0.999} {
			if got, want := kernel.Backoff(n, jitter), time.Duration(jitter*float64(longest)); got != want {
				t.Errorf("Backoff(%d, %v): got %s, want %s", n, jitter, got, want)
			}
		}
	}
}

// TestMessages: a refusal says what, why and what next.
func TestMessages(t *testing.T) {
	t.Parallel()
	w := newService().world(t)
	situations()["running"](w)
	out := w.do(&kernel.Heartbeat{Meta: w.meta(), Caller: kernel.Holder{Attempt: 1}})
	if got := out.err.Error(); !strings.HasPrefix(got, "lease_superseded: ") || !strings.Contains(got, "stop") {
		t.Errorf("got %q", got)
	}
}

// TestMemoryStartsEmpty: a memory that was restored from nothing counts.
func TestMemoryStartsEmpty(t *testing.T) {
	t.Parallel()
	w := newService().world(t)
	situations()["claimed"](w)
	w.lease.Memory = &kernel.Memory{}
	submit := &submission{caller: w.lease.Holder, kind: kernel.ToolCall, target: "x", ruling: rulings[0], key: "k"}
	w.do(w.submitCommand(submit))
	if got := len(w.lease.Memory.Counters) + len(w.lease.Memory.Keys); got != 2 {
		t.Errorf("%d things are remembered, want 2", got)
	}
}

// TestFoldIsTotal: a log that lost a step's proposal still folds, and shows the step.
func TestFoldIsTotal(t *testing.T) {
	t.Parallel()
	for _, d := range examples() {
		s := kernel.State{}
		s.Fold(&kernel.Event{Seq: 1, Pos: 7, At: epoch, Data: d})
		if s.LastSeq != 1 || s.UpdatedAt != epoch {
			t.Errorf("%s: folded to %+v", d.Type(), s)
		}
		want := 0
		switch d.(type) {
		case *kernel.StepProposed, *kernel.StepAllowed, *kernel.StepDenied, *kernel.StepAwaitingApproval, *kernel.StepExecuting,
			*kernel.StepSucceeded, *kernel.StepFailed, *kernel.StepCancelled:
			want = 1
		default:
		}
		if len(s.Steps) != want {
			t.Errorf("%s: folded to %d steps, want %d", d.Type(), len(s.Steps), want)
		}
		for _, step := range s.Steps {
			if step.No != 7 || step.CreatedAt != epoch {
				t.Errorf("%s: folded to step %+v", d.Type(), step)
			}
		}
	}
}

// TestUsage: what an llm_call reports counts, as far as it can be true.
func TestUsage(t *testing.T) {
	t.Parallel()
	const most = 1 << 40
	for _, v := range []struct {
		kind    kernel.StepKind
		in, out int64
		counts  bool
	}{
		{kernel.LLMCall, 7, 5, true},
		{kernel.LLMCall, 0, 5, true},
		{kernel.LLMCall, 7, 0, true},
		{kernel.LLMCall, most, most, true},
		{kernel.LLMCall, most + 1, 0, false},
		{kernel.LLMCall, 0, most + 1, false},
		{kernel.LLMCall, -1, 5, false},
		{kernel.LLMCall, 7, -1, false},
		{kernel.ToolCall, 7, 5, false},
		{kernel.Local, 7, 5, false},
	} {
		w := newService().world(t)
		situations()["claimed"](w)
		step := w.do(w.submitCommand(&submission{caller: w.lease.Holder, kind: v.kind, target: "m", ruling: rulings[0]})).answer.Step
		w.do(&kernel.FinishStep{
			Meta: w.meta(), Caller: w.lease.Holder, Step: step, Succeeded: true, Outcome: kernel.NewBody([]byte("1")),
			Usage: &kernel.Usage{InputTokens: v.in, OutputTokens: v.out},
		})
		want := int64(0)
		if v.counts {
			want = v.in + v.out
		}
		if got := w.state.Steps[step].Usage; (got != nil) != v.counts || w.state.Tokens != want {
			t.Errorf("%s with %d+%d tokens: got %+v and a sum of %d, want %d", v.kind, v.in, v.out, got, w.state.Tokens, want)
		}
	}
}
