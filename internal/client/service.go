package client

import (
	"context"
	"net/http"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Health asks whether the service is alive.
func (c *Client) Health(ctx context.Context) (h wire.Health, err error) {
	err = c.get(ctx, "/v0/health", nil, &h)
	return h, err
}

// Ready asks whether the service can do its work. The answer "not yet" is an
// [*Error] with status 503, and is not asked for again.
func (c *Client) Ready(ctx context.Context) (h wire.Health, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/v0/ready", out: &h})
	return h, err
}

// Version asks which build the service is and what it can do.
func (c *Client) Version(ctx context.Context) (v wire.Version, err error) {
	err = c.get(ctx, "/v0/version", nil, &v)
	return v, err
}

// Metrics reads the metrics in the exposition format of Prometheus.
func (c *Client) Metrics(ctx context.Context) (text []byte, err error) {
	_, err = c.do(ctx, call{
		method: http.MethodGet, path: "/metrics", out: &text, safe: true,
		header: http.Header{"Accept": {"text/plain"}},
	})
	return text, err
}
