package cli

import (
	"context"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// awaitOutcome waits silently until an execution has ended.
func (s *session) awaitOutcome(ctx context.Context, x wire.Execution) (wire.Execution, error) {
	end, err := s.await(ctx, x, wire.ExecutionStatus.Terminal)
	if err != nil {
		return wire.Execution{}, s.detached(err, "execution "+s.short(x.ID)+" is still running", "kernelctl ex wait "+printer.ShortID(x.ID))
	}
	return end, s.outcome(end)
}

// await waits until the status of an execution is one that is waited for. The
// tail begins where the reading of the execution ended, so no change falls in
// between.
func (s *session) await(ctx context.Context, x wire.Execution, enough func(wire.ExecutionStatus) bool) (wire.Execution, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return x, err
	}
	if enough(x.Status) || x.Status.Terminal() {
		return x, nil
	}
	err = c.TailEvents(ctx, x.ID, client.TailOptions{AfterSeq: x.LastEventSeq, Link: s.linkNotes()}, func(e wire.Event) error {
		if st := statusAfter(e.Type); st != "" && enough(st) {
			return errEnough
		}
		return nil
	})
	if err != nil && err != errEnough { //nolint:errorlint // our own, handed back as it is
		return x, err
	}
	return c.GetExecution(ctx, x.ID)
}
