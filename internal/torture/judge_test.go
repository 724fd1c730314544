package torture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/torture"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TestJudge changes what is shown of an acknowledged execution in every way
// that a lost or changed write would.
func TestJudge(t *testing.T) {
	t.Parallel()
	event := func(seq int64, kind wire.EventType, payload string) wire.Event {
		return wire.Event{EventSeq: seq, Type: kind, Payload: []byte(payload)}
	}
	type record struct {
		execution wire.Execution
		steps     []wire.Step
		events    []wire.Event
	}
	const started = `{"step_id":"s","dispatch_id":"d","attempt":1}`
	for name, c := range map[string]struct {
		change func(*record)
		want   string
	}{
		"nothing":            {func(*record) {}, ""},
		"input":              {func(r *record) { r.execution.Input = []byte(`{"other":1}`) }, "has input"},
		"output":             {func(r *record) { r.execution.Output = []byte(`2`) }, "ended as completed"},
		"status":             {func(r *record) { r.execution.Status = wire.ExecutionFailed }, "ended as completed"},
		"step gone":          {func(r *record) { r.steps = nil }, "is not there"},
		"step undone":        {func(r *record) { r.steps[0].Status, r.steps[0].Result = wire.StepExecuting, nil }, "came to succeeded"},
		"result":             {func(r *record) { r.steps[0].Result = []byte(`"other"`) }, "came to succeeded"},
		"args":               {func(r *record) { r.steps[0].Args = []byte(`2`) }, "has args"},
		"denied after all":   {func(r *record) { r.steps[0].Status = wire.StepDenied }, "was let go on"},
		"a gap in the log":   {func(r *record) { r.events[2].EventSeq = 4 }, "is at place 3"},
		"the end of the log": {func(r *record) { r.events = r.events[:2] }, "shows 2"},
		"started twice":      {func(r *record) { r.events[2] = event(3, wire.EventStepExecuting, started) }, "starts step s again"},
		"started by another": {func(r *record) {
			r.events[2] = event(3, wire.EventStepExecuting, strings.Replace(started, "1}", "2}", 1))
		}, "starts step s again"},
		"something at the end": {func(r *record) { r.events = append(r.events, event(4, wire.EventStepFailed, "{}")) }, "after the end"},
	} {
		r := record{
			execution: wire.Execution{Status: wire.ExecutionCompleted, Input: []byte(`{}`), Output: []byte(`1`), LastEventSeq: 3},
			steps:     []wire.Step{{StepID: "s", Status: wire.StepSucceeded, Args: []byte(`1`), Result: []byte(`"r"`)}},
			events: []wire.Event{
				event(1, wire.EventStepProposed, `{"step_id":"s","idempotency":"at_most_once"}`), event(2, wire.EventStepExecuting, started),
				event(3, wire.EventExecutionCompleted, `{}`),
			},
		}
		c.change(&r)
		wrong := strings.Join(torture.Acknowledged(`{}`, "s", `1`, `"r"`, `1`).Shown(r.execution, r.steps, r.events), "; ")
		if c.want == "" && wrong != "" || !strings.Contains(wrong, c.want) {
			t.Errorf("%s: %q, want %q", name, wrong, c.want)
		}
	}
}

func TestMayBeGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		alive, lasted, retention time.Duration
		want                     bool
	}{
		{time.Minute, 2 * time.Minute, time.Second, true},
		{time.Minute, time.Second, 30 * time.Second, true}, // older than the life
		{time.Minute, 2 * time.Minute, 0, false},           // kept for ever
		{time.Second, 2 * time.Minute, time.Minute, false}, // too young
		{-time.Second, 2 * time.Minute, time.Second, false},
	} {
		if got := torture.MayBeGone(c.alive, c.lasted, c.retention); got != c.want {
			t.Errorf("alive %s before the end of a life of %s with retention %s: %v, want %v", c.alive, c.lasted, c.retention, got, c.want)
		}
	}
}

func TestTrend(t *testing.T) {
	t.Parallel()
	steady, rising, spiky, falling := make([]float64, 100), make([]float64, 100), make([]float64, 100), make([]float64, 100)
	for i := range steady {
		steady[i] = 100 + float64(i%3)
		rising[i] = 100 + float64(i)
		spiky[i] = 100 + 900*float64(i%10/9)
		falling[i] = 500 - float64(i)
	}
	for name, c := range map[string]struct {
		of     string
		values []float64
		want   bool
	}{
		"steady":            {"goroutines", steady, true},
		"rising":            {"goroutines", rising, false},
		"spiky":             {"goroutines", spiky, true},
		"falling":           {"goroutines", falling, true},
		"steps that fall":   {"steps_per_second", falling, false},
		"steps that rise":   {"steps_per_second", rising, true},
		"steps that do not": {"steps_per_second", steady, true},
		"one sample":        {"rss_bytes", steady[:1], true},
	} {
		if got := torture.Flat(c.of, c.values); got.Flat != c.want {
			t.Errorf("%s: %+v, want flat %v", name, got, c.want)
		}
	}
}
