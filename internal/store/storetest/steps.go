package storetest

import (
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// testGatedWait starts and ends a step that is not new in one operation: a
// wait that a person allowed, and whose signal is there already.
func testGatedWait(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.create(creation{})
	wait := submission{caller: w.start(m), signal: "go", ruling: kernel.Ruling{Rule: "ask", Action: kernel.RequireApproval}}
	w.submit(m, wait)
	w.check()
	w.signal(m, "go", `{"n":1}`, "")
	w.decide(m, kernel.ApprovalStatusGranted, "alice", "")
	w.check()
	wait.caller = w.claim(m)
	if out := w.submit(m, wait); out.Answer.Decision != kernel.Replay {
		t.Fatalf("the wait: %+v, want its signal", out.Answer)
	}
	w.check()
	w.restart()
	w.check()
}
