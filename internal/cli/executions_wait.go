package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// waitFor is the value of --for.
type waitFor string

const (
	forTerminal  waitFor = "terminal"
	forBlocked   waitFor = "blocked"
	forCompleted waitFor = "completed"
)

func newExecutionsWait(f *factory) *cobra.Command {
	var target string
	var exitOnBlocked bool
	cmd := &cobra.Command{
		Use:   "wait ID...",
		Short: "Wait until executions have ended",
		Long: `Waits silently until executions have ended, or reached the state of --for.

Exit 0 when they completed, 10 when one failed, 11 when one was cancelled, 8 when
--timeout ran out first, and with --exit-on-blocked 12 as soon as one is blocked.
With --for blocked, exit 0 when they are blocked, and 5 when one completed
without being blocked again. Of several executions, the worst code wins.`,
		Example: `  kernelctl executions wait 9f3a71c2 --timeout 5m
  kernelctl ex wait 9f3a71c2 c2d0e911 --exit-on-blocked`,
		Args: takes(1, many, "the id of an execution"),
	}
	fs := cmd.Flags()
	fs.StringVar(&target, "for", string(forTerminal), "`state` to wait for: terminal, blocked or completed")
	fs.BoolVar(&exitOnBlocked, "exit-on-blocked", false, "stop with exit 12 when it is blocked")
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error {
		if err := oneOf("for", target, []waitFor{forTerminal, forBlocked, forCompleted}); err != nil {
			return err
		}
		return s.wait(ctx, waitFor(target), exitOnBlocked)
	})
	return cmd
}

// wait waits for all executions at once.
func (s *session) wait(ctx context.Context, target waitFor, exitOnBlocked bool) error {
	if _, err := s.connect(ctx); err != nil { // once, before it is shared
		return err
	}
	var group sync.WaitGroup
	errs := make([]error, len(s.args))
	ends := make([]wire.Execution, len(s.args))
	for i, arg := range s.args {
		group.Go(func() { ends[i], errs[i] = s.waitOne(ctx, arg, target, exitOnBlocked) })
	}
	group.Wait()
	if p := s.printer(); !p.Format.ForPerson() || s.cmd.Flags().Changed("output") {
		if err := s.printEnds(p, ends); err != nil {
			return err
		}
	}
	return worst(errs)
}

func (s *session) printEnds(p *printer.Printer, ends []wire.Execution) error {
	if len(ends) == 1 && !p.Format.ForPerson() {
		if ends[0].ID == "" {
			return nil
		}
		return printer.One(p, executionView(p, nil), ends[0], nil)
	}
	list := printer.NewList(p, executionView(p, nil))
	for _, x := range ends {
		if x.ID == "" {
			continue
		}
		if err := list.Add(x); err != nil {
			return err
		}
	}
	return list.Close("")
}

// worst is the error that stands for several.
func worst(errs []error) error {
	var out *exit.Error
	for _, err := range errs {
		if err == nil {
			continue
		}
		if e := explain(err); out == nil || exit.Worst(out.Code, e.Code) != out.Code {
			out = e
		}
	}
	if out == nil {
		return nil
	}
	return out
}

func (s *session) waitOne(ctx context.Context, arg string, target waitFor, exitOnBlocked bool) (wire.Execution, error) {
	x, _, err := s.execution(ctx, arg)
	if err != nil {
		return wire.Execution{}, err
	}
	end, err := s.await(ctx, x, func(st wire.ExecutionStatus) bool {
		return st == wire.ExecutionBlocked && (exitOnBlocked || target == forBlocked)
	})
	if err != nil {
		return wire.Execution{}, s.detached(err, "stopped looking; execution "+s.short(x.ID)+" goes on", "kernelctl ex wait "+printer.ShortID(x.ID))
	}
	switch {
	case end.Status == wire.ExecutionBlocked && target == forBlocked:
		return end, nil
	case end.Status == wire.ExecutionBlocked:
		return end, &exit.Error{
			Code: exit.ExecutionBlocked, What: "execution " + s.short(end.ID) + " is blocked",
			Next: "kernelctl why " + printer.ShortID(end.ID), Details: map[string]string{"execution_id": end.ID},
		}
	case end.Status == wire.ExecutionCompleted && target == forBlocked:
		return end, &exit.Error{Code: exit.Conflict, What: fmt.Sprintf("execution %s completed without being blocked", s.short(end.ID))}
	}
	return end, s.endError(end)
}

// awaitOutcome waits silently until an execution has ended.
func (s *session) awaitOutcome(ctx context.Context, x wire.Execution) (wire.Execution, error) {
	end, err := s.await(ctx, x, func(wire.ExecutionStatus) bool { return false })
	if err != nil {
		return wire.Execution{}, s.detached(err, "stopped looking; execution "+s.short(x.ID)+" goes on", "kernelctl ex wait "+printer.ShortID(x.ID))
	}
	return end, s.outcome(end)
}

// await waits until an execution has ended, or until its status is enough. The
// tail begins where the reading of the execution ended, so no change falls in
// between. A block may be over again when the execution is read; what counts is
// that it was seen.
func (s *session) await(ctx context.Context, x wire.Execution, enough func(wire.ExecutionStatus) bool) (wire.Execution, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return x, err
	}
	if enough(x.Status) || x.Status.Terminal() {
		return x, nil
	}
	var seen wire.ExecutionStatus
	err = c.TailEvents(ctx, x.ID, client.TailOptions{AfterSeq: x.LastEventSeq, Link: s.linkNotes()}, func(e wire.Event) error {
		if seen = e.Type.ExecutionStatus(); seen != "" && enough(seen) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return x, err
	}
	end, getErr := c.GetExecution(ctx, x.ID)
	if getErr == nil && err != nil {
		end.Status = seen
	}
	return end, getErr
}
