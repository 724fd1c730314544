package kernel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// TestRerun runs a deterministic agent to its end through crashes of the agent,
// of the service and of the network at any point. Whatever happens, each run
// from the top finds the same steps, gets back every outcome that was recorded
// and repeats no effect that must not be repeated.
func TestRerun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		r := &rerun{t: t, w: newService().world(t), program: p, faults: rapid.IntRange(0, 8).Draw(t, "faults")}
		r.ids, r.outcomes = make([]kernel.StepID, len(p)), make([]string, len(p))
		r.effects = make([]int, len(p))
		r.toTheEnd()
		r.check()
	})
}

// call is one call of the agent's program.
type call struct {
	submission
	effect string // what the effect comes to; "" for a wait
	failed bool
}

func drawProgram(t *rapid.T) []call {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
		var c call
		c.ruling = []kernel.Ruling{
			{Rule: "free", Action: kernel.Allow},
			{Rule: "free", Action: kernel.Allow},
			{Rule: "ask", Action: kernel.RequireApproval},
			{Rule: "no", Action: kernel.Deny, Reason: "no"},
			{Rule: "slow", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerExecution, MaxWait: time.Hour}},
		}[rapid.IntRange(0, 4).Draw(t, "ruling")]
		if rapid.IntRange(0, 4).Draw(t, "wait") == 0 {
			c.signal, c.timeout = rapid.SampledFrom([]string{"go", "stop"}).Draw(t, "signal"), time.Hour
			return c
		}
		c.kind = rapid.SampledFrom([]kernel.StepKind{kernel.ToolCall, kernel.Local}).Draw(t, "kind")
		c.target = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target")
		c.mode = rapid.SampledFrom([]kernel.Idempotency{kernel.SafeToRetry, kernel.AtMostOnce}).Draw(t, "mode")
		c.effect = fmt.Sprint(rapid.IntRange(1, 99).Draw(t, "effect"))
		c.failed = rapid.IntRange(0, 3).Draw(t, "failed") == 0
		return c
	}), 1, 6).Draw(t, "program")
}

// rerun is one execution of a program, and what its agents saw.
type rerun struct {
	t        *rapid.T
	w        *world
	program  []call
	faults   int             // still to come
	ids      []kernel.StepID // of each call, once it is known
	outcomes []string        // of each call, once it is recorded
	effects  []int           // how often the effect of a call ran
}

// strike decides whether a fault happens now.
func (r *rerun) strike(what string) bool {
	if r.faults == 0 || rapid.IntRange(0, 3).Draw(r.t, what) > 0 {
		return false
	}
	r.faults--
	return true
}

func (r *rerun) toTheEnd() {
	w := r.w
	w.do(&kernel.CreateExecution{Meta: w.meta(), Agent: "a", Input: kernel.NewBody([]byte(`{}`))})
	for range 100 {
		switch s := &w.state; {
		case s.Status.Terminal():
			return
		case s.Block != nil:
			r.unblock(s.Block)
		case s.Park != nil:
			w.now = max(w.now, s.Park.RetryAt)
			w.do(&kernel.Unpark{Meta: w.meta()})
		case w.lease.Live(): // its agent is gone
			w.now = max(w.now, w.lease.ExpiresAt)
			w.do(&kernel.LapseLease{Meta: w.meta(), MaxAttempts: 100})
		default:
			w.now = max(w.now, w.lease.NotBefore)
			r.attempt(w.do(&kernel.ClaimDispatch{Meta: w.meta(), Dispatch: w.lease.ID, Timeout: time.Minute}).answer.Claimed.Attempt)
		}
	}
	r.t.Fatalf("the execution is %s after 100 rounds: lease %+v", w.state.Status, w.lease)
}

// unblock decides what the execution waits for.
func (r *rerun) unblock(b *kernel.Block) {
	w := r.w
	verdict := rapid.IntRange(0, 2).Draw(r.t, "verdict")
	if b.Reason == kernel.BlockedOnSignal {
		if verdict == 0 {
			w.now = max(w.now, b.TimeoutAt)
			w.do(&kernel.ExpireWait{Meta: w.meta()})
			return
		}
		w.do(&kernel.SendSignal{Meta: w.meta(), SignalType: b.Signal, Payload: kernel.NewBody([]byte(fmt.Sprint(w.state.LastSeq)))})
		return
	}
	c := &kernel.DecideApproval{Approval: *w.approval(b.Approval), DecidedBy: "alice"}
	if c.Verdict = []kernel.ApprovalStatus{kernel.ApprovalStatusExpired, kernel.ApprovalStatusDenied, kernel.ApprovalStatusGranted}[verdict]; verdict == 0 {
		w.now, c.DecidedBy = max(w.now, b.TimeoutAt), ""
	}
	c.Meta = w.meta()
	w.do(c)
}

// attempt is one run from the top.
func (r *rerun) attempt(by kernel.Holder) {
	w := r.w
	if r.strike("delivery fails") {
		w.do(&kernel.RecordDelivery{Meta: w.meta(), Attempt: by, Error: "refused", MaxAttempts: 100, Jitter: 0.5})
		return
	}
	for i := range r.program {
		if r.strike("service crashes") {
			w.crash()
			w.do(&kernel.RestartDispatch{Meta: w.meta()})
		}
		if !r.call(by, i) || r.strike("agent crashes") {
			return
		}
	}
	output := kernel.NewBody([]byte(`"done"`))
	w.do(&kernel.FinishExecution{Meta: w.meta(), Caller: by, Succeeded: true, Output: output, Canonical: output.Digest})
}

// call is one call of the program; false ends the run.
func (r *rerun) call(by kernel.Holder, i int) bool {
	w, c := r.w, &r.program[i]
	c.caller, c.key = by, fmt.Sprintf("call %d", i)
	out := w.do(w.submitCommand(&c.submission))
	if out.err != nil {
		if out.err.Code != kernel.LeaseSuperseded {
			r.t.Fatalf("call %d by %v: %v", i, by, out.err)
		}
		return false
	}
	if r.strike("answer is lost") {
		again := w.do(w.submitCommand(&c.submission))
		if got, want := fmt.Sprintf("%+v", again.answer), fmt.Sprintf("%+v", out.answer); got != want {
			r.t.Fatalf("call %d again under its key: got %s, want %s", i, got, want)
		}
	}
	a := &out.answer
	if a.Decision == kernel.ExecutionBlockedDecision {
		r.t.Fatalf("call %d by %v, which makes one call at a time, is held back", i, by)
	}
	if r.ids[i] != (kernel.StepID{}) && r.ids[i] != a.Step {
		r.t.Fatalf("call %d is step %s, and was %s before", i, a.Step, r.ids[i])
	}
	r.ids[i] = a.Step
	outcome := ""
	switch a.Decision {
	case kernel.Proceed:
		if r.outcomes[i] != "" {
			r.t.Fatalf("call %d is to proceed, and its outcome is recorded: %s", i, r.outcomes[i])
		}
		return r.effect(by, i)
	case kernel.Replay:
		outcome = "result " + w.body(a)
		if a.Failed {
			outcome = "error " + w.body(a)
		}
	case kernel.Denied:
		outcome = "denied " + a.Reason
	case kernel.BlockedByPolicy:
		if r.outcomes[i] != "" {
			r.t.Fatalf("call %d is blocked, and its outcome is recorded: %s", i, r.outcomes[i])
		}
		return false
	default:
		r.t.Fatalf("call %d: %+v", i, a)
	}
	if r.outcomes[i] != "" && r.outcomes[i] != outcome {
		r.t.Fatalf("call %d came to %s, and to %s before", i, outcome, r.outcomes[i])
	}
	r.outcomes[i] = outcome
	return true
}

// effect runs the effect of a call and reports it.
func (r *rerun) effect(by kernel.Holder, i int) bool {
	w, c := r.w, &r.program[i]
	if r.strike("agent dies before the effect") {
		return false
	}
	r.effects[i]++
	if r.strike("agent dies after the effect") {
		return false
	}
	finish := &kernel.FinishStep{Meta: w.meta(), Caller: by, Step: r.ids[i], Succeeded: !c.failed, Outcome: kernel.NewBody([]byte(c.effect))}
	if out := w.do(finish); out.answer.Decision != kernel.Recorded {
		r.t.Fatalf("report of call %d: %+v %v", i, out.answer, out.err)
	}
	r.outcomes[i] = "result " + c.effect
	if c.failed {
		r.outcomes[i] = "error " + c.effect
	}
	return true
}

// check looks at the end.
func (r *rerun) check() {
	if got := r.w.state.Status; got != kernel.StatusCompleted {
		r.t.Fatalf("the execution is %s, want completed", got)
	}
	for i := range r.program {
		c, ran := &r.program[i], r.effects[i]
		if c.mode == kernel.AtMostOnce && ran > 1 {
			r.t.Fatalf("the effect of the at_most_once call %d ran %d times", i, ran)
		}
		unknown := strings.Contains(r.outcomes[i], kernel.ReasonIndeterminate)
		if unknown && c.mode != kernel.AtMostOnce {
			r.t.Fatalf("call %d, which is safe to retry, came to %s", i, r.outcomes[i])
		}
		if reported := strings.HasSuffix(r.outcomes[i], " "+c.effect) && c.effect != ""; reported && ran == 0 {
			r.t.Fatalf("call %d came to %s, and never ran", i, r.outcomes[i])
		}
		if step := r.w.state.Steps[r.ids[i]]; step == nil || !step.Status.Terminal() {
			r.t.Fatalf("call %d is left as %+v", i, step)
		}
	}
}
