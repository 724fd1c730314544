package cli

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newExecutionsWatch(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Show the events of an execution until it has ended",
		Long: `Shows the events of an execution from the first one on, and goes on until it has
ended. A lost connection is mended for as long as it takes, and no event is lost
or shown twice.

Exit 0 when it completed, 10 when it failed, 11 when it was cancelled. Ctrl-C
only stops watching.`,
		Example: `  kernelctl executions watch 9f3a71c2
  kernelctl ex watch 9f3a71c2 -o jsonl | jq .type`,
		Args: takes(1, 1, "the id of an execution"),
	}
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error {
		x, _, err := s.execution(ctx, s.args[0])
		if err != nil {
			return err
		}
		return s.follow(ctx, x, 0)
	})
	return cmd
}

// follow shows the events of an execution after a number, and gives the exit
// code of how it ended.
func (s *session) follow(ctx context.Context, x wire.Execution, afterSeq int64) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	p := s.printer()
	list := printer.NewLive(p, eventView(p, false))
	var last wire.Event
	err = c.TailEvents(ctx, x.ID, client.TailOptions{AfterSeq: afterSeq, Link: s.linkNotes()}, func(e wire.Event) error {
		last = e
		if err := list.Add(e); err != nil {
			return err
		}
		if e.EventSeq >= x.LastEventSeq { // an older one is decided
			s.askForDecision(e)
		}
		return nil
	})
	if err := errors.Join(err, list.Close("")); err != nil {
		return s.detached(err, "stopped looking; execution "+s.short(x.ID)+" goes on", "kernelctl ex watch "+printer.ShortID(x.ID))
	}
	if !last.Type.EndsExecution() {
		end, err := c.GetExecution(ctx, x.ID)
		if err != nil {
			return err
		}
		return s.outcome(end)
	}
	end := x
	end.Status, end.FailureReason = endOf(last)
	end.UpdatedAt = last.OccurredAt
	return s.outcome(end)
}

// askForDecision tells a person who looks on that it is a person who is waited
// for.
func (s *session) askForDecision(e wire.Event) {
	if e.Type != wire.EventExecutionBlocked || !s.io.ErrTTY {
		return
	}
	if p := payload[wire.ExecutionPayload](e); p.ApprovalID != "" {
		s.io.Notef("next:  %s", s.f.hint("kernelctl ap grant "+printer.ShortID(p.ApprovalID)+" --by NAME"))
	}
}

// endOf is what the last event of an execution says.
func endOf(e wire.Event) (status wire.ExecutionStatus, reason string) {
	p := payload[wire.ExecutionPayload](e)
	return e.Type.ExecutionStatus(), p.Reason
}

// outcome says how an execution ended, and gives the exit code of it.
func (s *session) outcome(x wire.Execution) error {
	if x.Status == wire.ExecutionCompleted {
		s.io.Notef("execution %s completed after %s", s.short(x.ID), printer.Duration(x.UpdatedAt.Sub(x.CreatedAt.Time)))
	}
	return s.endError(x)
}

// endError is the exit code of how an execution ended; nil when it is well, or
// not over.
func (s *session) endError(x wire.Execution) error {
	short := s.short(x.ID)
	switch x.Status {
	case wire.ExecutionFailed:
		return &exit.Error{
			Code: exit.ExecutionFailed, What: "execution " + short + " failed", Why: x.FailureReason,
			Next: "kernelctl why " + printer.ShortID(x.ID), Details: map[string]string{"execution_id": x.ID},
		}
	case wire.ExecutionCancelled:
		return &exit.Error{
			Code: exit.ExecutionCancelled, What: "execution " + short + " was cancelled", Why: x.FailureReason,
			Next: "kernelctl why " + printer.ShortID(x.ID), Details: map[string]string{"execution_id": x.ID},
		}
	case wire.ExecutionCompleted, wire.ExecutionPending, wire.ExecutionRunning, wire.ExecutionBlocked:
	}
	return nil
}

// linkNotes says on stderr when a tail lost its connection and when it has it
// again. Retries in between are not worth a line.
func (s *session) linkNotes() func(client.Link) {
	return func(l client.Link) {
		switch {
		case !l.Up && l.Attempt == 1:
			s.io.Warnf("lost connection: %s; trying again until it is back", printer.Clean(explain(l.Err).Why+plainReason(l.Err)))
		case l.Up && l.Outage > 0 && l.AfterSeq > 0:
			s.io.Warnf("resumed at seq %d after %s", l.AfterSeq, printer.Took(l.Outage.Round(100*time.Millisecond)))
		case l.Up && l.Outage > 0:
			s.io.Warnf("connected again after %s", printer.Took(l.Outage.Round(100*time.Millisecond)))
		}
	}
}

// plainReason is the error of a tail that has no explanation of its own.
func plainReason(err error) string {
	if explain(err).Why != "" {
		return ""
	}
	return err.Error()
}

// detached adds to an interruption what goes on without us, and how to come
// back to it.
func (s *session) detached(err error, what, again string) error {
	sig := (*signalError)(nil)
	if !errors.As(err, &sig) {
		return err
	}
	code := exit.Interrupted
	if sig.signal == syscall.SIGTERM {
		code = exit.Terminated
	}
	return &exit.Error{Code: code, What: what, Why: sig.Error(), Next: again, Err: err}
}

// watchStatus prints an execution again each time that its status changes.
func (s *session) watchStatus(ctx context.Context, c *client.Client, x wire.Execution) error {
	p := s.printer()
	list := printer.NewLive(p, executionView(p, nil))
	if err := list.Add(x); err != nil {
		return err
	}
	if x.Status.Terminal() {
		return s.outcome(x)
	}
	err := c.TailEvents(ctx, x.ID, client.TailOptions{AfterSeq: x.LastEventSeq, Link: s.linkNotes()}, func(e wire.Event) error {
		st := e.Type.ExecutionStatus()
		if st == "" {
			return nil
		}
		// What is read now may be further on already; the event says how it was.
		x.Status, x.UpdatedAt, x.LastEventSeq = st, e.OccurredAt, e.EventSeq
		if st.Terminal() {
			end, err := c.GetExecution(ctx, x.ID)
			if err != nil {
				return err
			}
			x = end
		}
		return list.Add(x)
	})
	if err != nil {
		return s.detached(err, "stopped looking; execution "+s.short(x.ID)+" goes on", "kernelctl ex get -w "+printer.ShortID(x.ID))
	}
	return s.outcome(x)
}
