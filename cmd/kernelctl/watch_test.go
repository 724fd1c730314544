package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func (w *watched) execution() (x wire.Execution) {
	w.t.Helper()
	line, ok := w.next()
	if !ok {
		w.t.Fatalf("the command ended; stderr:\n%s", w.stderr)
	}
	if err := json.Unmarshal([]byte(line), &x); err != nil {
		w.t.Fatal(err)
	}
	return x
}

// A list that is watched shows each change of what it lists, to the end.
func TestListWatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.create(`{"do":[{"wait":"go"}]}`)
	w := p.watch("executions", "list", "-w", "-o", "jsonl")
	for x := w.execution(); x.Status != wire.ExecutionBlocked; x = w.execution() {
		if x.ID != first.ID {
			t.Fatalf("a line about %s", x.ID)
		}
	}
	second := p.create(`{}`)
	seen := map[string]wire.ExecutionStatus{}
	for seen[second.ID] != wire.ExecutionCompleted {
		x := w.execution()
		seen[x.ID] = x.Status
	}
	p.must(p.client.CancelExecution(t.Context(), first.ID))
	for seen[first.ID] != wire.ExecutionCancelled {
		x := w.execution()
		seen[x.ID] = x.Status
	}
	p.must(w.cmd.Process.Signal(os.Interrupt))
	if got := w.exit(); got != 130 {
		t.Errorf("exit code %d", got)
	}
}

// A get that is watched shows each status, and gives the exit code of the end.
func TestGetWatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.create(`{"do":[{"wait":"go"}],"fail":"boom"}`)
	w := p.watch("executions", "get", x.ID, "-w", "-o", "go-template={{.status}}")
	var got []string
	for line, ok := w.next(); ok; line, ok = w.next() {
		if len(got) == 0 || got[len(got)-1] != line {
			got = append(got, line)
		}
		if line == string(wire.ExecutionBlocked) {
			_, err := p.client.SendSignal(t.Context(), x.ID, wire.Signal{SignalType: "go"}, "")
			p.must(err)
		}
	}
	if code := w.exit(); code != 10 {
		t.Errorf("exit code %d, want 10; stderr:\n%s", code, w.stderr)
	}
	want := []string{"blocked", "running", "failed"}
	if diff := cmp.Diff(want, got[max(len(got)-3, 0):]); diff != "" {
		t.Errorf("statuses %v (-want +got):\n%s", got, diff)
	}
}

// The events of all executions, filtered here and by the service.
func TestTailAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	w := p.watch("events", "tail", "--agent", "demo", "--type", "execution.c*", "-o", "go-template={{.type}} {{.execution_id}}", "-v")
	w.said("text/event-stream")
	x := p.create(`{}`)
	for _, want := range []string{"execution.created", "execution.completed"} {
		if line, _ := w.next(); line != want+" "+x.ID {
			t.Errorf("line %q, want %s of %s", line, want, x.ID)
		}
	}
	p.must(w.cmd.Process.Signal(os.Interrupt))
	if got := w.exit(); got != 130 {
		t.Errorf("exit code %d", got)
	}
}

// A command is run for each approval that comes, with the approval as its input
// and nothing of the agent's on its command line.
func TestApprovalHook(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(p.client.LoadPolicy(t.Context(), "demo", mailPolicy))
	w := p.watch("approvals", "watch", "--exec", `echo "hook {id} $KERNELCTL_TARGET $(grep -c '"status":"pending"')" >&2`, "-o", "name")
	p.create(`{"do":[{"tool":"send_email","args":"$(touch pwned)"}]}`)
	line, _ := w.next()
	id := strings.TrimPrefix(line, "approval/")
	w.said("hook " + id + " send_email 1")
	p.must(p.client.DenyApproval(t.Context(), id, wire.DecideApproval{DecidedBy: "alice"}))
	if again, _ := w.next(); again != line {
		t.Errorf("line %q, want %q again", again, line)
	}
	p.must(w.cmd.Process.Signal(os.Interrupt))
	if got := w.exit(); got != 130 || strings.Count(w.stderr.String(), "hook ") != 1 {
		t.Errorf("exit code %d; stderr:\n%s", got, w.stderr)
	}
}
