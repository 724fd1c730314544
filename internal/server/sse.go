package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// sse is one stream of Server-Sent Events.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

// openStream sends the headers at once.
func (c *call) openStream() (*sse, error) {
	s := &sse{w: c.w, control: http.NewResponseController(c.w)}
	h := c.w.Header()
	h.Set("Content-Type", wire.ContentTypeEventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that buffer would hold back what is live
	c.w.WriteHeader(http.StatusOK)
	return s, s.flush()
}

func (s *sse) frame(f wire.Frame) { s.buf = wire.AppendFrame(s.buf, f) }

func (s *sse) event(e *store.Event) {
	var w jsonWriter
	w.event(e)
	s.frame(wire.Frame{ID: strconv.FormatInt(e.Seq, 10), Event: e.Type.String(), Data: w.b})
}

// flush sends what was appended. A reader that takes nothing for a while is
// given up.
func (s *sse) flush() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every transport can
	if len(s.buf) > 0 {
		if _, err := s.w.Write(s.buf); err != nil {
			return err
		}
		s.buf = s.buf[:0]
	}
	return s.control.Flush()
}

// close lifts the bound on writes: the connection may serve other requests yet.
func (s *sse) close() { _ = s.control.SetWriteDeadline(time.Time{}) }

func (s *sse) ping() error {
	s.buf = wire.AppendComment(s.buf, "ping")
	return s.flush()
}

func (c *call) listEvents() error {
	params := c.r.URL.Query()
	var bad problems
	after, err := c.queryInt("after_seq", 0, 0, 0)
	if err != nil {
		bad.add("after_seq", "must be an integer of at least 0")
	}
	limit, err := c.queryInt("limit", wire.DefaultEventsLimit, 1, wire.MaxEventsLimit)
	if err != nil {
		bad.add("limit", "must be an integer of at least 1")
	}
	if params.Has("catalogue") {
		bad.add("catalogue", "is not offered by this build: leave it out")
	}
	tail := wantsStream(c.r)
	if last := c.r.Header.Get(wire.HeaderLastEventID); last != "" && tail {
		seq, err := strconv.ParseInt(last, 10, 64)
		if err != nil || seq < 0 {
			bad.add(wire.HeaderLastEventID, "must be the id of an event that this tail sent")
		}
		after = seq // the URL is that of the first connection
	}
	if err := bad.err(); err != nil {
		return err
	}
	if tail {
		return c.tailEvents(after)
	}
	room, _ := c.s.pages.Get().(*pageRoom)
	if room == nil {
		room = new(pageRoom)
	}
	page, err := c.s.read.Events(c.r.Context(), c.execution.No, c.execution.ID, after, int(limit), room.events)
	if err != nil {
		return err
	}
	w := jsonWriter{b: append(slices.Grow(room.json[:0], 640*(len(page)+1)), '[')}
	for i := range page {
		w.event(&page[i])
	}
	w.b = append(w.b, ']')
	c.write(http.StatusOK, w.b)
	if cap(w.b) <= mostKept {
		clear(page) // keeps no event alive
		room.events, room.json = page, w.b
		c.s.pages.Put(room)
	}
	return nil
}

// pageRoom is memory that a page of events was read into and encoded in.
type pageRoom struct {
	events []store.Event
	json   []byte
}

// mostKept is how large an encoded page may be, in bytes, whose room is kept.
const mostKept = 1 << 20

func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), wire.ContentTypeEventStream)
}

// tailEvents sends the log after a place and then what is committed, without
// gap or repeat, until the terminal event.
func (c *call) tailEvents(after int64) error {
	// Subscribing before reading leaves no gap; sequence numbers drop the overlap.
	live := c.s.hub.Events(c.execution.ID)
	defer live.Close()
	out, err := c.openStream()
	if err != nil {
		return nil // the client is gone
	}
	defer out.close()
	t := &tail{call: c, out: out, last: after}
	ended, err := t.catchUp()
	if err != nil || ended {
		return err
	}
	c.follow(out, live.Ready, func() (ended bool, err error) { return t.take(live.Take()) })
	return nil // the client is gone, or will ask again from its last id
}

// follow takes what is ready, and pings while nothing is, until the stream, the
// request or the service ends.
func (c *call) follow(out *sse, ready <-chan struct{}, take func() (ended bool, err error)) {
	ping := time.NewTicker(c.s.opts.Ping)
	defer ping.Stop()
	for ended := false; !ended; {
		var err error
		select {
		case <-ready:
			ended, err = take()
		case <-ping.C:
			err = out.ping()
		case <-c.r.Context().Done():
			return
		case <-c.s.closing:
			return
		}
		if err != nil {
			return // the client is gone, or the log cannot be read
		}
	}
}

// tail is where one reader of a log stands.
type tail struct {
	*call
	out  *sse
	last int64
}

// catchUp sends what the store has. It ends with the terminal event, also when
// that was sent before.
func (t *tail) catchUp() (ended bool, err error) {
	ctx := t.r.Context()
	for page := []store.Event(nil); ; {
		page, err = t.s.read.Events(ctx, t.execution.No, t.execution.ID, t.last, wire.MaxEventsLimit, page)
		if err != nil {
			return false, err
		}
		for i := range page {
			if t.send(&page[i]) {
				return true, t.out.flush()
			}
		}
		if err := t.out.flush(); err != nil {
			return true, nil //nolint:nilerr // the client is gone
		}
		if len(page) < wire.MaxEventsLimit {
			break
		}
	}
	x, err := t.s.read.Execution(ctx, t.execution.ID)
	if err != nil {
		return true, err
	}
	return x.Status.Terminal() && t.last >= x.LastSeq, nil
}

// take sends what was committed since, or what the store has when there is a gap.
func (t *tail) take(live stream.Taken[store.Event]) (ended bool, err error) {
	for i := range live.Values {
		switch e := &live.Values[i]; {
		case e.Seq > t.last+1:
			return t.catchUp()
		case e.Seq == t.last+1 && t.send(e):
			return true, t.out.flush()
		case e.Seq <= t.last && e.Type.Terminal(): // it started behind the end
			return true, nil
		}
	}
	if live.Lost {
		return t.catchUp()
	}
	return false, t.out.flush()
}

// send appends one event and reports whether it was the terminal one.
func (t *tail) send(e *store.Event) bool {
	t.out.event(e)
	t.last = e.Seq
	return e.Type.Terminal()
}

// streamDeltas sends the live output of an execution until it ends.
func (c *call) streamDeltas() error {
	live := c.s.hub.Deltas(c.execution.ID)
	defer live.Close()
	x, err := c.s.read.Execution(c.r.Context(), c.execution.ID)
	if err != nil {
		return named(err, "no execution %s", c.execution.ID)
	}
	out, err := c.openStream()
	if err != nil {
		return nil // the client is gone
	}
	defer out.close()
	if x.Status.Terminal() {
		out.end(x.Status)
		return nil
	}
	c.follow(out, live.Ready, func() (ended bool, err error) {
		taken := live.Take()
		for _, d := range taken.Values {
			out.delta(d)
		}
		if taken.Ended != 0 {
			out.end(taken.Ended)
			return true, nil
		}
		return false, out.flush()
	})
	return nil
}

func (s *sse) delta(d stream.Delta) {
	var w jsonWriter
	w.open()
	w.text("step_id", d.Step.String())
	w.integer("seq", d.Seq)
	w.text("data", d.Data)
	w.close()
	s.frame(wire.Frame{Data: w.b})
}

func (s *sse) end(status kernel.Status) {
	s.frame(wire.Frame{Event: wire.SSEEnd, Data: []byte(`{"status":"` + status.String() + `"}`)})
	_ = s.flush() // the client may be gone
}

// feed sends every event that is committed from now on.
func (c *call) feed() error {
	if accept := c.r.Header.Get("Accept"); accept != "" && !wantsStream(c.r) && !strings.Contains(accept, "*/*") {
		return invalid("Accept", "this route only streams: send Accept: text/event-stream")
	}
	params := c.r.URL.Query()
	agent, prefix := kernel.AgentID(params.Get("agent_id")), params.Get("type")
	live := c.s.hub.Feed()
	defer live.Close()
	out, err := c.openStream()
	if err != nil {
		return nil // the client is gone
	}
	defer out.close()
	c.follow(out, live.Ready, func() (ended bool, err error) { return false, out.feed(live.Take(), agent, prefix) })
	return nil
}

// feed sends what was committed, as far as it is asked for.
func (s *sse) feed(live stream.Taken[stream.FeedEvent], agent kernel.AgentID, prefix string) error {
	const enough = 64 << 10
	for i := range live.Values {
		e := &live.Values[i]
		if agent != "" && agent != e.Agent || !strings.HasPrefix(e.Type.String(), prefix) {
			continue
		}
		if s.event(&e.Event); len(s.buf) >= enough {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	if live.Lost {
		s.frame(wire.Frame{Event: wire.SSELagged, Data: []byte("{}")})
	}
	if len(s.buf) == 0 {
		return nil
	}
	return s.flush()
}
