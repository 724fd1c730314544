package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newApprovals(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "approvals",
		Aliases: []string{"approval", "ap"},
		Short:   "Decide what a policy wants decided by a person",
		Long: `An approval is made when a policy wants a person to decide on a step. Until then
the execution is blocked.`,
		Example: `  kernelctl approvals list
  kernelctl ap get 51c09ab4
  kernelctl ap grant 51c09ab4 --by alice`,
	}, newApprovalsList(f), newApprovalsGet(f), newApprovalsGrant(f), newApprovalsDeny(f),
		newApprovalsWatch(f))
}

// approvalView shows approvals; the status only when it is not pending anyway.
func approvalView(p *printer.Printer, status bool) printer.View[wire.Approval] {
	return printer.View[wire.Approval]{
		Name: func(a wire.Approval) string { return "approval/" + a.ID },
		ID:   func(a wire.Approval) string { return a.ID },
		Columns: []printer.Column[wire.Approval]{
			{Name: "ID", Width: 8, Cell: func(a wire.Approval) printer.Cell { return printer.ID(a.ID) }},
			{Name: "STATUS", Width: 9, Wide: !status, Cell: func(a wire.Approval) printer.Cell { return printer.ApprovalStatus(a.Status) }},
			{Name: "AGENT", Width: 12, Flex: true, Cell: func(a wire.Approval) printer.Cell { return printer.Text(a.AgentID) }},
			{Name: "TARGET", Width: 16, Flex: true, Cell: func(a wire.Approval) printer.Cell { return printer.Text(a.Target) }},
			{Name: "RULE", Width: 12, Flex: true, Cell: func(a wire.Approval) printer.Cell { return printer.Dash(a.RuleID) }},
			{Name: "LEFT", Width: 6, Cell: func(a wire.Approval) printer.Cell { return approvalLeft(p, a) }},
			{Name: "EXECUTION", Width: 9, Cell: func(a wire.Approval) printer.Cell { return printer.ID(a.ExecutionID) }},
			{Name: "AGE", Width: 6, Wide: true, Cell: func(a wire.Approval) printer.Cell { return p.Age(a.CreatedAt) }},
			{Name: "APPROVERS", Width: 10, Wide: true, Flex: true, Cell: func(a wire.Approval) printer.Cell { return printer.Dash(strings.Join(a.Approvers, ",")) }},
			{Name: "BY", Width: 6, Wide: true, Cell: func(a wire.Approval) printer.Cell { return printer.Dash(deref(a.DecidedBy)) }},
			{Name: "ARGS", Width: 24, Wide: true, Flex: true, Cell: func(a wire.Approval) printer.Cell { return printer.Text(string(a.Args)) }},
		},
	}
}

// approvalLeft is the time left to decide; nothing once it was decided.
func approvalLeft(p *printer.Printer, a wire.Approval) printer.Cell {
	if a.Status != wire.ApprovalPending && a.Status != "" {
		return printer.Cell{Text: p.Ago(a.TimeoutAt).Text, Short: "-"}
	}
	return p.Left(a.TimeoutAt)
}

func deref[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}

// approvalCard is all that a person needs to decide. The arguments are never
// cut: nothing of what is approved may be out of sight.
func approvalCard(p *printer.Printer, a wire.Approval) []printer.Field {
	status := printer.ApprovalStatus(a.Status)
	if a.Status == wire.ApprovalPending && !p.Full {
		status.Short = fmt.Sprintf("pending, %s left", printer.Left(a.TimeoutAt.Sub(p.Now())))
	}
	fields := []printer.Field{
		{Name: "id", Value: printer.Text(a.ID)},
		{Name: "status", Value: status},
		{Name: "target", Value: printer.Cell{Text: a.Target + " (" + string(a.Kind) + ")", Style: printer.Bold}},
		{Name: "args", JSON: orNull(a.Args)},
		{Name: "agent", Value: printer.Text(a.AgentID)},
		{Name: "execution", Value: printer.Text(a.ExecutionID)},
		{Name: "step", Value: printer.ID(a.StepID)},
		{Name: "rule", Value: printer.Text(words(a.RuleID))},
	}
	if a.Reason != "" {
		fields = append(fields, printer.Field{Name: "reason", Value: printer.Text(a.Reason)})
	}
	if a.Message != "" {
		fields = append(fields, printer.Field{Name: "message", Text: a.Message})
	}
	approvers := printer.Cell{Text: strings.Join(a.Approvers, ", ")}
	if len(a.Approvers) == 0 {
		approvers.Short = "anyone"
	}
	fields = append(fields,
		printer.Field{Name: "approvers", Value: approvers},
		printer.Field{Name: "created", Value: p.Ago(a.CreatedAt)},
	)
	if p.Full || p.Format.Kind == printer.TSV {
		fields = append(fields, printer.Field{Name: "timeout", Value: p.Left(a.TimeoutAt)})
	}
	if a.DecidedBy != nil {
		fields = append(fields,
			printer.Field{Name: "decided by", Value: printer.Text(*a.DecidedBy)},
			printer.Field{Name: "decided", Value: p.AgoPtr(a.DecidedAt)},
		)
	}
	if r := deref(a.Rationale); r != "" {
		fields = append(fields, printer.Field{Name: "rationale", Text: r})
	}
	return fields
}
