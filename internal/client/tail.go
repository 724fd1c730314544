package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Link is what a tail tells of its connection.
type Link struct {
	Up       bool
	Attempt  int           // of failed tries in a row; 0 while up
	Err      error         // down: why
	Retry    time.Duration // down: until the next try
	Outage   time.Duration // up: how long it had been down; zero for the first connection
	AfterSeq int64         // of an execution's log: what was delivered last
}

// errStalled means that nothing came over a connection for too long: the
// service sends a comment every 15 s, so something in between is dead.
var errStalled = errors.New("nothing arrived for too long")

// errEnded means that the service closed the stream and that nothing in it
// said why.
var errEnded = errors.New("the server closed the connection")

// tail is one endless reading of a stream.
type tail struct {
	path   string
	query  func() url.Values
	lastID func() string               // for Last-Event-ID; nil or empty: none
	frame  func(wire.Frame) error      // errDone ends the tail
	other  func(context.Context) error // takes over when the answer is not a stream; nil: that is an error
	closed func(context.Context) error // asked when the stream ended by itself; nil result: connect again
	link   func(Link)
	seq    func() int64
}

// errDone ends a tail well.
var errDone = errors.New("done")

// handlerError is the error of who reads the tail, not of the connection.
type handlerError struct{ err error }

func (e handlerError) Error() string { return e.err.Error() }
func (e handlerError) Unwrap() error { return e.err }

// run connects and reads until the tail is done, its reader gives an error, the
// context ends, or the service refuses it for a reason that time does not heal.
func (c *Client) run(ctx context.Context, t *tail) error {
	failures := 0
	lost := time.Time{}
	up := func() {
		l := Link{Up: true, AfterSeq: t.position()}
		if !lost.IsZero() {
			l.Outage = time.Since(lost)
		}
		failures, lost = 0, time.Time{}
		t.tell(l)
	}
	for {
		err := c.connect(ctx, t, up)
		h := handlerError{}
		switch {
		case errors.Is(err, errDone):
			return nil
		case errors.As(err, &h):
			return h.err
		case ctx.Err() != nil:
			return ended(ctx, http.MethodGet, t.path)
		case permanent(err):
			return err
		}
		if failures++; lost.IsZero() {
			lost = time.Now()
		}
		pause := c.opt.TailBackoff.pause(failures)
		if e := (*Error)(nil); errors.As(err, &e) {
			pause = max(pause, e.RetryAfter)
		}
		t.tell(Link{Attempt: failures, Err: err, Retry: pause, AfterSeq: t.position()})
		if Sleep(ctx, pause) != nil {
			return ended(ctx, http.MethodGet, t.path)
		}
	}
}

func (t *tail) tell(l Link) {
	if t.link != nil {
		t.link(l)
	}
}

func (t *tail) position() int64 {
	if t.seq == nil {
		return 0
	}
	return t.seq()
}

// permanent reports whether the service refused the tail for good: trying the
// same again would be refused again.
func permanent(err error) bool {
	if errors.As(err, new(*ProtocolError)) || errors.Is(err, wire.ErrFrameTooLarge) {
		return true
	}
	e := (*Error)(nil)
	if !errors.As(err, &e) || e.Status >= 500 {
		return false
	}
	return e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

// connect reads one connection to its end.
func (c *Client) connect(ctx context.Context, t *tail, up func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	// The request timeout covers the way to the headers, the stall timeout each
	// wait for more from there on.
	late := context.DeadlineExceeded
	watchdog := time.AfterFunc(c.headerTimeout(), func() { cancel(late) })
	defer watchdog.Stop()

	k := call{method: http.MethodGet, path: t.path, query: t.query(), header: t.header()}
	resp, sent, err := c.send(ctx, k, nil)
	if err != nil {
		if errors.Is(context.Cause(ctx), late) {
			err = fmt.Errorf("no answer within %s: %w", c.headerTimeout(), late)
		}
		return &ConnectionError{Method: k.method, Path: k.path, Server: c.Server(), Sent: sent, Err: err}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return readError(k.method, k.path, resp)
	case mediaType(resp.Header) != wire.ContentTypeEventStream && t.other != nil:
		watchdog.Stop()
		up()
		return t.other(ctx)
	case mediaType(resp.Header) != wire.ContentTypeEventStream:
		return &ProtocolError{
			Method: k.method, Path: k.path, Server: c.Server(),
			Problem: "the answer is " + mediaType(resp.Header) + ", not a stream of events",
		}
	}
	watchdog.Stop()
	up()
	err = t.read(&guarded{r: resp.Body, watchdog: watchdog, limit: c.opt.StallTimeout})
	switch {
	case err != nil && errors.Is(context.Cause(ctx), late):
		return errStalled
	case err != nil:
		return err
	case t.closed != nil:
		if err := t.closed(ctx); err != nil {
			return err
		}
	}
	return errEnded
}

func (t *tail) header() http.Header {
	h := http.Header{"Accept": {wire.ContentTypeEventStream}, "Cache-Control": {"no-cache"}}
	if t.lastID != nil {
		if id := t.lastID(); id != "" {
			h[http.CanonicalHeaderKey(wire.HeaderLastEventID)] = []string{id}
		}
	}
	return h
}

func (c *Client) headerTimeout() time.Duration {
	if c.opt.RequestTimeout > 0 {
		return c.opt.RequestTimeout
	}
	return c.opt.StallTimeout
}

func (t *tail) read(r io.Reader) error {
	s := wire.NewScanner(r, 0)
	for s.Scan() {
		if err := t.frame(s.Frame()); err != nil {
			return err
		}
	}
	return s.Err()
}

// guarded arms the watchdog while it waits for bytes, comments of the service
// included, and only then: a slow reader of the tail is not a dead connection.
type guarded struct {
	r        io.Reader
	watchdog *time.Timer
	limit    time.Duration
}

func (g *guarded) Read(p []byte) (int, error) {
	g.watchdog.Reset(g.limit)
	defer g.watchdog.Stop()
	return g.r.Read(p)
}
