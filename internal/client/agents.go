package client

import (
	"context"
	"net/http"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// RegisterAgent registers an agent, or replaces the webhook, the secret and the
// lease of the one with that id; its policy stays.
func (c *Client) RegisterAgent(ctx context.Context, req wire.RegisterAgent) (a wire.Agent, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: "/v0/agents", body: req, out: &a})
	return a, err
}

// ListAgents reads all agents, by id.
func (c *Client) ListAgents(ctx context.Context) (agents []wire.Agent, err error) {
	err = c.get(ctx, "/v0/agents", nil, &agents)
	return agents, err
}

// GetAgent reads one agent.
func (c *Client) GetAgent(ctx context.Context, id string) (a wire.Agent, err error) {
	err = c.get(ctx, route("/v0/agents/%s", id), nil, &a)
	return a, err
}

// DeleteAgent deletes an agent that has no live execution.
func (c *Client) DeleteAgent(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: route("/v0/agents/%s", id)})
	return err
}
