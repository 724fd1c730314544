package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// collect tails to the end and gives the numbers of the events and what was
// told of the connection.
func collect(t *testing.T, c *client.Client, o client.TailOptions) (seqs []int64, links []string, err error) {
	t.Helper()
	o.Link = func(l client.Link) {
		state := "down"
		if l.Up {
			state = "up"
		} else if l.Err == nil || l.Retry <= 0 || l.Attempt < 1 {
			t.Errorf("down without a reason or a next try: %+v", l)
		}
		links = append(links, fmt.Sprintf("%s@%d", state, l.AfterSeq))
	}
	err = c.TailEvents(context.Background(), execID, o, func(e wire.Event) error {
		seqs = append(seqs, e.EventSeq)
		return nil
	})
	return seqs, links, err
}

func upTo(n int64) (seqs []int64) {
	for i := int64(1); i <= n; i++ {
		seqs = append(seqs, i)
	}
	return seqs
}

// A connection that breaks in the middle of a frame, a service that is away for
// a while, and a stream that ends early: no event is lost, none comes twice.
func TestTailEventsResumes(t *testing.T) {
	t.Parallel()
	const last = 9
	var n atomic.Int32
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v0/executions/"+execID {
			answer(w, 200, wire.Execution{ID: execID, Status: wire.ExecutionRunning, LastEventSeq: 5})
			return
		}
		after, _ := strconv.ParseInt(r.URL.Query().Get("after_seq"), 10, 64)
		if id := r.Header.Get("Last-Event-ID"); after > 0 && id != strconv.FormatInt(after, 10) {
			t.Errorf("after_seq %d, Last-Event-ID %q", after, id)
		}
		switch n.Add(1) {
		case 1:
			s := startSSE(w)
			s.event(event(1, last))
			s.event(event(2, last))
			s.cut()
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			fail(w, wire.CodeUnavailable, "starting")
		case 4:
			s := startSSE(w)
			for seq := after; seq <= 5; seq++ { // one that was there already
				s.event(event(seq, last))
			}
		default:
			s := startSSE(w)
			for seq := after + 1; seq <= last; seq++ {
				s.event(event(seq, last))
			}
			<-r.Context().Done()
		}
	})
	seqs, links, err := collect(t, c, client.TailOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(upTo(last), seqs); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := []string{"up@0", "down@2", "down@2", "down@2", "up@2", "down@5", "up@5"}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("connection (-want +got):\n%s", diff)
	}
}

// What a stream leaves out is fetched before it goes on.
func TestTailEventsFillsGaps(t *testing.T) {
	t.Parallel()
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != wire.ContentTypeEventStream {
			answer(w, 200, []wire.Event{event(2, 5), event(3, 5), event(4, 5)})
			return
		}
		s := startSSE(w)
		s.event(event(1, 5))
		s.event(event(4, 5))
		s.event(event(5, 5))
	})
	seqs, _, err := collect(t, c, client.TailOptions{})
	if diff := cmp.Diff(upTo(5), seqs); err != nil || diff != "" {
		t.Errorf("%v; events (-want +got):\n%s", err, diff)
	}
}

// A tail that begins behind the end stops by itself.
func TestTailEventsAfterTheEnd(t *testing.T) {
	t.Parallel()
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v0/executions/"+execID:
			answer(w, 200, wire.Execution{ID: execID, Status: wire.ExecutionFailed, LastEventSeq: 5})
		case r.Header.Get("Accept") == wire.ContentTypeEventStream:
			startSSE(w)
		default:
			answer(w, 200, []wire.Event{})
		}
	})
	seqs, _, err := collect(t, c, client.TailOptions{AfterSeq: 5})
	if err != nil || len(seqs) != 0 {
		t.Errorf("TailEvents = %v, %v; want nothing, no error", seqs, err)
	}
}

// A service without streams is asked again and again.
func TestTailEventsPolls(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v0/executions/"+execID {
			x := wire.Execution{ID: execID, Status: wire.ExecutionRunning, LastEventSeq: 1 << 40}
			answer(w, 200, x)
			return
		}
		after, _ := strconv.ParseInt(r.URL.Query().Get("after_seq"), 10, 64)
		page := []wire.Event{}
		if asked.Add(1)%3 == 0 {
			page = append(page, event(after+1, 4))
		}
		answer(w, 200, page)
	})
	seqs, _, err := collect(t, c, client.TailOptions{})
	if diff := cmp.Diff(upTo(4), seqs); err != nil || diff != "" {
		t.Errorf("%v; events (-want +got):\n%s", err, diff)
	}
}

func TestTailEventsStops(t *testing.T) {
	t.Parallel()
	for _, code := range []wire.ErrorCode{wire.CodeUnauthorized, wire.CodeForbidden, wire.CodeNotFound, wire.CodeValidation} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) { fail(w, code, "no") })
			if _, _, err := collect(t, c, client.TailOptions{}); client.CodeOf(err) != code {
				t.Errorf("TailEvents = %v, want %s", err, code)
			}
		})
	}
	forever := func(w http.ResponseWriter, r *http.Request) {
		startSSE(w).event(event(1, 9))
		<-r.Context().Done()
	}
	t.Run("reader", func(t *testing.T) {
		t.Parallel()
		mine := errors.New("mine")
		c := serve(t, fast(), forever)
		err := c.TailEvents(context.Background(), execID, client.TailOptions{}, func(wire.Event) error { return mine })
		if !errors.Is(err, mine) {
			t.Errorf("TailEvents = %v, want the reader's error", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		t.Parallel()
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(context.Background())
		c := serve(t, fast(), forever)
		err := c.TailEvents(ctx, execID, client.TailOptions{}, func(wire.Event) error { cancel(mine); return nil })
		if !errors.Is(err, mine) {
			t.Errorf("TailEvents = %v, want the cause", err)
		}
	})
}

// A connection over which nothing comes, not even a comment, is given up.
func TestTailEventsStalls(t *testing.T) {
	t.Parallel()
	o := fast()
	o.StallTimeout = 50 * time.Millisecond
	var n atomic.Int32
	c := serve(t, o, func(w http.ResponseWriter, r *http.Request) {
		s := startSSE(w)
		if n.Add(1) == 1 {
			s.event(event(1, 2))
			<-r.Context().Done()
			return
		}
		s.event(event(2, 2))
	})
	seqs, links, err := collect(t, c, client.TailOptions{})
	if err != nil || !cmp.Equal(seqs, upTo(2)) || !cmp.Equal(links, []string{"up@0", "down@1", "up@1"}) {
		t.Errorf("TailEvents = %v, %v, %v", seqs, links, err)
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/v0/events?agent_id=demo&type=approval." {
			t.Errorf("request %s", r.RequestURI)
		}
		s := startSSE(w)
		switch n.Add(1) {
		case 1:
			s.event(event(7, 0))
			s.frame(wire.Frame{Event: wire.SSELagged})
			s.cut()
		default:
			s.event(event(3, 0)) // of another execution: numbers mean nothing here
			<-r.Context().Done()
		}
	})
	var got []string
	stop := errors.New("stop")
	err := c.Feed(context.Background(), client.FeedOptions{
		AgentID: "demo", Type: "approval.",
		Lagged: func() { got = append(got, "lagged") },
		Link:   func(l client.Link) { got = append(got, fmt.Sprint("up ", l.Up)) },
	}, func(e wire.Event) error {
		got = append(got, fmt.Sprint(e.EventSeq))
		if e.EventSeq == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("Feed = %v", err)
	}
	if diff := cmp.Diff(strings.Split("up true,7,lagged,up false,up true,3", ","), got); diff != "" {
		t.Errorf("feed (-want +got):\n%s", diff)
	}
}

func TestFeedRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) { fail(w, wire.CodeNotFound, "no such route") })
	err := c.Feed(context.Background(), client.FeedOptions{}, func(wire.Event) error { return nil })
	if client.StatusOf(err) != http.StatusNotFound {
		t.Errorf("Feed = %v, want 404", err)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v0/executions/"+execID {
			answer(w, 200, wire.Execution{ID: execID, Status: wire.ExecutionRunning})
			return
		}
		s := startSSE(w)
		seq := int64(n.Add(1))
		b, _ := wire.Marshal(wire.StreamDelta{StepID: stepID, Seq: seq, Data: "chunk\n\x1b"})
		s.frame(wire.Frame{Data: b})
		if seq == 3 {
			s.frame(wire.Frame{Event: wire.SSEEnd, Data: []byte(`{"status":"completed"}`)})
		}
	})
	var got []int64
	end, err := c.Stream(context.Background(), execID, nil, func(d wire.StreamDelta) error {
		got = append(got, d.Seq)
		if d.Data != "chunk\n\x1b" {
			t.Errorf("data %q", d.Data)
		}
		return nil
	})
	if err != nil || end.Status != wire.ExecutionCompleted || !cmp.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("Stream = %v, %v, %v", got, end, err)
	}
}
