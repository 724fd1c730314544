package client

import (
	"context"
	"net/url"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// ListSteps reads an execution's steps in the order of their proposal. Status
// is a [wire.StepStatus] or [wire.StepsTerminal]; empty means all.
func (c *Client) ListSteps(ctx context.Context, id, status string) (steps []wire.Step, err error) {
	q := url.Values{}
	setText(q, "status", status)
	err = c.get(ctx, route("/v0/executions/%s/steps", id), q, &steps)
	return steps, err
}

// GetStep reads one step.
func (c *Client) GetStep(ctx context.Context, id, stepID string) (s wire.Step, err error) {
	err = c.get(ctx, route("/v0/executions/%s/steps/%s", id, stepID), nil, &s)
	return s, err
}
