package client

import (
	"context"
	"net/http"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// GetPolicy reads the bundle of an agent; not_found when none is loaded.
func (c *Client) GetPolicy(ctx context.Context, agentID string) (p wire.Policy, err error) {
	err = c.get(ctx, route("/v0/policies/%s", agentID), nil, &p)
	return p, err
}

// LoadPolicy loads or replaces the bundle of an agent.
func (c *Client) LoadPolicy(ctx context.Context, agentID, bundle string) error {
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: route("/v0/policies/%s", agentID), body: wire.LoadPolicy{Bundle: bundle},
	})
	return err
}

// DeletePolicy makes an agent permissive again, also when it was.
func (c *Client) DeletePolicy(ctx context.Context, agentID string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("/v0/policies/%s", agentID)})
	return err
}

// TestPolicy puts cases or the steps of a past execution to a bundle. It
// stores nothing, so it is safe to repeat.
func (c *Client) TestPolicy(ctx context.Context, agentID string, req wire.PolicyTest) (r wire.PolicyTestReport, err error) {
	_, err = c.do(ctx, call{
		method: http.MethodPost, path: route("/v0/policies/%s/test", agentID), body: req, out: &r, safe: true,
	})
	return r, err
}
