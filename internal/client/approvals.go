package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// ApprovalFilter says which approvals to list. The zero value means the
// pending ones.
type ApprovalFilter struct {
	Status      string // a wire.ApprovalStatus or wire.ApprovalsAll; empty: pending
	AgentID     string
	ExecutionID string
	Limit       int // zero: the service's default
}

// ListApprovals reads approvals, the one that expires first at the top.
func (c *Client) ListApprovals(ctx context.Context, f ApprovalFilter) (approvals []wire.Approval, err error) {
	q := url.Values{}
	setText(q, "status", f.Status)
	setText(q, "agent_id", f.AgentID)
	setText(q, "execution_id", f.ExecutionID)
	setNumber(q, "limit", int64(f.Limit))
	err = c.get(ctx, "/v0/approvals", q, &approvals)
	return approvals, err
}

// GetApproval reads one approval.
func (c *Client) GetApproval(ctx context.Context, id string) (a wire.Approval, err error) {
	err = c.get(ctx, route("/v0/approvals/%s", id), nil, &a)
	return a, err
}

// GrantApproval lets the gated step proceed. It is sent once: after a lost
// answer, read the approval to see what became of it.
func (c *Client) GrantApproval(ctx context.Context, id string, d wire.DecideApproval) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: route("/v0/approvals/%s/grant", id), body: d})
	return err
}

// DenyApproval denies the gated step. It is sent once: after a lost answer,
// read the approval to see what became of it.
func (c *Client) DenyApproval(ctx context.Context, id string, d wire.DecideApproval) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: route("/v0/approvals/%s/deny", id), body: d})
	return err
}
