package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/wire"
)

var sse = daemontest.Header("Accept", wire.ContentTypeEventStream)

// frames reads all of a text of Server-Sent Events.
func frames(t *testing.T, text string) (all []wire.Frame) {
	t.Helper()
	s := wire.NewScanner(strings.NewReader(text), 0)
	for s.Scan() {
		f := s.Frame()
		f.Data = append([]byte(nil), f.Data...)
		all = append(all, f)
	}
	if s.Err() != nil {
		t.Errorf("frames: %v", s.Err())
	}
	return all
}

func ids(all []wire.Frame) string {
	var out []string
	for _, f := range all {
		out = append(out, f.ID)
	}
	return strings.Join(out, " ")
}

// TestTailIsTheLog: frame by frame what a read of the log says, in the same
// bytes, also over the network.
func TestTailIsTheLog(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	run.Decide("/steps/"+run.Tool("t", `1`)+"/fail", `{"error":{"text":"two\nlines"}}`)
	run.Complete(`{ "a" : 1 }`)
	log := s.Send(http.MethodGet, run.Path("/events"), "", daemontest.Bearer(daemontest.Token)).Body
	a := s.Send(http.MethodGet, run.Path("/events"), "", daemontest.Bearer(daemontest.Token), sse)
	if a.Header.Get("Content-Type") != wire.ContentTypeEventStream || a.Header.Get("Cache-Control") == "" {
		t.Errorf("headers %v", a.Header)
	}
	var data []string
	for _, f := range frames(t, a.Body) {
		var e wire.Event
		if err := strict(f.Data, &e); err != nil || f.ID != strconv.FormatInt(e.EventSeq, 10) || f.Event != string(e.Type) {
			t.Errorf("frame id %s, event %s: %s (%v)", f.ID, f.Event, f.Data, err)
		}
		data = append(data, string(f.Data))
	}
	if diff := cmp.Diff(log, "["+strings.Join(data, ",")+"]"); diff != "" {
		t.Errorf("(-log +tail):\n%s", diff)
	}
}

// TestTailStarts after the place that is asked for, and ends with the event
// that ends the execution, whatever follows it in the log.
func TestTailStarts(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	over, open := b.create(), b.create()
	b.signal(over, `1`)
	b.cancel(over) // created, queued, signal, cancelled, discarded
	tail := func(id kernel.ExecutionID, query string, opts ...daemontest.Option) *reader {
		return b.open("/v0/executions/"+id.String()+"/events"+query, append(opts, sse)...)
	}
	last := func(id string) daemontest.Option { return daemontest.Header(wire.HeaderLastEventID, id) }
	for _, tt := range []struct {
		query string
		last  string
		want  string
	}{
		{"", "", "1 2 3 4"},
		{"?after_seq=0", "", "1 2 3 4"},
		{"?after_seq=2", "", "3 4"},
		{"?after_seq=4", "", "5"},
		{"?after_seq=5", "", ""},
		{"?after_seq=1000", "", ""},
		{"", "2", "3 4"},
		{"", "4", "5"},
		{"", "5", ""},
		{"?after_seq=1", "3", "4"},
		{"?after_seq=3", "1", "2 3 4"}, // a reconnection knows better than the URL that it was given
		{"?limit=1", "", "1 2 3 4"},
	} {
		if got := ids(frames(t, tail(over, tt.query, last(tt.last)).end())); got != tt.want {
			t.Errorf("%s, last %q: ids %s, want %s", tt.query, tt.last, got, tt.want)
		}
	}
	live := []*reader{tail(open, ""), tail(open, "?after_seq=2"), tail(open, "", last("3")), tail(open, "?after_seq=1000")}
	for _, r := range live {
		r.opened()
	}
	b.signal(open, `1`)
	b.signal(open, `2`)
	b.cancel(open)
	for i, want := range []string{"1 2 3 4 5", "3 4 5", "4 5", ""} {
		if got := ids(frames(t, live[i].end())); got != want {
			t.Errorf("live tail %d: ids %s, want %s", i, got, want)
		}
	}
	for _, bad := range []string{"x", "-1", "1.5"} {
		r := tail(open, "", last(bad))
		if r.end(); r.status != http.StatusBadRequest || !strings.Contains(r.text(), wire.HeaderLastEventID) {
			t.Errorf("Last-Event-ID %s: status %d: %s", bad, r.status, r.text())
		}
	}
}

// TestTailMissesNothing while many write and tails come at any moment.
func TestTailMissesNothing(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	id := b.create()
	const signals = 300
	var tails []*reader
	var written atomic.Int64
	wrote := make(chan struct{}, signals)
	go atOnce(signals, func(i int) {
		b.signal(id, fmt.Sprint(i))
		written.Add(1)
		wrote <- struct{}{}
	})
	for range signals {
		<-wrote
		if len(tails) < 15 && written.Load() > int64(len(tails))*signals/15 {
			tails = append(tails, b.open("/v0/executions/"+id.String()+"/events", sse))
		}
	}
	b.cancel(id)
	for i, r := range tails {
		all := frames(t, r.end())
		for n, f := range all {
			if f.ID != fmt.Sprint(n+1) {
				t.Fatalf("tail %d: id %s at %d", i, f.ID, n+1)
			}
		}
		if len(all) != signals+3 || all[len(all)-1].Event != string(wire.EventExecutionCancelled) {
			t.Errorf("tail %d: %d frames, want %d", i, len(all), signals+3)
		}
	}
}

// TestSlowTailCatchesUp: who falls behind the live events reads the log again.
func TestSlowTailCatchesUp(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	id := b.create()
	r := b.open("/v0/executions/"+id.String()+"/events", sse)
	r.until(func(s string) bool { return strings.Contains(s, "id: 2\n") })
	r.gate.Lock() // stuck
	const signals = 700
	atOnce(signals, func(i int) { b.signal(id, fmt.Sprint(i)) })
	r.gate.Unlock()
	b.cancel(id)
	all := frames(t, r.end())
	for n, f := range all {
		if f.ID != fmt.Sprint(n+1) {
			t.Fatalf("id %s at %d", f.ID, n+1)
		}
	}
	if len(all) != signals+3 {
		t.Errorf("%d frames, want %d", len(all), signals+3)
	}
}

// TestTailOfABurst: what is committed in one go, more of it than a subscriber
// has room for and nothing behind it, arrives to the end.
func TestTailOfABurst(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	for range 20 {
		id := b.create()
		r := b.open("/v0/executions/"+id.String()+"/events", sse)
		r.until(func(s string) bool { return strings.Contains(s, "id: 2\n") })
		release := b.hold()
		const signals = 300
		atOnce(signals, func(int) { b.signal(id, "1") })
		b.cancel(id)
		release()
		if all := frames(t, r.end()); len(all) != signals+3 {
			t.Fatalf("%d frames, want %d", len(all), signals+3)
		}
	}
}

// TestStreamsPing: a quiet stream is no dead one.
func TestStreamsPing(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{Ping: time.Millisecond})
	id := b.create().String()
	for _, path := range []string{"/v0/executions/" + id + "/events?after_seq=2", "/v0/executions/" + id + "/stream", "/v0/events"} {
		r := b.open(path, sse)
		text := r.until(func(s string) bool { return strings.Count(s, "\n\n") >= 3 })
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
			if !strings.HasPrefix(line, ":") {
				t.Errorf("%s: %q, want comments", path, line)
			}
		}
		r.leave()
		r.end()
	}
}

// TestStreamsEndWithTheServer, those that begin afterwards, too.
func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	id := b.create().String()
	paths := []string{"/v0/executions/" + id + "/events", "/v0/executions/" + id + "/stream", "/v0/events"}
	var open []*reader
	for _, path := range paths {
		r := b.open(path, sse)
		r.opened()
		open = append(open, r)
	}
	b.EndStreams()
	b.EndStreams() // may be said twice
	for _, r := range open {
		r.end()
	}
	for _, path := range paths {
		b.open(path, sse).end()
	}
	if n := b.hub.Subscribers(); n != 0 {
		t.Errorf("%d subscribers are left", n)
	}
}

// TestStreamLeavesNoDeadline: the connection of a stream that ended serves the
// next request as long as that takes.
func TestStreamLeavesNoDeadline(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	id := b.create()
	b.cancel(id)
	for _, path := range []string{"/events", "/stream"} {
		r := b.open("/v0/executions/"+id.String()+path, sse)
		if r.end(); !r.deadline.IsZero() {
			t.Errorf("%s: writes have to be done by %s", path, r.deadline)
		}
	}
}
