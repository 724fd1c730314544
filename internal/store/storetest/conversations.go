package storetest

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// conversation is what an agent sends to a model at its n-th call: everything
// said so far, size bytes more each time, which repeat nothing.
func conversation(n, size int) string {
	r := rand.New(rand.NewPCG(uint64(size), 1)) //nolint:gosec // the same text every time
	var b strings.Builder
	b.WriteString(`{"messages":[""`)
	for range n {
		b.WriteString(`,"`)
		for range size / 8 {
			b.WriteString(strconv.FormatUint(r.Uint64()|1<<60, 36)[:8])
		}
		b.WriteByte('"')
	}
	return b.String() + `],"model":"m-1"}`
}

// talks is an execution whose bodies repeat each other.
func (w *world) talks() {
	m := w.create(creation{input: conversation(2, 1200)})
	h := w.start(m)
	for n := 2; n < 5; n++ {
		out := w.submit(m, submission{caller: h, kind: kernel.LLMCall, target: "m-1", args: conversation(n, 1200)})
		w.finish(m, h, out.Answer.Step, true, `"ok"`)
	}
}

// testConversations stores bodies that repeat each other, across stops of every
// kind, and gets the very same bytes back.
func testConversations(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer func() { w.close() }()
	m := w.create(creation{input: conversation(3, 1000)})
	h := w.start(m)
	call := func(n int) {
		t.Helper()
		out := w.submit(m, submission{caller: h, kind: kernel.LLMCall, target: "m-1", args: conversation(n, 1000)})
		w.finish(m, h, out.Answer.Step, n%3 > 0, conversation(n/2, 900))
	}
	for n := range 10 {
		call(n)
	}
	w.check()
	w.restart()
	for n := 10; n < 15; n++ {
		call(n)
	}
	w.check()
	w.kill()
	w.advance(leaseTimeout + leaseTimeout)
	w.do(m, &kernel.LapseLease{MaxAttempts: maxAttempts})
	h = w.start(m)
	call(3) // a replay
	for n := 15; n < 20; n++ {
		call(n)
	}
	w.signal(m, "go", conversation(4, 1000), "")
	w.complete(m, h, conversation(20, 1000))
	w.check()
	w.verify()
	w.restart()
	w.check()
}

// testInterleavedConversations has one execution hold several at once.
func testInterleavedConversations(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer func() { w.close() }()
	m, other := w.create(creation{}), w.create(creation{})
	h, g := w.start(m), w.start(other)
	for n := 3; n < 9; n++ {
		for size := 1000; size < 1006; size++ { // more than are kept of an execution
			w.submit(m, submission{caller: h, kind: kernel.LLMCall, target: "m-1", args: conversation(n, size)})
		}
		w.submit(other, submission{caller: g, kind: kernel.LLMCall, target: "m-1", args: conversation(n, 1000)})
	}
	w.check()
	w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
	w.do(other, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
	w.check()
	w.verify()
}
