package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Stream gives the live output of an execution's steps to fn, and mends lost
// connections for ever. Deltas are kept nowhere: what an agent publishes while
// nobody listens is lost, and a gap in a step's seq shows it. It returns how
// the execution ended.
func (c *Client) Stream(ctx context.Context, id string, link func(Link), fn func(wire.StreamDelta) error) (end wire.StreamEnd, err error) {
	err = c.run(ctx, &tail{
		path:  route("/v0/executions/%s/stream", id),
		query: func() url.Values { return nil },
		link:  link,
		frame: func(f wire.Frame) error {
			if f.Event == wire.SSEEnd {
				if err := json.Unmarshal(f.Data, &end); err != nil {
					return fmt.Errorf("read the end of the stream: %w", err)
				}
				return errDone
			}
			var d wire.StreamDelta
			if err := json.Unmarshal(f.Data, &d); err != nil {
				return fmt.Errorf("read delta: %w", err)
			}
			if err := fn(d); err != nil {
				return handlerError{err}
			}
			return nil
		},
		closed: func(ctx context.Context) error {
			x, err := c.GetExecution(ctx, id)
			if err != nil || !x.Status.Terminal() {
				return err
			}
			end.Status = x.Status
			return errDone
		},
	})
	return end, err
}
