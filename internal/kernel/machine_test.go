package kernel_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// TestMachine gives random commands, by anyone and at any time, to two
// executions that share rate limits. What must hold after each of them is in
// the audit.
func TestMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := newService()
		m := &machine{worlds: []*world{at.world(t), at.world(t)}}
		for _, w := range m.worlds {
			m.w = w
			m.create(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"agent":     m.agent,
			"agent2":    m.agent, // most of what happens
			"agent3":    m.agent,
			"dispatch":  m.dispatch,
			"dispatchB": m.dispatch,
			"person":    m.person,
			"time":      m.time,
			"due":       m.due,
			"service":   m.service,
			"nonsense":  m.nonsense,
		})
	})
}

// machine draws commands.
type machine struct {
	worlds []*world
	w      *world
	past   []kernel.Holder // attempts that were claimed
}

func (m *machine) pick(t *rapid.T) *world {
	m.w = m.worlds[rapid.IntRange(0, len(m.worlds)-1).Draw(t, "execution")]
	m.w.t = t
	return m.w
}

func (m *machine) create(t *rapid.T) {
	w := m.w
	c := &kernel.CreateExecution{Meta: w.meta(), Agent: "mailer", Input: kernel.NewBody([]byte(`{}`))}
	switch rapid.IntRange(0, 2).Draw(t, "labels") {
	case 1:
		c.Labels = map[string]string{}
	case 2:
		c.Labels = map[string]string{"k": "v"}
	}
	if rapid.Bool().Draw(t, "deadline") {
		c.Deadline = c.At.Add(time.Hour)
	}
	w.do(c)
}

// holder is nearly always who owns the execution; now and then someone else.
func (m *machine) holder(t *rapid.T) kernel.Holder {
	newest := m.w.lease.Holder
	switch rapid.IntRange(0, 31).Draw(t, "caller") {
	case 31:
		return kernel.Holder{}
	case 30:
		return kernel.Holder{Dispatch: newest.Dispatch, Attempt: newest.Attempt + 1}
	case 29:
		return kernel.Holder{Dispatch: newest.Dispatch, Attempt: newest.Attempt - 1}
	case 28:
		return kernel.Holder{Dispatch: kernel.DispatchID{UUID: kernel.UUID{1}}, Attempt: 1}
	case 27, 26:
		if len(m.past) > 0 {
			return m.past[rapid.IntRange(0, len(m.past)-1).Draw(t, "past")]
		}
	}
	return newest
}

var rulings = []kernel.Ruling{
	{Rule: kernel.RulePermissive, Action: kernel.Allow},
	{Rule: kernel.RulePermissive, Action: kernel.Allow},
	{Rule: "no", Action: kernel.Deny, Reason: "no"},
	{Rule: "no-reason", Action: kernel.Deny},
	{Rule: "ask", Action: kernel.RequireApproval, Approval: kernel.ApprovalTerms{Timeout: time.Minute}},
	{Rule: "ask-alice", Action: kernel.RequireApproval, Reason: "look", Approval: kernel.ApprovalTerms{Approvers: []string{"alice", "bob"}}},
	{Rule: "limit", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerExecution}},
	{Rule: "limit-agent", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 2, Window: time.Minute, Scope: kernel.PerAgent, MaxWait: 30 * time.Second}},
	{Rule: "limit-all", Action: kernel.RequireApproval, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerService, MaxWait: time.Minute}},
	{Rule: "budget", Action: kernel.Allow, Budget: &kernel.Budget{MaxTokens: 1, OnExceed: kernel.Deny}},
	{Rule: "budget-ask", Action: kernel.Allow, Budget: &kernel.Budget{MaxTokens: 1, OnExceed: kernel.RequireApproval}},
	{Rule: "both", Action: kernel.Deny, Budget: &kernel.Budget{MaxTokens: 5, OnExceed: kernel.RequireApproval}, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Second, Scope: kernel.PerExecution, MaxWait: time.Hour}},
	{Rule: "unknown", Action: 99},
}

func (m *machine) submission(t *rapid.T) *submission {
	s := &submission{caller: m.holder(t), ruling: rulings[rapid.IntRange(0, len(rulings)-1).Draw(t, "ruling")]}
	s.key = rapid.SampledFrom([]string{"", "", "", "", "", "k1", "k2"}).Draw(t, "key")
	if rapid.IntRange(0, 4).Draw(t, "wait") == 0 {
		s.signal = rapid.SampledFrom([]string{"go", "stop"}).Draw(t, "signal")
		s.timeout = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "timeout")
		return s
	}
	s.kind = rapid.SampledFrom([]kernel.StepKind{kernel.ToolCall, kernel.LLMCall}).Draw(t, "kind")
	s.target = "a"
	s.args = rapid.SampledFrom([]string{"", `{"x":1}`}).Draw(t, "args")
	s.mode = rapid.SampledFrom([]kernel.Idempotency{kernel.SafeToRetry, kernel.AtMostOnce}).Draw(t, "mode")
	return s
}

// step is a recorded one, or one that never was.
func (m *machine) step(t *rapid.T) kernel.StepID {
	var open []kernel.StepID // in the order of the log, so that a seed repeats
	for _, r := range m.w.log {
		if d, ok := r.Event.Data.(*kernel.StepProposed); ok {
			open = append(open, d.Step)
		}
	}
	if len(open) == 0 || rapid.IntRange(0, 20).Draw(t, "no such step") == 0 {
		return kernel.StepID{1}
	}
	return open[rapid.IntRange(0, len(open)-1).Draw(t, "step")]
}

func (m *machine) agent(t *rapid.T) {
	w := m.pick(t)
	switch rapid.IntRange(0, 19).Draw(t, "write") {
	default:
		w.do(w.submitCommand(m.submission(t)))
	case 0, 1, 2, 3, 4:
		c := &kernel.FinishStep{Meta: w.meta(), Caller: m.holder(t), Step: m.step(t), Succeeded: rapid.Bool().Draw(t, "ok"), Outcome: kernel.NewBody([]byte(`{"n":1}`))}
		if rapid.Bool().Draw(t, "usage") {
			c.Usage = &kernel.Usage{InputTokens: int64(rapid.IntRange(-2, 5).Draw(t, "in")), OutputTokens: 1}
		}
		w.do(c)
	case 5:
		if rapid.IntRange(0, 3).Draw(t, "end") < 3 {
			t.Skip("not yet")
		}
		output := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "output")
		w.do(&kernel.FinishExecution{
			Meta: w.meta(), Caller: m.holder(t), Succeeded: rapid.Bool().Draw(t, "ok"), Output: kernel.NewBody([]byte(output)),
			Canonical: canonicalDigest(output), Reason: rapid.SampledFrom([]string{"x", kernel.ReasonExhausted}).Draw(t, "reason"),
		})
	case 6:
		w.do(&kernel.Heartbeat{Meta: w.meta(), Caller: m.holder(t)})
	case 7:
		w.do(&kernel.PublishDelta{Meta: w.meta(), Caller: m.holder(t), Step: m.step(t)})
	}
}

func (m *machine) dispatch(t *rapid.T) {
	w := m.pick(t)
	if rapid.IntRange(0, 2).Draw(t, "what") > 0 {
		out := w.do(&kernel.ClaimDispatch{Meta: w.meta(), Dispatch: w.lease.ID, Timeout: time.Minute})
		if out.answer.Claimed != nil {
			m.past = append(m.past, out.answer.Claimed.Attempt)
		}
		return
	}
	w.do(&kernel.RecordDelivery{
		Meta: w.meta(), Attempt: m.holder(t), Acked: rapid.Bool().Draw(t, "acked"), Error: "refused", MaxAttempts: 3,
		Jitter: rapid.Float64Range(0, 0.999).Draw(t, "jitter"),
	})
}

func (m *machine) person(t *rapid.T) {
	w := m.pick(t)
	switch rapid.IntRange(0, 23).Draw(t, "what") {
	case 23:
		w.do(&kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonClientCancelled})
	case 1, 2, 3, 4:
		w.do(&kernel.SendSignal{Meta: w.meta(), SignalType: rapid.SampledFrom([]string{"go", "stop"}).Draw(t, "signal"), Payload: kernel.NewBody([]byte(`1`))})
	default:
		if len(w.approvals) == 0 {
			t.Skip("nothing to decide")
		}
		facts := *w.approvals[len(w.approvals)-1]
		if rapid.IntRange(0, 5).Draw(t, "older") == 0 {
			facts = *w.approvals[rapid.IntRange(0, len(w.approvals)-1).Draw(t, "approval")]
		}
		w.do(&kernel.DecideApproval{
			Meta: w.meta(), Approval: facts,
			Verdict:   rapid.SampledFrom([]kernel.ApprovalStatus{kernel.ApprovalStatusGranted, kernel.ApprovalStatusDenied, kernel.ApprovalStatusExpired, kernel.ApprovalStatusCancelled, 0}).Draw(t, "verdict"),
			DecidedBy: rapid.SampledFrom([]string{"alice", "bob", "eve"}).Draw(t, "by"),
			Rationale: rapid.SampledFrom([]string{"", "because", "\x00"}).Draw(t, "rationale"),
		})
	}
}

func (m *machine) time(t *rapid.T) {
	w := m.pick(t)
	seconds := rapid.SampledFrom([]int{-90, -1, 1, 5, 30, 60, 61, 200}).Draw(t, "seconds")
	w.now = w.now.Add(time.Duration(seconds) * time.Second)
}

// due is what timers do, at the right time and at the wrong one.
func (m *machine) due(t *rapid.T) {
	w := m.pick(t)
	switch rapid.IntRange(0, 4).Draw(t, "timer") {
	case 0:
		w.do(&kernel.LapseLease{Meta: w.meta(), MaxAttempts: 3})
	case 1:
		w.do(&kernel.Unpark{Meta: w.meta()})
	case 2:
		w.do(&kernel.ExpireWait{Meta: w.meta()})
	case 3:
		if w.state.Deadline.IsZero() || w.now < w.state.Deadline {
			t.Skip("not yet")
		}
		w.do(&kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonDeadline})
	case 4:
		for _, a := range w.approvals {
			facts := *a
			w.do(&kernel.DecideApproval{Meta: w.meta(), Approval: facts, Verdict: kernel.ApprovalStatusExpired})
		}
	}
}

// service is a stop without warning, and what follows at the start.
func (m *machine) service(t *rapid.T) {
	w := m.pick(t)
	w.crash()
	if rapid.Bool().Draw(t, "restart") {
		w.do(&kernel.RestartDispatch{Meta: w.meta()})
	}
}

// nonsense is what no caller of the kernel gives.
func (m *machine) nonsense(t *rapid.T) {
	w := m.pick(t)
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 5: // a store that brings back less than it was given
		if w.lease.Memory != nil {
			w.lease.Memory = &kernel.Memory{}
		}
	case 0:
		w.do(&kernel.CreateExecution{Meta: w.meta(), Agent: "other"})
	case 1:
		w.do(&kernel.ClaimDispatch{Meta: w.meta(), Dispatch: kernel.DispatchID{UUID: kernel.UUID{9}}})
	case 2: // a wait that is not one
		s := m.submission(t)
		s.kind, s.target, s.signal = kernel.Local, kernel.SignalTarget("go"), ""
		w.do(w.submitCommand(s))
	case 3: // a limit without a bucket, or of nothing
		s := m.submission(t)
		c := w.submitCommand(s)
		c.Ruling.Limit, c.Bucket = &kernel.RateLimit{Window: time.Minute, MaxWait: time.Hour}, rapid.SampledFrom([]*kernel.Bucket{nil, {}}).Draw(t, "bucket")
		w.do(c)
	case 4:
		w.do(&kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonDeadline})
	}
}
