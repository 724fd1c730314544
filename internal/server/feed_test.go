package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TestFeed: every event of every execution from now on, as filtered, in the
// frames of a tail.
func TestFeed(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	if _, err := b.engine.RegisterAgent(t.Context(), store.AgentSpec{ID: "b", WebhookURL: "http://127.0.0.1:9/", Secret: "s"}); err != nil {
		t.Fatal(err)
	}
	b.create() // before: nobody sees it
	feeds := map[string]*reader{}
	for _, query := range []string{"", "?agent_id=a", "?agent_id=nobody", "?type=signal.", "?type=execution.c&agent_id=a", "?type=nothing"} {
		feeds[query] = b.open("/v0/events"+query, sse)
		feeds[query].opened()
	}
	id := b.create()
	b.signal(id, `{"x": 1}`)
	other := b.createFor("b")
	b.cancel(id)
	b.cancel(other) // the last event is discarded of b
	until := func(query, last string, n int) string {
		return feeds[query].until(func(s string) bool { return strings.Count(s, "event: "+last+"\n") == n })
	}
	want := map[string]string{
		"":                             "1 execution.created,2 dispatch.queued,3 signal.received,1 execution.created,2 dispatch.queued,4 execution.cancelled,5 dispatch.discarded,3 execution.cancelled,4 dispatch.discarded",
		"?agent_id=a":                  "1 execution.created,2 dispatch.queued,3 signal.received,4 execution.cancelled,5 dispatch.discarded",
		"?agent_id=nobody":             "",
		"?type=signal.":                "3 signal.received",
		"?type=execution.c&agent_id=a": "1 execution.created,4 execution.cancelled",
		"?type=nothing":                "",
	}
	all := until("", "dispatch.discarded", 2)
	until("?agent_id=a", "dispatch.discarded", 1)
	until("?type=signal.", "signal.received", 1)
	until("?type=execution.c&agent_id=a", "execution.cancelled", 1)
	b.EndStreams()
	for query, r := range feeds {
		var got []string
		for _, f := range frames(t, r.end()) {
			got = append(got, f.ID+" "+f.Event)
		}
		if diff := cmp.Diff(want[query], strings.Join(got, ",")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for _, f := range frames(t, all) {
		var e wire.Event
		if err := strict(f.Data, &e); err != nil || string(e.Type) != f.Event {
			t.Errorf("%s: %v", f.Data, err)
		}
	}
}

// TestFeedTellsWhoLags: a reader that falls behind is told, and goes on.
func TestFeedTellsWhoLags(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	r := b.open("/v0/events", sse)
	r.opened()
	event := kernel.Event{Seq: 1, At: 1, Data: &kernel.ExecutionStarted{Attempt: 1}}
	publish := func(n int) {
		for range n {
			b.hub.Committed([]store.Committed{{Agent: "a", Records: []kernel.Record{{Event: &event, Payload: `{}`}}}})
		}
	}
	r.gate.Lock()
	publish(20_000)
	r.gate.Unlock()
	r.until(func(s string) bool { return strings.Contains(s, "event: lagged\ndata: {}\n\n") })
	before := len(frames(t, r.text()))
	publish(1)
	r.until(func(s string) bool { return len(frames(t, s)) > before })
	r.leave()
	r.end()
}

// TestFeedOnlyStreams: there is no list behind it.
func TestFeedOnlyStreams(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	for _, accept := range []string{"application/json", "text/html"} {
		r := b.open("/v0/events", daemontest.Header("Accept", accept))
		if r.end(); r.status != http.StatusBadRequest {
			t.Errorf("Accept %s: status %d", accept, r.status)
		}
	}
	for _, accept := range []string{"", "*/*", "text/event-stream", "text/event-stream, application/json;q=0.5"} {
		r := b.open("/v0/events", daemontest.Header("Accept", accept))
		r.opened()
		if r.leave(); r.status != http.StatusOK {
			t.Errorf("Accept %q: status %d", accept, r.status)
		}
		r.end()
	}
}

// TestDeltas: in order, to all who listen, and the end to everybody.
func TestDeltas(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	step := run.Tool("t", "1")
	listen := func() *http.Response {
		return s.Open(t.Context(), http.MethodGet, run.Path("/stream"), "", daemontest.Bearer(daemontest.Token))
	}
	readers := []*http.Response{listen(), listen()}
	run.Must("/steps/"+step+"/stream", `{"seq":0,"data":""}`, http.StatusNoContent)
	run.Must("/steps/"+step+"/stream", `{"seq":1,"data":"a\r\n\u0000<&> ä\u2028"}`, http.StatusNoContent)
	run.Must("/steps/"+step+"/stream", `{"seq":9223372036854775807,"data":"`+strings.Repeat("x", 7000)+`"}`, http.StatusNoContent)
	if a := s.Send(http.MethodPost, run.Path("/steps/"+step+"/stream"), `{"seq":2,"data":"no headers"}`, daemontest.Signed("owner", "secret of owner")); a.Status != http.StatusNoContent {
		t.Errorf("without dispatch headers: status %d: %s", a.Status, a.Body)
	}
	run.Result(step, "1")
	if a := run.Post("/steps/"+step+"/stream", `{"seq":3,"data":"late"}`); a.Code() != wire.CodeConflict {
		t.Errorf("a delta of a step that has ended: status %d: %s", a.Status, a.Body)
	}
	open := run.Tool("left open", "1")
	run.Complete("1")
	for id, code := range map[string]wire.ErrorCode{step: wire.CodeConflict, open: wire.CodeExecutionTerminal, strings.Repeat("0", 64): wire.CodeNotFound} {
		if a := run.Post("/steps/"+id+"/stream", `{"seq":3,"data":"late"}`); a.Code() != code {
			t.Errorf("a delta after the end: status %d, want code %q: %s", a.Status, code, a.Body)
		}
	}
	want := []wire.StreamDelta{
		{StepID: step, Seq: 0, Data: ""},
		{StepID: step, Seq: 1, Data: "a\r\n\x00<&> ä\u2028"},
		{StepID: step, Seq: 9223372036854775807, Data: strings.Repeat("x", 7000)},
		{StepID: step, Seq: 2, Data: "no headers"},
	}
	for _, resp := range append(readers, listen()) { // the last comes when all is over
		defer resp.Body.Close()
		var got []wire.StreamDelta
		var end wire.StreamEnd
		scanner := wire.NewScanner(resp.Body, 0)
		for scanner.Scan() {
			f := scanner.Frame()
			var d wire.StreamDelta
			var err error
			switch f.Event {
			case "":
				err = strict(f.Data, &d)
				got = append(got, d)
			case wire.SSEEnd:
				err = strict(f.Data, &end)
			default:
				err = fmt.Errorf("event %q", f.Event)
			}
			if err != nil {
				t.Errorf("%s: %v", f.Data, err)
			}
		}
		if end.Status != wire.ExecutionCompleted || scanner.Err() != nil {
			t.Errorf("end %s, %v", daemontest.JSON(end), scanner.Err())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		want = nil
		if resp == readers[0] {
			want = got
		}
	}
	for _, e := range s.Events(run.ExecutionID) {
		if strings.Contains(string(e.Payload), "xxxx") {
			t.Errorf("a delta is in the log: %s", e.Payload)
		}
	}
}

// TestSlowDeltaReader loses deltas, and sees the gap; who publishes never waits.
func TestSlowDeltaReader(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	id := b.create()
	r := b.open("/v0/executions/" + id.String() + "/stream")
	r.opened()
	r.gate.Lock()
	const n = 2000
	for i := range n {
		b.hub.Publish(id, stream.Delta{Seq: int64(i), Data: "x"})
	}
	r.gate.Unlock()
	b.cancel(id)
	last, got := int64(-1), 0
	for _, f := range frames(t, r.end()) {
		if f.Event == wire.SSEEnd {
			continue
		}
		var d wire.StreamDelta
		if err := strict(f.Data, &d); err != nil || d.Seq <= last {
			t.Fatalf("%s after seq %d: %v", f.Data, last, err)
		}
		last = d.Seq
		got++
	}
	if got < 256 || got == n {
		t.Errorf("%d deltas, want at least a buffer and not all", got)
	}
	if !strings.HasSuffix(r.text(), "event: end\ndata: {\"status\":\"cancelled\"}\n\n") {
		t.Errorf("no end: %.200q", r.text())
	}
}
