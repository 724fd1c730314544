package metrics

import (
	"context"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Reader is what [Metrics.Seed] asks the store.
type Reader interface {
	Counts(ctx context.Context) (store.Counts, error)
	Executions(ctx context.Context, q store.ExecutionQuery) (page []store.Execution, next int64, err error)
	Approvals(ctx context.Context, q store.ApprovalQuery) ([]store.Approval, error)
}

const seedPage = 200

// Seed sets the gauges to what is stored. Call it before anything is
// committed: from then on they move with the commits.
func (m *Metrics) Seed(ctx context.Context, r Reader) error {
	counts, err := r.Counts(ctx)
	if err != nil {
		return fmt.Errorf("count what is stored: %w", err)
	}
	for _, s := range kernel.Statuses() {
		m.executions.now[s].Set(float64(counts.Executions[s]))
	}
	m.dispatches.queued.Set(float64(counts.QueuedDispatches))
	m.approvals.pending.Set(float64(counts.PendingApprovals))
	if err := m.locate(ctx, r, kernel.StatusPending, pending); err != nil {
		return err
	}
	if err := m.locate(ctx, r, kernel.StatusBlocked, onSignal); err != nil {
		return err
	}
	waiting, err := r.Approvals(ctx, store.ApprovalQuery{Status: kernel.ApprovalStatusPending, Limit: int(counts.PendingApprovals)})
	if err != nil {
		return fmt.Errorf("list pending approvals: %w", err)
	}
	for i := range waiting {
		m.executions.open[waiting[i].Execution] = onApproval
	}
	return nil
}

// locate notes which executions stand at a place.
func (m *Metrics) locate(ctx context.Context, r Reader, status kernel.Status, at place) error {
	for before := int64(0); ; {
		page, next, err := r.Executions(ctx, store.ExecutionQuery{Status: status, Before: before, Limit: seedPage})
		if err != nil {
			return fmt.Errorf("list %s executions: %w", status, err)
		}
		for i := range page {
			m.executions.open[page[i].ID] = at
		}
		if next == 0 {
			return nil
		}
		before = next
	}
}

// Recount sets the gauges of ended executions to what is stored. No commit
// tells of executions that the retention deleted, so call it after that.
func (m *Metrics) Recount(ctx context.Context, r Reader) error {
	counts, err := r.Counts(ctx)
	if err != nil {
		return fmt.Errorf("count what is stored: %w", err)
	}
	for _, s := range kernel.Statuses() {
		if s.Terminal() {
			m.executions.now[s].Set(float64(counts.Executions[s]))
		}
	}
	return nil
}
