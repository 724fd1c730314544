package storetest

import (
	"runtime"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// testOrderlyStop is invisible to running agents: attempts, leases, counters
// and remembered answers go on.
func testOrderlyStop(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	running, blocked := w.running(1)[0], w.running(1)[0]
	again := submission{caller: running.lease.Holder}
	first := w.submit(running, again).Answer.Step // the second of its family; key "first" was the first
	w.submit(blocked, submission{caller: blocked.lease.Holder, target: "gate", ruling: ask})
	end := running.lease.ExpiresAt
	for range 3 {
		before := kernel.At(time.Now())
		w.close()
		stopped := kernel.At(time.Now())
		for kernel.At(time.Now()) == stopped { // it is away for a moment
			runtime.Gosched()
		}
		away := kernel.At(time.Now()).Sub(stopped)
		w.reopen()
		w.adopt(running)
		l := &running.lease
		if longer := l.ExpiresAt.Sub(end); l.Lost() || longer < away || longer > kernel.At(time.Now()).Sub(before) {
			t.Fatalf("lease after an orderly stop: %+v, want it to end later than %s by the time that the store was away", l, end)
		}
		end = l.ExpiresAt
	}
	third := w.submit(running, again)
	if third.Answer.Decision != kernel.Proceed || third.Answer.Step == first {
		t.Errorf("the next submit of the family: %+v, want a new step", third.Answer)
	}
	if known := running.state.Steps[third.Answer.Step]; known.Occurrence != 2 {
		t.Errorf("its occurrence: %d, want 2", known.Occurrence)
	}
	repeat := w.submit(running, submission{caller: running.lease.Holder, key: "first"})
	if repeat.Answer.Step == first || len(repeat.Events) > 0 {
		t.Errorf("a repeat under its key: %+v, want the answer of the first time", repeat)
	}
	held := w.submit(blocked, submission{caller: blocked.lease.Holder, target: "next"})
	if held.Answer.Decision != kernel.ExecutionBlockedDecision {
		t.Errorf("a submit of the attempt that was released: %+v, want it held", held.Answer)
	}
	w.check()
}

// testKill takes what an attempt submitted, and nothing else: it may report
// what it did, and start nothing more.
func testKill(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	running, blocked := w.running(1)[0], w.running(1)[0]
	h := running.lease.Holder
	step := w.submit(running, submission{caller: h, target: "pay", mode: kernel.AtMostOnce}).Answer.Step
	w.submit(blocked, submission{caller: blocked.lease.Holder, target: "gate", ruling: ask})
	w.kill()
	w.adopt(running)
	if !running.lease.Lost() {
		t.Fatalf("lease after a kill: %+v, want its counters to be lost", running.lease)
	}
	w.do(running, &kernel.Heartbeat{Caller: h})
	w.finish(running, h, step, true, `{"paid":true}`)
	refused := w.submit(running, submission{caller: h})
	if refused.Refusal == nil || refused.Refusal.Code != kernel.LeaseSuperseded || len(refused.Events) != 2 {
		t.Fatalf("a submit after a kill: %+v, want it superseded, and the next attempt queued", refused)
	}
	h = w.start(running)
	paid := w.submit(running, submission{caller: h, target: "pay", mode: kernel.AtMostOnce})
	if paid.Answer.Decision != kernel.Replay {
		t.Errorf("the step that was reported after the kill: %+v, want a replay", paid.Answer)
	}
	late := w.submit(blocked, submission{caller: blocked.lease.Holder, target: "next"})
	if late.Refusal == nil || late.Refusal.Code != kernel.LeaseSuperseded {
		t.Errorf("a submit of the attempt that was released before the kill: %+v, want it superseded", late)
	}
	w.check()
	w.verify()
}

// testKillAfterAnOrderlyStop has memory come back from the rows, and go: a row
// must not outlive its reading.
func testKillAfterAnOrderlyStop(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.running(2)
	w.restart()
	w.submit(m[0], submission{caller: m[0].lease.Holder}) // is in memory again
	w.kill()
	for i, x := range m {
		w.adopt(x)
		if lost := i == 0; x.lease.Lost() != lost {
			t.Errorf("attempt %d: lost: %t, want %t", i, x.lease.Lost(), lost)
		}
	}
	w.kill() // adopting has read the second
	w.adopt(m[1])
	if !m[1].lease.Lost() {
		t.Error("memory that was read came back after a kill")
	}
	w.check()
}
