package kernel_test

import (
	"slices"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// link is a row of the log, as far as the chain covers it.
type link struct {
	execution kernel.ExecutionID
	event     kernel.Event
	payload   []byte
	hash      kernel.Digest
}

// intact reports the first link whose hash or body is not what it says, or -1.
func intact(log []link) int {
	var chain kernel.Chain
	var head kernel.Digest
	for i := range log {
		l := &log[i]
		head = chain.Next(head, l.execution, &l.event, l.payload)
		if head != l.hash || l.event.Body != nil && kernel.Sum(l.event.Body) != l.event.Digest {
			return i
		}
	}
	return -1
}

// sample is the log of an execution that did a bit of everything.
func sample(t *testing.T) []link {
	t.Helper()
	w := newService().world(t)
	w.do(&kernel.CreateExecution{Meta: w.meta(), Agent: "a", Input: kernel.NewBody([]byte(`{"to":"x"}`))})
	w.do(&kernel.ClaimDispatch{Meta: w.meta(), Dispatch: w.lease.ID, Timeout: defaultLease})
	by := w.lease.Holder
	ruling := kernel.Ruling{Rule: "r", Action: kernel.Allow, Bundle: kernel.Sum([]byte("bundle"))}
	step := w.do(w.submitCommand(&submission{caller: by, kind: kernel.LLMCall, target: "m", ruling: ruling})).answer.Step
	w.do(&kernel.FinishStep{Meta: w.meta(), Caller: by, Step: step, Succeeded: true, Outcome: kernel.NewBody([]byte(`1`)), Usage: &kernel.Usage{InputTokens: 1}})
	w.do(&kernel.SendSignal{Meta: w.meta(), SignalType: "go", Payload: kernel.NewBody([]byte(`2`))})
	ruling.Action = kernel.RequireApproval
	w.do(w.submitCommand(&submission{caller: by, kind: kernel.ToolCall, target: "t", ruling: ruling}))
	w.do(&kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonClientCancelled})
	var log []link
	for _, r := range w.log {
		log = append(log, link{w.state.ID, *r.Event, []byte(r.Payload), r.Hash})
	}
	if at := intact(log); at >= 0 {
		t.Fatalf("an untouched log is broken at %d", at)
	}
	return log
}

// TestChainFlips flips every bit that a row has: each is noticed, where it is.
func TestChainFlips(t *testing.T) {
	t.Parallel()
	log := sample(t)
	tried := 0
	for i := range log {
		l := &log[i]
		e := &l.event
		for _, part := range []struct {
			name  string
			bytes []byte
		}{
			{"execution", l.execution.UUID[:]},
			{"id", e.ID.UUID[:]},
			{"cause", e.Cause.UUID[:]},
			{"ruled", e.Ruled[:]},
			{"digest", e.Digest[:]},
			{"body", e.Body},
			{"payload", l.payload},
			{"hash", l.hash[:]},
		} {
			for bit := range len(part.bytes) * 8 {
				part.bytes[bit/8] ^= 1 << (bit % 8)
				if at := intact(log); at != i {
					t.Fatalf("bit %d of the %s of event %d flipped: noticed at %d", bit, part.name, i+1, at)
				}
				part.bytes[bit/8] ^= 1 << (bit % 8)
				tried++
			}
		}
		for bit := range 64 {
			e.Seq ^= 1 << bit
			seq := intact(log)
			e.Seq ^= 1 << bit
			e.At ^= 1 << bit
			at := intact(log)
			e.At ^= 1 << bit
			if seq != i || at != i {
				t.Fatalf("bit %d of the seq or the time of event %d flipped: noticed at %d and %d", bit, i+1, seq, at)
			}
		}
	}
	if at := intact(log); at >= 0 || tried < 10_000 {
		t.Fatalf("after %d flips the log is broken at %d", tried, at)
	}
}

// TestChainOrder: an event that is missing, doubled, moved, of another type or
// of another execution is noticed, and an erased body is not missed.
func TestChainOrder(t *testing.T) {
	t.Parallel()
	log := sample(t)
	for i := range log {
		if i+1 < len(log) { // nothing tells of a missing end but the head that is kept elsewhere
			if at := intact(slices.Delete(slices.Clone(log), i, i+1)); at != i {
				t.Errorf("event %d removed: noticed at %d", i+1, at)
			}
			swapped := slices.Clone(log)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			if at := intact(swapped); at != i {
				t.Errorf("events %d and %d swapped: noticed at %d", i+1, i+2, at)
			}
		}
		if at := intact(slices.Insert(slices.Clone(log), i, log[i])); at != i+1 {
			t.Errorf("event %d doubled: noticed at %d", i+1, at)
		}
		erased := slices.Clone(log)
		erased[i].event.Body = nil
		if at := intact(erased); at != -1 {
			t.Errorf("body of event %d erased: the chain is broken at %d", i+1, at)
		}
		retyped := slices.Clone(log)
		retyped[i].event.Data = &kernel.ExecutionCompleted{}
		if intact(retyped) != i {
			t.Errorf("event %d is of another type now, and nobody noticed", i+1)
		}
	}
}

// TestChainScratch: what the scratch space held before does not matter.
func TestChainScratch(t *testing.T) {
	t.Parallel()
	e := &kernel.Event{Seq: 1, At: epoch, Data: &kernel.ExecutionCompleted{}}
	var fresh, used kernel.Chain
	used.Next(kernel.Digest{1}, kernel.ExecutionID{}, e, make([]byte, 10_000))
	got, want := used.Next(kernel.Digest{}, kernel.ExecutionID{}, e, []byte(`{}`)), fresh.Next(kernel.Digest{}, kernel.ExecutionID{}, e, []byte(`{}`))
	if got != want {
		t.Errorf("used scratch space gives %s, a fresh one %s", got, want)
	}
	if want := documentedHash(kernel.Digest{}, kernel.ExecutionID{}, e, "{}"); got != want {
		t.Errorf("got %s, want %s as documented", got, want)
	}
}
