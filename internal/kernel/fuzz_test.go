package kernel_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// FuzzDecide makes commands of any bytes, zero ones among them, by callers of
// any kind. Nothing panics, and what the audit asks for holds throughout.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0}, 64))
	f.Add([]byte("\x01\x02\x01\x04\x00\x00\x01\x00\x00\x05\x00\x00\x06\x00\x00"))
	f.Add([]byte("create, claim, ack, submit, complete: whatever these letters come to"))
	for i := range 16 {
		b := make([]byte, 256)
		for j := range b {
			b[j] = byte((i + 3) * (j + 1) * (j + i) >> 2)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &source{b}
		w := newService().world(t)
		for n := 0; len(s.b) > 0 && n < 300; n++ {
			w.now = w.now.Add(time.Duration(int8(s.byte())) * time.Second)
			if s.int(16) == 0 {
				w.crash()
			}
			c := s.command(w)
			if s.int(16) > 0 {
				at := max(w.now, w.state.UpdatedAt)
				kernel.Stamp(c, at, [10]byte{byte(n), byte(n >> 8)})
			} else { // no time and no randomness but what was there
				kernel.Stamp(c, w.state.UpdatedAt, [10]byte{byte(n), byte(n >> 8)})
			}
			w.do(c)
		}
	})
}

func (s *source) holder(w *world) kernel.Holder {
	h := w.lease.Holder
	switch s.int(8) {
	case 0:
		return kernel.Holder{}
	case 1:
		h.Attempt += int64(int8(s.byte()))
	case 2:
		h.Dispatch.UUID[15] ^= s.byte()
	}
	return h
}

func (s *source) stepID(w *world) kernel.StepID {
	if len(w.log) > 0 {
		r := w.log[s.int(256)%len(w.log)]
		if d, ok := r.Event.Data.(*kernel.StepProposed); ok {
			return d.Step
		}
	}
	for id := range w.state.Steps {
		if len(w.state.Steps) == 1 {
			return id
		}
	}
	return kernel.StepID{s.byte()}
}

func (s *source) ruling() kernel.Ruling {
	r := kernel.Ruling{Rule: "r" + s.text(), Action: kernel.Action(s.int(5)), Reason: s.text()}
	r.Approval = kernel.ApprovalTerms{Approvers: s.texts(), Timeout: time.Duration(int8(s.byte())) * time.Second, Message: s.text()}
	if s.bool() {
		r.Rule = "limit" // one limit for all, so that it can be held against the log
		r.Limit = &kernel.RateLimit{MaxCalls: 2, Window: 20 * time.Second, Scope: kernel.LimitScope(s.int(4)), MaxWait: time.Duration(s.byte()) * time.Second}
	}
	if s.bool() {
		r.Budget = &kernel.Budget{MaxTokens: int64(int8(s.byte())), OnExceed: kernel.Action(s.int(5))}
	}
	return r
}

// command is any command; half of them as they could come from the shell.
func (s *source) command(w *world) kernel.Command {
	switch s.int(16) {
	case 0:
		return &kernel.CreateExecution{Agent: kernel.AgentID(s.text()), Labels: s.pairs(), Deadline: epoch.Add(time.Duration(s.byte()) * time.Second), Input: kernel.NewBody([]byte(s.text()))}
	case 1, 2:
		return &kernel.ClaimDispatch{Dispatch: w.lease.ID, Timeout: time.Duration(int8(s.byte())) * time.Second}
	case 3:
		return &kernel.RecordDelivery{Attempt: s.holder(w), Acked: s.bool(), Error: s.text(), HTTPStatus: s.int(256), MaxAttempts: s.int(8) - 1, Jitter: float64(s.byte()) / 256}
	case 4, 5, 6:
		sub := &submission{
			caller: s.holder(w), kind: kernel.StepKind(s.int(5)), target: s.text(), args: []string{"", `{"a":1}`}[s.int(2)],
			mode: kernel.Idempotency(s.int(4)), ruling: s.ruling(), key: []string{"", "k"}[s.int(2)],
		}
		if s.int(4) == 0 {
			sub.signal, sub.timeout = []string{"go", "stop"}[s.int(2)], time.Duration(s.byte())*time.Second
		}
		c := w.submitCommand(sub)
		if s.int(8) == 0 { // not even made of one another
			c = &kernel.SubmitStep{Caller: sub.caller, Ruling: sub.ruling, Bucket: c.Bucket, Target: s.text(), FirstID: kernel.StepID{1}}
			if s.bool() {
				c.Bucket, c.Ruling.Limit = nil, &kernel.RateLimit{MaxCalls: s.int(3) - 1}
			}
		}
		return c
	case 7, 8:
		return &kernel.FinishStep{Caller: s.holder(w), Step: s.stepID(w), Succeeded: s.bool(), Outcome: kernel.NewBody([]byte(s.text())), Usage: &kernel.Usage{InputTokens: s.int64(), OutputTokens: int64(s.byte())}}
	case 9:
		return &kernel.FinishExecution{Caller: s.holder(w), Succeeded: s.bool(), Output: kernel.NewBody([]byte(s.text())), Reason: s.text()}
	case 10:
		return &kernel.CancelExecution{Reason: []string{"", kernel.ReasonClientCancelled, kernel.ReasonDeadline, kernel.ReasonDeadline}[s.int(4)]}
	case 11:
		c := &kernel.DecideApproval{Verdict: kernel.ApprovalStatus(s.int(7)), DecidedBy: s.text(), Rationale: s.text()}
		if n := len(w.approvals); n > 0 {
			c.Approval = *w.approvals[n-1]
		}
		return c
	case 12:
		return &kernel.SendSignal{SignalType: []string{"go", "stop"}[s.int(2)], Payload: kernel.NewBody([]byte(s.text())), Key: s.text()}
	case 13:
		return []kernel.Command{&kernel.ExpireWait{}, &kernel.Unpark{}, &kernel.RestartDispatch{}, &kernel.LapseLease{MaxAttempts: s.int(8)}}[s.int(4)]
	case 14:
		return &kernel.Heartbeat{Caller: s.holder(w)}
	default:
		return &kernel.PublishDelta{Caller: s.holder(w), Step: s.stepID(w)}
	}
}

// TestZeroCommands: the zero value of every command, to every kind of state.
func TestZeroCommands(t *testing.T) {
	t.Parallel()
	zero := []func() kernel.Command{
		func() kernel.Command { return &kernel.CreateExecution{} }, func() kernel.Command { return &kernel.ClaimDispatch{} },
		func() kernel.Command { return &kernel.RecordDelivery{} }, func() kernel.Command { return &kernel.SubmitStep{} },
		func() kernel.Command { return &kernel.FinishStep{} }, func() kernel.Command { return &kernel.FinishExecution{} },
		func() kernel.Command { return &kernel.CancelExecution{} }, func() kernel.Command { return &kernel.DecideApproval{} },
		func() kernel.Command { return &kernel.SendSignal{} }, func() kernel.Command { return &kernel.ExpireWait{} },
		func() kernel.Command { return &kernel.Unpark{} }, func() kernel.Command { return &kernel.LapseLease{} },
		func() kernel.Command { return &kernel.RestartDispatch{} }, func() kernel.Command { return &kernel.Heartbeat{} },
		func() kernel.Command { return &kernel.PublishDelta{} },
	}
	if len(zero) != len(sequences) {
		t.Fatalf("%d commands are tried, there are %d", len(zero), len(sequences))
	}
	for _, prepare := range situations() {
		for _, command := range zero {
			w := newService().world(t)
			prepare(w)
			w.do(command())
		}
	}
}

// situations are executions in every kind of state.
func situations() map[string]func(*world) {
	run := func(lines ...func(*world)) func(*world) {
		return func(w *world) {
			for _, line := range lines {
				line(w)
			}
		}
	}
	create := func(w *world) { w.do(&kernel.CreateExecution{Meta: w.meta(), Agent: "a"}) }
	claim := func(w *world) {
		w.do(&kernel.ClaimDispatch{Meta: w.meta(), Dispatch: w.lease.ID, Timeout: time.Minute})
	}
	submit := func(r kernel.Ruling, target string) func(*world) {
		return func(w *world) {
			w.do(w.submitCommand(&submission{caller: w.lease.Holder, kind: kernel.ToolCall, target: target, ruling: r}))
		}
	}
	wait := func(w *world) {
		w.do(w.submitCommand(&submission{caller: w.lease.Holder, signal: "go", ruling: rulings[0], timeout: time.Minute}))
	}
	cancel := func(w *world) { w.do(&kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonClientCancelled}) }
	crash := func(w *world) { w.crash() }
	slow := kernel.Ruling{Rule: "slow", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerExecution, MaxWait: time.Hour}}
	return map[string]func(*world){
		"nothing":  run(),
		"pending":  run(create),
		"claimed":  run(create, claim),
		"running":  run(create, claim, submit(rulings[0], "x")),
		"lost":     run(create, claim, submit(rulings[0], "x"), crash),
		"approval": run(create, claim, submit(rulings[4], "x")),
		"signal":   run(create, claim, wait),
		"parked":   run(create, claim, submit(slow, "x"), submit(slow, "y")),
		"ended":    run(create, claim, submit(rulings[0], "x"), cancel),
	}
}
