package engine

import (
	"context"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Decide grants or denies an approval.
func (e *Engine) Decide(ctx context.Context, id kernel.ApprovalID, verdict kernel.ApprovalStatus, by, rationale string) error {
	return e.decide(ctx, id, &kernel.DecideApproval{Verdict: verdict, DecidedBy: by, Rationale: rationale})
}

// ExpireApproval ends an approval whose time is over.
func (e *Engine) ExpireApproval(ctx context.Context, id kernel.ApprovalID) error {
	return e.decide(ctx, id, &kernel.DecideApproval{Verdict: kernel.ApprovalStatusExpired})
}

func (e *Engine) decide(ctx context.Context, id kernel.ApprovalID, c *kernel.DecideApproval) error {
	var refusal error
	seed := newSeed()
	err := e.store.Update(ctx, func(tx store.Tx) error {
		refusal = nil
		execution, facts, err := tx.Approval(id)
		if err != nil {
			return err
		}
		s, l, err := tx.Load(execution)
		if err != nil {
			return err
		}
		kernel.Stamp(c, max(kernel.At(time.Now()), s.UpdatedAt), seed)
		c.Approval = facts
		_, refusal, err = apply(tx, s, l, c)
		return err
	})
	if err != nil {
		return err
	}
	return refusal
}
