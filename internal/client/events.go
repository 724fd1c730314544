package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// ListEvents reads one page of an execution's log: the events after afterSeq,
// oldest first. A limit of zero means the service's default.
func (c *Client) ListEvents(ctx context.Context, id string, afterSeq int64, limit int) (events []wire.Event, err error) {
	q := url.Values{}
	setNumber(q, "after_seq", afterSeq)
	setNumber(q, "limit", int64(limit))
	err = c.get(ctx, route("/v0/executions/%s/events", id), q, &events)
	return events, err
}

// Events walks an execution's log from after afterSeq to where it ends now. A
// page is held in memory at a time. After an error it stops.
func (c *Client) Events(ctx context.Context, id string, afterSeq int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for {
			page, err := c.ListEvents(ctx, id, afterSeq, wire.MaxEventsLimit)
			if err != nil {
				yield(wire.Event{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				afterSeq = e.EventSeq
			}
			if len(page) < wire.MaxEventsLimit {
				return
			}
		}
	}
}
