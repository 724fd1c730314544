package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// FeedOptions say which events of all executions to follow. The zero value
// means all, from now on.
type FeedOptions struct {
	AgentID string
	Type    string     // the beginning of the types that are wanted, as "approval."
	Link    func(Link) // told when the connection comes and goes; nil: nobody is
	Lagged  func()     // told when events were lost because this reader was slow
}

// Feed gives the new events of all executions to fn, and mends lost connections
// for ever. The service does not remember where a reader was, so events are
// missing after a lost connection and when it lagged. A reader that must know
// all lists again each time that the link comes up, the first time included:
// by then the feed has begun, so nothing falls between the two.
//
// It returns the error of fn; the end of the context; or an [*Error] that time
// does not heal, which with status 404, 405 or 406 means that the service has
// no feed.
func (c *Client) Feed(ctx context.Context, o FeedOptions, fn func(wire.Event) error) error {
	var last string
	return c.run(ctx, &tail{
		path: "/v0/events",
		query: func() url.Values {
			q := url.Values{}
			setText(q, "agent_id", o.AgentID)
			setText(q, "type", o.Type)
			return q
		},
		lastID: func() string { return last },
		link:   o.Link,
		frame: func(f wire.Frame) error {
			if f.ID != "" {
				last = f.ID
			}
			if f.Event == wire.SSELagged {
				if o.Lagged != nil {
					o.Lagged()
				}
				return nil
			}
			var e wire.Event
			if err := json.Unmarshal(f.Data, &e); err != nil {
				return fmt.Errorf("read event of the feed: %w", err)
			}
			if err := fn(e); err != nil {
				return handlerError{err}
			}
			return nil
		},
	})
}
