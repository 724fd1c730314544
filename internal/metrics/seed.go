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
}

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
	return nil
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
