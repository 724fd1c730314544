package tui

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"

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
	tm := teatest.NewTestModel(t, m, teatest.WithInitialTermSize(140, 40))
	// shows waits for a text; try is called again and again meanwhile.
	shows := func(want string, try func()) {
		t.Helper()
		teatest.WaitFor(t, tm.Output(), func(b []byte) bool {
			if bytes.Contains(b, []byte(want)) {
				return true
			}
			if try != nil {
				try()
			}
			return false
		}, teatest.WithDuration(20*time.Second), teatest.WithCheckInterval(alone+60*time.Millisecond))
	}
	shows("Nothing waits for you. 1 running.", nil)
	tm.Type(":open " + run.ExecutionID)
	tm.Send(tea.KeyMsg{Type: tea.KeyEnter})
	shows("step.executing", nil)
	tm.Type("o")
	// Deltas are not stored: they are told until somebody listens.
	seq := 0
	delta := func(text string) {
		run.Must("/steps/"+draft+"/stream", fmt.Sprintf(`{"seq":%d,"data":%q}`, seq, text), http.StatusNoContent)
		seq++
	}
	shows("Dear board", func() { delta("Dear board\n") })
	seq += 4
	delta("of today")
	shows("[lost 4]", nil)

	run.Result(draft, `{"text":"Dear board"}`)
	if d := run.Submit(wire.KindToolCall, "send_email", `{"to":"board@example.com"}`); d.Decision != wire.DecisionBlocked {
		t.Fatalf("the mail is %s", d.Decision)
	}
	tm.Type("1")
	shows("board@example.com", nil)
	tm.Type("g")
	shows("GRANT", nil)
	shows("granted by alice", func() { tm.Send(tea.KeyMsg{Type: tea.KeyEnter}) }) // those of the first 0.3 s are dropped
	events := s.Await(run.ExecutionID, wire.EventApprovalGranted)
	if got := events[len(events)-1]; !bytes.Contains(got.Payload, []byte(`"decided_by":"alice"`)) {
		t.Errorf("granted as %s", got.Payload)
	}

	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	shows("connection refused", nil)
	tm.Send(tea.KeyMsg{Type: tea.KeyCtrlC})
	tm.FinalModel(t, teatest.WithFinalTimeout(20*time.Second))
	m.life.wg.Wait()
}
