package tui

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TestAgainstARealService runs the program against a real service and an agent
// that works meanwhile: live output, an approval that comes in, its grant, and
// the loss of the service.
func TestAgainstARealService(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{})
	writer := s.Agent("writer")
	writer.Policy("default_action: allow\nrules:\n  - id: mail\n    when: {target: send_email}\n    then: {decision: require_approval}\n")
	run := writer.Start(`"input":{"task":"write"}`)
	draft := run.Tool("draft", `{}`)

	c, err := client.New(s.Base, client.Options{Token: daemontest.Token})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewModel(t.Context(), Place{Client: c, By: "alice"}, Options{Theme: "mono"}, true)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, m, 140, 40)
	r.shows("Nothing waits for you. 1 running.", nil)
	r.typed(":")
	for _, c := range "open " + run.ExecutionID {
		r.typed(string(c))
	}
	r.typed("enter")
	r.shows("step.executing", nil)
	r.typed("o")
	// Deltas are not stored: they are told until somebody listens.
	seq := 0
	delta := func(text string) {
		run.Must("/steps/"+draft+"/stream", fmt.Sprintf(`{"seq":%d,"data":%q}`, seq, text), http.StatusNoContent)
		seq++
	}
	r.shows("Dear board", func() { delta("Dear board\n") })
	seq += 4
	delta("of today")
	r.shows("[lost 4]", nil)

	run.Result(draft, `{"text":"Dear board"}`)
	if d := run.Submit(wire.KindToolCall, "send_email", `{"to":"board@example.com"}`); d.Decision != wire.DecisionBlocked {
		t.Fatalf("the mail is %s", d.Decision)
	}
	r.typed("1")
	r.shows("board@example.com", nil)
	r.typed("g")
	r.shows("GRANT", nil)
	r.shows("granted by alice", func() { r.typed("enter") }) // those of the first 0.3 s are dropped
	events := s.Await(run.ExecutionID, wire.EventApprovalGranted)
	if got := events[len(events)-1]; !bytes.Contains(got.Payload, []byte(`"decided_by":"alice"`)) {
		t.Errorf("granted as %s", got.Payload)
	}

	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	r.shows("connection refused", nil)
	r.typed("ctrl+c")
	r.quits()
	m.life.wg.Wait()
}
