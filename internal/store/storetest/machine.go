package storetest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// testHistories gives a store random commands, with little memory, restarts
// and kills in between, and then asks it everything.
func testHistories(t *testing.T, d Driver) {
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		opts := Options{Resident: rapid.SampledFrom([]int{1, 6, 1000}).Draw(t, "resident")}
		w := newWorld(t, d, subfolder(t, base, runs), opts)
		defer w.close()
		m := &machine{w: w}
		m.create(t)
		t.Repeat(map[string]func(*rapid.T){
			"agent":    m.agent,
			"agent2":   m.agent, // most of what happens
			"agent3":   m.agent,
			"dispatch": m.dispatch,
			"deliver":  m.dispatch,
			"person":   m.person,
			"time":     m.time,
			"due":      m.due,
			"service":  m.service,
			"faulty":   m.faulty,
			"batch":    m.batch,
			"create":   m.create,
		})
		w.check()
		if d.Verify != nil {
			w.verify()
		}
	})
}

// machine draws commands.
type machine struct{ w *world }

// pick draws an execution; the newest are the busiest.
func (m *machine) pick(t *rapid.T) *model {
	all := m.w.present()
	return all[max(0, len(all)-1-rapid.IntRange(0, 3).Draw(t, "execution"))]
}

const maxModels = 8

func (m *machine) create(t *rapid.T) {
	w := m.w
	if len(w.models) >= maxModels {
		t.Skip("enough")
	}
	n := creation{input: rapid.SampledFrom([]string{"", `{"n":1}`, "null"}).Draw(t, "input")}
	if rapid.Bool().Draw(t, "labels") {
		n.labels = map[string]string{"k": rapid.SampledFrom([]string{"v", "w"}).Draw(t, "value"), "ü": ""}
	}
	if rapid.Bool().Draw(t, "deadline") {
		n.deadline = w.now.Add(time.Hour)
	}
	w.create(n)
}

// holder is nearly always who owns the execution; now and then someone else.
func (m *machine) holder(t *rapid.T, x *model) kernel.Holder {
	newest := x.lease.Holder
	switch rapid.IntRange(0, 31).Draw(t, "caller") {
	case 31:
		return kernel.Holder{}
	case 30:
		return kernel.Holder{Dispatch: newest.Dispatch, Attempt: newest.Attempt + 1}
	case 29, 28:
		if len(x.past) > 0 {
			return x.past[rapid.IntRange(0, len(x.past)-1).Draw(t, "past")]
		}
	}
	return newest
}

var rulings = []kernel.Ruling{
	{Rule: kernel.RulePermissive, Action: kernel.Allow},
	{Rule: kernel.RulePermissive, Action: kernel.Allow},
	{Rule: "no", Action: kernel.Deny, Reason: "no", Bundle: kernel.Sum([]byte("bundle"))},
	{Rule: "no-reason", Action: kernel.Deny},
	{Rule: "ask", Action: kernel.RequireApproval, Approval: kernel.ApprovalTerms{Timeout: time.Minute, Message: "look"}},
	{Rule: "ask-alice", Action: kernel.RequireApproval, Reason: "look", Approval: kernel.ApprovalTerms{Approvers: []string{"alice", "bob"}}},
	{Rule: "limit", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerExecution}},
	{Rule: "limit-agent", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 2, Window: time.Minute, Scope: kernel.PerAgent, MaxWait: 30 * time.Second}},
	{Rule: "limit-all", Action: kernel.RequireApproval, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerService, MaxWait: time.Minute}},
	{Rule: "limit-all", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 3, Window: time.Hour, Scope: kernel.PerService, MaxWait: time.Minute}},
	{Rule: "budget", Action: kernel.Allow, Budget: &kernel.Budget{MaxTokens: 10, OnExceed: kernel.Deny}},
}

func (m *machine) submission(t *rapid.T, x *model) submission {
	s := submission{caller: m.holder(t, x), ruling: rapid.SampledFrom(rulings).Draw(t, "ruling")}
	s.key = rapid.SampledFrom([]string{"", "", "", "", "k1", "k2"}).Draw(t, "key")
	if rapid.IntRange(0, 4).Draw(t, "wait") == 0 {
		s.signal = rapid.SampledFrom([]string{"go", "stop"}).Draw(t, "signal")
		s.timeout = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "timeout")
		return s
	}
	s.kind = rapid.SampledFrom([]kernel.StepKind{kernel.ToolCall, kernel.LLMCall, kernel.Local}).Draw(t, "kind")
	s.args = rapid.SampledFrom([]string{"", `{"x":1}`, `{"x": 1}`, conversation(min(len(x.log)/8, 9), 700), conversation(5, 900)}).Draw(t, "args")
	s.mode = rapid.SampledFrom([]kernel.Idempotency{kernel.SafeToRetry, kernel.AtMostOnce}).Draw(t, "mode")
	return s
}

// step is one that was proposed, or one that never was.
func (m *machine) step(t *rapid.T, x *model) kernel.StepID {
	var known []kernel.StepID // in the order of the log, so that a seed repeats
	for _, r := range x.log {
		if d, ok := r.Event.Data.(*kernel.StepProposed); ok {
			known = append(known, d.Step)
		}
	}
	if len(known) == 0 || rapid.IntRange(0, 20).Draw(t, "no such step") == 0 {
		return kernel.StepID{1}
	}
	return known[len(known)-1-rapid.IntRange(0, min(3, len(known)-1)).Draw(t, "step")]
}

func (m *machine) agent(t *rapid.T) {
	w, x := m.w, m.pick(t)
	switch rapid.IntRange(0, 19).Draw(t, "write") {
	default:
		w.submit(x, m.submission(t, x))
	case 0, 1, 2, 3, 4:
		c := &kernel.FinishStep{
			Caller: m.holder(t, x), Step: m.step(t, x), Succeeded: rapid.Bool().Draw(t, "ok"), Outcome: kernel.NewBody([]byte(`{"n":1}`)),
		}
		if rapid.Bool().Draw(t, "usage") {
			c.Usage = &kernel.Usage{InputTokens: 4, OutputTokens: 1}
		}
		w.do(x, c)
	case 5:
		if rapid.IntRange(0, 3).Draw(t, "end") < 3 {
			t.Skip("not yet")
		}
		output := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "output")
		w.do(x, &kernel.FinishExecution{
			Caller: m.holder(t, x), Succeeded: rapid.Bool().Draw(t, "ok"), Output: kernel.NewBody([]byte(output)),
			Canonical: canonjson.Digest([]byte(output)), Reason: "x",
		})
	case 6:
		w.do(x, &kernel.Heartbeat{Caller: m.holder(t, x)})
	case 7:
		w.do(x, &kernel.PublishDelta{Caller: m.holder(t, x), Step: m.step(t, x)})
	}
}

func (m *machine) dispatch(t *rapid.T) {
	w, x := m.w, m.pick(t)
	if rapid.IntRange(0, 2).Draw(t, "what") > 0 {
		w.do(x, &kernel.ClaimDispatch{Dispatch: x.lease.ID, Timeout: leaseTimeout})
		return
	}
	w.do(x, &kernel.RecordDelivery{
		Attempt: m.holder(t, x), Acked: rapid.Bool().Draw(t, "acked"), Error: "refused", HTTPStatus: 500, MaxAttempts: maxAttempts, Jitter: 0.5,
	})
}

func (m *machine) person(t *rapid.T) {
	w, x := m.w, m.pick(t)
	switch rapid.IntRange(0, 23).Draw(t, "what") {
	case 23:
		w.do(x, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
	case 1, 2, 3, 4:
		key := rapid.SampledFrom([]string{"", "", "s1", "s2"}).Draw(t, "signal key")
		w.signalOnce(x, rapid.SampledFrom([]string{"go", "stop"}).Draw(t, "signal"), `{"p":1}`, key)
	default:
		if !w.asked(x) {
			t.Skip("nothing to decide")
		}
		w.decide(x, rapid.SampledFrom([]kernel.ApprovalStatus{kernel.ApprovalStatusGranted, kernel.ApprovalStatusDenied}).Draw(t, "verdict"),
			rapid.SampledFrom([]string{"alice", "eve"}).Draw(t, "by"), rapid.SampledFrom([]string{"", "because"}).Draw(t, "rationale"))
	}
}

func (w *world) asked(m *model) bool {
	for _, a := range w.approvals {
		if a.Execution == m.id {
			return true
		}
	}
	return false
}

func (m *machine) time(t *rapid.T) {
	m.w.advance(time.Duration(rapid.SampledFrom([]int{-5, 1, 30, 61, 200, 4000}).Draw(t, "seconds")) * time.Second)
}

// due is what timers do, at the right time and at the wrong one.
func (m *machine) due(t *rapid.T) {
	w, x := m.w, m.pick(t)
	switch rapid.IntRange(0, 4).Draw(t, "timer") {
	case 0:
		w.do(x, &kernel.LapseLease{MaxAttempts: maxAttempts})
	case 1:
		w.do(x, &kernel.Unpark{})
	case 2:
		w.do(x, &kernel.ExpireWait{})
	case 3:
		w.do(x, &kernel.CancelExecution{Reason: kernel.ReasonDeadline})
	case 4:
		if w.asked(x) {
			w.decide(x, kernel.ApprovalStatusExpired, "", "")
		}
	}
}

// service stops the store, in either way.
func (m *machine) service(t *rapid.T) {
	w, x := m.w, m.pick(t)
	switch rapid.IntRange(0, 11).Draw(t, "stop") {
	case 0, 1:
		w.restart()
	case 2, 3:
		w.kill()
	case 4:
		w.check()
	default:
		w.do(x, &kernel.RestartDispatch{})
	}
}
