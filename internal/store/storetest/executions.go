package storetest

import (
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// testExecutions walks an execution through its life.
func testExecutions(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.create(creation{labels: map[string]string{"env": "prod"}, input: `{"n":1}`})
	w.check()
	h := w.start(m)
	w.check()
	step := w.submit(m, submission{caller: h, kind: kernel.LLMCall, args: `{"q":1}`}).Answer.Step
	w.check()
	w.finish(m, h, step, true, `{"ok":true}`)
	w.check()
	w.complete(m, h, `{"done":1}`)
	w.check()
}
