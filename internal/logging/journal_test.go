package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/logging"
	"github.com/agentkernel/kernelctl/internal/store"
)

var (
	execution = kernel.ExecutionID{UUID: kernel.UUID{1}}
	dispatch  = kernel.DispatchID{UUID: kernel.UUID{2}}
	approval  = kernel.ApprovalID{UUID: kernel.UUID{3}}
	stepID    = kernel.StepID{4}
	ref       = kernel.StepRef{Step: stepID, Kind: kernel.ToolCall, Target: "fs_write", Dispatch: dispatch, Attempt: 1}
)

func committed(events ...kernel.Data) []store.Committed {
	c := store.Committed{Execution: execution, Agent: "shell"}
	for i, d := range events {
		c.Records = append(c.Records, kernel.Record{Event: &kernel.Event{Seq: int64(i + 1), Data: d}})
	}
	return []store.Committed{c}
}

// written are the lines of what was committed, without their time.
func written(t *testing.T, level slog.Level, batches ...[]store.Committed) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	j := logging.NewJournal(logging.New(&out, logging.JSON, level))
	for _, b := range batches {
		j.Committed(b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Run writes what is queued and returns
	if err := j.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	for d := json.NewDecoder(&out); ; {
		var line map[string]any
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		lines = append(lines, line)
	}
}

func TestJournalTellsWhatAnOperatorWants(t *testing.T) {
	t.Parallel()
	got := written(t, slog.LevelInfo,
		committed(&kernel.ExecutionCreated{Agent: "shell"}, &kernel.DispatchQueued{Dispatch: dispatch}),
		committed(&kernel.StepProposed{StepRef: ref}, &kernel.StepAwaitingApproval{StepRef: ref, Rule: "look"},
			&kernel.ApprovalRequested{Approval: approval, Step: stepID, Rule: "look"},
			&kernel.ExecutionBlocked{Reason: kernel.BlockedOnApproval, Step: stepID, Approval: approval}),
		committed(&kernel.DeliveryFailed{Dispatch: dispatch, Attempt: 1, Status: kernel.DispatchFailed, Error: kernel.ReasonLeaseLapsed}),
	)
	about := func(seq int, level, msg string, more map[string]any) map[string]any {
		line := map[string]any{
			"level": level, "msg": msg, "execution_id": execution.String(), "agent_id": "shell", "event_seq": float64(seq),
		}
		for k, v := range more {
			line[k] = v
		}
		return line
	}
	want := []map[string]any{
		about(1, "INFO", "execution created", nil),
		about(3, "INFO", "approval requested", map[string]any{
			"approval_id": approval.String(), "step_id": stepID.String(), "rule_id": "look", "timeout_at": kernel.Instant(0).String(),
		}),
		about(4, "INFO", "execution blocked", map[string]any{
			"reason": "approval", "approval_id": approval.String(), "step_id": stepID.String(),
		}),
		about(1, "WARN", "dispatch failed", map[string]any{
			"dispatch_id": dispatch.String(), "attempt": 1.0, "status": "failed", "error": "lease_lapsed",
		}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// everything is one event of each type.
func everything() []store.Committed {
	return committed(&kernel.ExecutionCreated{}, &kernel.ExecutionStarted{}, &kernel.ExecutionBlocked{Reason: kernel.BlockedOnSignal},
		&kernel.ExecutionResumed{}, &kernel.ExecutionCompleted{}, &kernel.ExecutionFailed{}, &kernel.ExecutionCancelled{},
		&kernel.DispatchQueued{}, &kernel.DispatchAcked{}, &kernel.DeliveryFailed{}, &kernel.DeliveryDiscarded{},
		&kernel.StepProposed{StepRef: ref}, &kernel.StepAllowed{StepRef: ref}, &kernel.StepDenied{StepRef: ref},
		&kernel.StepAwaitingApproval{StepRef: ref}, &kernel.StepRateLimited{StepRef: ref}, &kernel.StepExecuting{StepRef: ref},
		&kernel.StepSucceeded{StepRef: ref}, &kernel.StepFailed{StepRef: ref}, &kernel.StepCancelled{StepRef: ref},
		&kernel.ApprovalRequested{}, &kernel.ApprovalGranted{}, &kernel.ApprovalDenied{}, &kernel.ApprovalExpired{},
		&kernel.SignalReceived{})
}

func TestJournalKnowsEveryEvent(t *testing.T) {
	t.Parallel()
	got := written(t, slog.LevelDebug, everything())
	types := kernel.EventTypes()
	if len(got) != len(types) {
		t.Fatalf("%d lines for %d events", len(got), len(types))
	}
	for i, typ := range types {
		line := got[i]
		want := strings.NewReplacer(".", " ", "_", " ").Replace(typ.String())
		if line["msg"] != want || line["execution_id"] != execution.String() || line["agent_id"] != "shell" {
			t.Errorf("line of %s: %v", typ, line)
		}
		if strings.HasPrefix(typ.String(), "step.") && line["step_id"] != stepID.String() {
			t.Errorf("line of %s does not name the step: %v", typ, line)
		}
	}
}

func TestJournalIsQuietAboveItsLevel(t *testing.T) {
	t.Parallel()
	if got := written(t, slog.LevelError, everything()); len(got) != 0 {
		t.Errorf("lines at error: %v", got)
	}
	if got := written(t, slog.LevelWarn, everything()); len(got) != 1 {
		t.Errorf("lines at warn: %v, want only dispatch failed", got)
	}
}

func TestJournalNeverBlocks(t *testing.T) {
	t.Parallel()
	const many = 2000 // more than wait
	batches := make([][]store.Committed, many)
	for i := range batches {
		batches[i] = committed(&kernel.ExecutionCreated{})
	}
	got := written(t, slog.LevelInfo, batches...)
	if len(got) < 2 || len(got) >= many {
		t.Fatalf("%d lines of %d events, want some lost", len(got), many)
	}
	lost := 0.0
	kept := 0
	for _, line := range got {
		if line["level"] == "WARN" {
			lost += line["events"].(float64)
		} else {
			kept++
		}
	}
	if kept+int(lost) != many {
		t.Errorf("%d written and %v said to be lost, want %d together", kept, lost, many)
	}
}

func TestJournalCostsNothingWhenOff(t *testing.T) { // counts allocations: not parallel
	j := logging.NewJournal(logging.New(io.Discard, logging.JSON, slog.LevelInfo))
	progress := committed(&kernel.StepProposed{StepRef: ref}, &kernel.StepAllowed{StepRef: ref}, &kernel.StepExecuting{StepRef: ref})
	if n := testing.AllocsPerRun(100, func() { j.Committed(progress) }); n != 0 {
		t.Errorf("%v allocations for events without a line, want 0", n)
	}
}
