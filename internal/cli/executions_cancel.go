package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newExecutionsCancel(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel ID...",
		Aliases: []string{"stop", "kill"},
		Short:   "Cancel executions",
		Long: `Cancels executions: nothing is dispatched any more, and steps under way are
marked cancelled; whether their effect happened is unknown. It cannot be undone.

It asks first, unless --yes is given. An execution that has ended already is
exit 5. Of several executions, the worst code wins.`,
		Example: `  kernelctl executions cancel 9f3a71c2
  kernelctl ex cancel $(kernelctl ex ls --agent demo --status running -q) --yes`,
		Args: takes(1, many, "the id of an execution"),
	}
	cmd.Flags().BoolP("yes", "y", false, yesHelp)
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error { return s.cancel(ctx) })
	return cmd
}

func (s *session) cancel(ctx context.Context) error {
	found, results, errs := s.toCancel(ctx)
	if len(found) == 0 && len(errs) == 1 {
		return errs[0]
	}
	if len(found) > 0 {
		if err := s.confirm(ctx, cancelQuestion(s, found)); err != nil {
			return err
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	for _, x := range found {
		r := cancelled{ID: x.ID, AgentID: x.AgentID, Result: string(wire.ExecutionCancelled)}
		if err := s.cancelOne(ctx, c, x); err != nil {
			if len(s.args) == 1 {
				return err
			}
			r = r.failed(s.f, err)
			errs = append(errs, err)
		}
		results = append(results, r)
	}
	p := s.printer()
	list := printer.NewList(p, cancelledView())
	for _, r := range results {
		if r.Error != nil && p.Format.ForPerson() {
			s.io.Warnf("%s: %s", printer.Clean(r.ID), printer.Clean(r.Error.Message))
		}
		if r.Error != nil && p.IDsOnly {
			continue
		}
		if err := list.Add(r); err != nil {
			return err
		}
	}
	if err := list.Close(""); err != nil {
		return err
	}
	return worst(errs)
}

// toCancel reads what was named. One that cannot be read does not stop the
// others.
func (s *session) toCancel(ctx context.Context) (found []wire.Execution, results []cancelled, errs []error) {
	seen := map[string]bool{}
	for _, arg := range s.args {
		x, _, err := s.execution(ctx, arg)
		if err != nil {
			errs = append(errs, err)
			results = append(results, cancelled{ID: arg}.failed(s.f, err))
			continue
		}
		if !seen[x.ID] {
			seen[x.ID] = true
			found = append(found, x)
		}
	}
	return found, results, errs
}

func cancelQuestion(s *session, found []wire.Execution) string {
	if len(found) == 1 {
		x := found[0]
		return fmt.Sprintf("Cancel execution %s of agent %s (%s)?", s.short(x.ID), x.AgentID, x.Status)
	}
	return fmt.Sprintf("Cancel %d executions?", len(found))
}

// cancelOne cancels one execution. When the answer is lost, the execution says
// what became of it.
func (s *session) cancelOne(ctx context.Context, c *client.Client, x wire.Execution) error {
	err := c.CancelExecution(ctx, x.ID)
	switch {
	case err == nil:
		return nil
	case client.CodeOf(err) == wire.CodeConflict || client.CodeOf(err) == wire.CodeExecutionTerminal:
		e := explain(err)
		e.What = fmt.Sprintf("execution %s has already ended", s.short(x.ID))
		e.Next = "kernelctl ex get " + printer.ShortID(x.ID)
		return e
	case !lostAnswer(err):
		return executionError(err, x.ID)
	}
	now, readErr := c.GetExecution(ctx, x.ID)
	switch {
	case readErr == nil && now.Status == wire.ExecutionCancelled:
		s.io.Notef("the answer was lost, but execution %s is cancelled", s.short(x.ID))
		return nil
	case readErr == nil && !now.Status.Terminal():
		return &exit.Error{
			Code: exit.Unreachable, What: fmt.Sprintf("execution %s is not cancelled: the request did not arrive", s.short(x.ID)),
			Why: explain(err).Why, Next: "run the same command again", Err: err,
		}
	}
	return err
}

// cancelled is what became of one execution.
type cancelled struct {
	ID      string     `json:"id"`
	AgentID string     `json:"agent_id"`
	Result  string     `json:"result"` // cancelled or error
	Error   *errorBody `json:"error"`
}

func (c cancelled) failed(f *factory, err error) cancelled {
	c.Result, c.Error = "error", f.bodyOf(explain(err))
	return c
}

func cancelledView() printer.View[cancelled] {
	return printer.View[cancelled]{
		Name: func(c cancelled) string { return "execution/" + c.ID },
		ID:   func(c cancelled) string { return c.ID },
		Columns: []printer.Column[cancelled]{
			{Name: "RESULT", Cell: func(c cancelled) printer.Cell { return printer.Text(c.Result) }},
			{Name: "ID", Cell: func(c cancelled) printer.Cell { return printer.ID(c.ID) }},
			{Name: "AGENT", Cell: func(c cancelled) printer.Cell { return printer.Dash(c.AgentID) }},
		},
	}
}
