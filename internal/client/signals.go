package client

import (
	"context"
	"net/http"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// SendSignal delivers a signal to an execution. With a key, a repeat is the
// same signal, so that a lost answer is asked for again; without one it is
// sent once.
func (c *Client) SendSignal(ctx context.Context, id string, s wire.Signal, key string) (a wire.SignalAccepted, err error) {
	_, err = c.do(ctx, call{
		method: http.MethodPost, path: route("/v0/executions/%s/signal", id),
		header: idempotencyKey(key), body: s, out: &a, safe: key != "",
	})
	return a, err
}
