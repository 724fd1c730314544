package storetest

import (
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

var (
	deny   = kernel.Ruling{Rule: "no", Action: kernel.Deny, Reason: "not this one", Bundle: kernel.Sum([]byte("bundle"))}
	ask    = kernel.Ruling{Rule: "ask", Action: kernel.RequireApproval, Approval: kernel.ApprovalTerms{Approvers: []string{"alice"}, Message: "look"}}
	limit  = kernel.Ruling{Rule: "limit", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerExecution}}
	parked = kernel.Ruling{Rule: "park", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: time.Minute, Scope: kernel.PerAgent, MaxWait: time.Hour}}
)

// Fill makes a store in folder in which everything has happened that can
// happen to an execution, and closes it.
func Fill(t TB, d Driver, folder string) {
	t.Helper()
	w := newWorldIn(t, d, folder, Options{})
	defer w.close()
	w.live()
}

func testLife(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.live()
	w.check()
	w.restart()
	w.check()
	w.kill()
	w.check()
	w.verify()
}

// live brings executions into every state.
func (w *world) live() {
	w.t.Helper()
	w.steps()
	w.talks()
	w.approvalsOfAllKinds()
	w.signalsOfAllKinds()
	w.limits()
	w.ends()
	w.resting()
}

// steps is an execution whose steps end in every way.
func (w *world) steps() {
	m := w.create(creation{labels: map[string]string{"env": "prod", "team": "a"}, deadline: w.now.Add(time.Hour), input: `{"n": 1}`, key: "create"})
	h := w.start(m)
	call := w.submit(m, submission{caller: h, args: `{"q": 1}`, key: "submit"})
	w.finish(m, h, call.Answer.Step, true, `{"found": true}`)
	llm := w.submitCommand(m, submission{caller: h, kind: kernel.LLMCall, target: "model"})
	step := w.do(m, llm).Answer.Step
	w.do(m, &kernel.FinishStep{
		Caller: h, Step: step, Succeeded: true, Outcome: kernel.NewBody([]byte(`{"text":"x"}`)), Usage: &kernel.Usage{InputTokens: 3, OutputTokens: 4},
	})
	w.submit(m, submission{caller: h, target: "refused", ruling: deny})
	failing := w.submit(m, submission{caller: h, kind: kernel.Local, target: "roll"})
	w.finish(m, h, failing.Answer.Step, false, `{"reason":"bad luck"}`)
	once := submission{caller: h, target: "pay", mode: kernel.AtMostOnce}
	w.submit(m, once)
	w.submit(m, submission{caller: h, target: "again"})
	w.advance(leaseTimeout)
	w.do(m, &kernel.LapseLease{MaxAttempts: maxAttempts})
	h = w.start(m)
	once.caller = h
	w.submit(m, once)                                                      // its outcome is unknown
	w.submit(m, once)                                                      // and its twin is refused
	w.submit(m, submission{caller: h, target: "again"})                    // runs again
	w.submit(m, submission{caller: h, args: `{"q":1}`})                    // is replayed
	w.do(m, &kernel.FinishExecution{Caller: h, Reason: "does not add up"}) // with open steps
}

func (w *world) approvalsOfAllKinds() {
	m := w.create(creation{})
	for _, verdict := range []kernel.ApprovalStatus{kernel.ApprovalStatusGranted, kernel.ApprovalStatusDenied, kernel.ApprovalStatusExpired} {
		w.submit(m, submission{caller: w.start(m), target: verdict.String(), ruling: ask})
		by, why := "alice", "because"
		if verdict == kernel.ApprovalStatusExpired {
			w.advance(approvalTimeout)
			by, why = "", ""
		}
		w.decide(m, verdict, by, why)
	}
	h := w.start(m)
	granted := w.submit(m, submission{caller: h, target: kernel.ApprovalStatusGranted.String(), ruling: ask})
	w.finish(m, h, granted.Answer.Step, true, `[1, 2]`)
	w.submit(m, submission{caller: h, target: "cancelled", ruling: ask})
	w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
}

func (w *world) signalsOfAllKinds() {
	m := w.create(creation{})
	w.signal(m, "early", `"first"`, "key")
	w.signal(m, "early", `"second"`, "")
	h := w.start(m)
	w.submit(m, submission{caller: h, signal: "early"}) // is there already
	w.submit(m, submission{caller: h, signal: "late"})
	w.signal(m, "late", "null", "")
	w.submit(m, submission{caller: w.start(m), signal: "never", timeout: time.Minute})
	w.advance(time.Minute)
	w.do(m, &kernel.ExpireWait{})
	w.complete(m, w.start(m), `{"with": "a signal left"}`)
}

func (w *world) limits() {
	m := w.create(creation{})
	h := w.start(m)
	w.submit(m, submission{caller: h, target: "a", ruling: limit})
	w.submit(m, submission{caller: h, target: "b", ruling: limit}) // refused
	w.submit(m, submission{caller: h, target: "c", ruling: parked})
	w.submit(m, submission{caller: h, target: "d", ruling: parked}) // waits
	w.advance(time.Minute)
	w.do(m, &kernel.Unpark{})
	h = w.start(m)
	w.submit(m, submission{caller: h, target: "d", ruling: parked})
	w.complete(m, h, "null")

	m = w.create(creation{})
	h = w.start(m)
	w.submit(m, submission{caller: h, target: "e", ruling: parked})
	w.complete(m, h, "1") // with a step that waits
}

// ends are executions that ended by something other than their agent.
func (w *world) ends() {
	m := w.create(creation{})
	for range maxAttempts {
		w.advance(time.Minute)
		w.do(m, &kernel.RecordDelivery{Attempt: w.claim(m), Error: "refused", HTTPStatus: 500, MaxAttempts: maxAttempts, Jitter: 0.5})
	}
	m = w.create(creation{deadline: w.now.Add(time.Second)})
	w.advance(time.Second)
	w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonDeadline}) // before it was claimed
}

// resting are executions that wait for something.
func (w *world) resting() {
	w.create(creation{input: "null"})
	w.claim(w.create(creation{}))
	m := w.create(creation{})
	w.submit(m, submission{caller: w.start(m), key: "k"})
	m = w.create(creation{})
	w.submit(m, submission{caller: w.start(m), ruling: ask})
	m = w.create(creation{})
	w.submit(m, submission{caller: w.start(m), signal: "go", timeout: time.Hour})
	m = w.create(creation{deadline: w.now.Add(time.Hour)})
	h := w.start(m)
	w.submit(m, submission{caller: h, target: "x", ruling: parked})
	w.submit(m, submission{caller: h, target: "y", ruling: parked})
	w.do(m, &kernel.Heartbeat{Caller: m.lease.Holder})
	if err := w.update(func(tx store.Tx) error { return tx.Probe(w.now) }); err != nil {
		w.t.Fatalf("Probe: %v", err)
	}
}
