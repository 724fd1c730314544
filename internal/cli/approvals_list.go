package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const byHelp = "`name` of who decides; else KERNELCTL_BY, or the user of the context"

type approvalsListFlags struct {
	execution, agent, status string
	mine, watch              bool
	limit                    int
}

func newApprovalsList(f *factory) *cobra.Command {
	var fl approvalsListFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List approvals, the one that expires first at the top",
		Long: `Lists pending approvals, the one that expires first at the top. --status shows
those that were decided, too.

With --watch the list goes on as kernelctl approvals watch does.`,
		Example: `  kernelctl approvals list
  kernelctl ap ls --mine --by alice
  kernelctl ap ls --status all --execution 9f3a71c2 -o json`,
		Args: takes(0, 0, ""),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.execution, "execution", "x", "", "of this `execution` only")
	fs.StringVarP(&fl.agent, "agent", "a", "", "of this `agent` only")
	fs.StringVar(&fl.status, "status", string(wire.ApprovalPending), "`status`: pending, granted, denied, expired, cancelled or all")
	fs.BoolVar(&fl.mine, "mine", false, "only those that --by may decide")
	fs.String("by", "", byHelp)
	fs.IntVar(&fl.limit, "limit", defaultLimit, "how many; 0: as many as the service gives (1000)")
	fs.BoolVarP(&fl.watch, "watch", "w", false, "go on and print what changes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := traits{long: fl.watch, pages: !fl.watch}
		return f.do(t, func(ctx context.Context, s *session) error { return s.listApprovals(ctx, fl) })(cmd, args)
	}
	return cmd
}

func (s *session) listApprovals(ctx context.Context, fl approvalsListFlags) error {
	filter, err := s.approvalFilter(ctx, fl)
	if err != nil {
		return err
	}
	if fl.watch {
		return s.watchApprovals(ctx, approvalsWatchFlags{approvalsListFlags: fl})
	}
	if fl.mine && s.User == "" {
		return exit.Usagef("--mine needs --by NAME").Because("neither --by nor KERNELCTL_BY nor the context says who you are")
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	ask := filter
	if ask.Limit++; fl.mine || fl.limit == 0 || ask.Limit > wire.MaxApprovalsLimit {
		ask.Limit = wire.MaxApprovalsLimit
	}
	approvals, err := c.ListApprovals(ctx, ask)
	if err != nil {
		return err
	}
	if fl.mine {
		approvals = slices.DeleteFunc(approvals, func(a wire.Approval) bool { return !mayDecide(a, s.User) })
	}
	more := fl.limit > 0 && len(approvals) > fl.limit
	if more {
		approvals = approvals[:fl.limit]
	}
	p := s.printer()
	list := printer.NewList(p, approvalView(p, fl.status != string(wire.ApprovalPending)))
	for _, a := range approvals {
		if err := list.Add(a); err != nil {
			return err
		}
	}
	if err := list.Close(""); err != nil {
		return err
	}
	switch {
	case !p.Format.ForPerson():
	case len(approvals) == 0:
		s.io.Notef("no approvals: nothing waits for you")
	case more:
		s.io.Notef("%d shown, more exist: --limit 0", len(approvals))
	}
	return nil
}

func (s *session) approvalFilter(ctx context.Context, fl approvalsListFlags) (f client.ApprovalFilter, err error) {
	if err := oneOf("status", fl.status, wire.ApprovalStatuses(), wire.ApprovalsAll); err != nil {
		return f, err
	}
	if fl.limit < 0 {
		return f, exit.Usagef("--limit %d: want 0 or more", fl.limit)
	}
	f = client.ApprovalFilter{Status: fl.status, AgentID: fl.agent, Limit: fl.limit}
	if fl.execution != "" {
		f.ExecutionID, err = s.executionID(ctx, fl.execution)
	}
	return f, err
}

// mayDecide reports whether a name is among the approvers, or anyone is.
func mayDecide(a wire.Approval, name string) bool {
	return len(a.Approvers) == 0 || slices.Contains(a.Approvers, name)
}

func newApprovalsGet(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get ID",
		Aliases: []string{"show"},
		Short:   "Show one approval with all that is needed to decide it",
		Long: `Shows one approval: what is to be done and with which arguments, which rule wants
it decided and why, who may decide, and how much time is left.`,
		Example: `  kernelctl approvals get 51c09ab4
  kernelctl ap get 51c09ab4 -o json | jq .args`,
		Args: takes(1, 1, "the id of an approval"),
	}
	cmd.RunE = f.do(traits{pages: true}, func(ctx context.Context, s *session) error {
		a, err := s.approval(ctx, s.args[0])
		if err != nil {
			return approvalError(err, s.args[0])
		}
		p := s.printer()
		return printer.One(p, approvalView(p, true), a, func() []printer.Field {
			fields := approvalCard(p, a)
			if a.Status == wire.ApprovalPending && p.Format.Kind != printer.TSV {
				fields = append(fields, printer.Field{Name: "next", Value: printer.Text(s.f.hint("kernelctl ap grant " + printer.ShortID(a.ID) + " --by NAME"))})
			}
			return fields
		})
	})
	return cmd
}

// approvalError names the approval that is not there.
func approvalError(err error, arg string) error {
	var e *exit.Error
	if client.CodeOf(err) != wire.CodeNotFound || errors.As(err, &e) {
		return err
	}
	return &exit.Error{
		Code: exit.NotFound, What: "no approval " + arg, Why: explain(err).Why,
		Next: "kernelctl approvals list", Slug: string(wire.CodeNotFound), Err: err,
	}
}
