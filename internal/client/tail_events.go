package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// TailOptions say how to follow an execution's log. The zero value means from
// the first event to the one that ends the execution.
type TailOptions struct {
	AfterSeq int64      // deliver what comes after this one
	Forever  bool       // go on after the execution has ended
	Link     func(Link) // told when the connection comes and goes; nil: nobody is
}

// TailEvents gives every event of an execution to fn, in order, each one once,
// also across lost connections, which it mends for ever. It returns nil after
// the event that ends the execution; the error of fn; the end of the context;
// or an [*Error] that time does not heal (unauthorized, not found). A service
// without streams is asked again and again instead.
func (c *Client) TailEvents(ctx context.Context, id string, o TailOptions, fn func(wire.Event) error) error {
	e := &eventTail{c: c, id: id, seq: o.AfterSeq, forever: o.Forever, fn: fn}
	return c.run(ctx, &tail{
		path: route("/v0/executions/%s/events", id),
		query: func() url.Values {
			q := url.Values{}
			setNumber(q, "after_seq", e.seq)
			return q
		},
		lastID: func() string {
			if e.seq == 0 {
				return ""
			}
			return strconv.FormatInt(e.seq, 10)
		},
		frame:  func(f wire.Frame) error { return e.frame(ctx, f) },
		other:  e.poll,
		closed: e.closed,
		link:   o.Link,
		seq:    func() int64 { return e.seq },
	})
}

type eventTail struct {
	c       *Client
	id      string
	seq     int64 // delivered last
	over    bool  // the event that ends the execution was delivered
	forever bool
	fn      func(wire.Event) error
}

func (t *eventTail) frame(ctx context.Context, f wire.Frame) error {
	var e wire.Event
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return fmt.Errorf("read event after %d: %w", t.seq, err) // a broken line; the next connection brings it again
	}
	if e.EventSeq > t.seq+1 {
		if err := t.fill(ctx, e.EventSeq); err != nil {
			return err
		}
	}
	return t.deliver(e)
}

// deliver gives an event to the reader, unless it had it already.
func (t *eventTail) deliver(e wire.Event) error {
	if e.EventSeq <= t.seq {
		return nil
	}
	if err := t.fn(e); err != nil {
		return handlerError{err}
	}
	t.seq = e.EventSeq
	if e.Type.EndsExecution() {
		t.over = true
		if !t.forever {
			return errDone
		}
	}
	return nil
}

// fill fetches what a stream left out before an event. A service that keeps its
// word never makes it necessary.
func (t *eventTail) fill(ctx context.Context, before int64) error {
	for e, err := range t.c.Events(ctx, t.id, t.seq) {
		if err != nil {
			return err
		}
		if e.EventSeq >= before {
			return nil
		}
		if err := t.deliver(e); err != nil {
			return err
		}
	}
	return nil
}

// closed decides what the end of a stream means when no event said it: the
// execution may have ended before the place where the tail began.
func (t *eventTail) closed(ctx context.Context) error {
	if !t.over {
		x, err := t.c.GetExecution(ctx, t.id)
		if err != nil || !x.Status.Terminal() {
			return err
		}
		t.over = true
	}
	if err := t.fill(ctx, 1<<62); err != nil {
		return err
	}
	if t.forever {
		return t.poll(ctx)
	}
	return errDone
}

// poll follows the log by asking again and again.
func (t *eventTail) poll(ctx context.Context) error {
	for {
		if err := t.fill(ctx, 1<<62); err != nil {
			return err
		}
		if !t.forever {
			x, err := t.c.GetExecution(ctx, t.id)
			if err != nil {
				return err
			}
			if x.Status.Terminal() && t.seq >= x.LastEventSeq {
				return errDone
			}
		}
		if err := Sleep(ctx, t.c.opt.Poll); err != nil {
			return err
		}
	}
}
