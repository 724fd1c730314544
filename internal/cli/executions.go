package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newExecutions(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "executions",
		Aliases: []string{"execution", "exec", "ex"},
		Short:   "Create, list, watch and cancel executions",
		Long: `An execution is one run of an agent. Its id can be given as its beginning or its
end, as long as it is unique: the last 8 characters are what lists show.`,
		Example: `  kernelctl executions list --status blocked
  kernelctl ex watch 9f3a71c2`,
	}, newExecutionsCreate(f), newExecutionsList(f), newExecutionsGet(f), newExecutionsWatch(f),
		newExecutionsWait(f), newExecutionsCancel(f), newExecutionsView(f))
}

// executionView shows executions; pending are the approvals that blocked ones
// wait for.
func executionView(p *printer.Printer, pending map[string]wire.Approval) printer.View[wire.Execution] {
	return printer.View[wire.Execution]{
		Name: func(x wire.Execution) string { return "execution/" + x.ID },
		ID:   func(x wire.Execution) string { return x.ID },
		Columns: []printer.Column[wire.Execution]{
			{Name: "ID", Width: 8, Cell: func(x wire.Execution) printer.Cell { return printer.ID(x.ID) }},
			{Name: "AGENT", Width: 12, Flex: true, Cell: func(x wire.Execution) printer.Cell { return printer.Text(x.AgentID) }},
			{Name: "STATUS", Width: 9, Cell: func(x wire.Execution) printer.Cell { return printer.ExecutionStatus(x.Status) }},
			{Name: "AGE", Width: 6, Cell: func(x wire.Execution) printer.Cell { return p.Age(x.CreatedAt) }},
			{Name: "UPDATED", Width: 10, Cell: func(x wire.Execution) printer.Cell { return p.Ago(x.UpdatedAt) }},
			{Name: "EVENTS", Width: 6, Wide: true, Right: true, Cell: func(x wire.Execution) printer.Cell { return printer.Int(x.LastEventSeq) }},
			{Name: "DEADLINE", Width: 9, Wide: true, Cell: func(x wire.Execution) printer.Cell { return deadline(p, x) }},
			{Name: "LABELS", Width: 12, Wide: true, Flex: true, Cell: func(x wire.Execution) printer.Cell { return printer.Dash(labels(x.Labels)) }},
			{Name: "DETAIL", Width: 24, Flex: true, Cell: func(x wire.Execution) printer.Cell { return executionDetail(x, pending) }},
		},
	}
}

func deadline(p *printer.Printer, x wire.Execution) printer.Cell {
	if x.DeadlineAt == nil || x.Status.Terminal() {
		return printer.Cell{Short: "-"}
	}
	return p.Left(*x.DeadlineAt)
}

func labels(l map[string]string) string {
	pairs := make([]string, 0, len(l))
	for _, k := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, k+"="+l[k])
	}
	return strings.Join(pairs, ",")
}

// executionDetail is what a person wants to know next.
func executionDetail(x wire.Execution, pending map[string]wire.Approval) printer.Cell {
	if a, ok := pending[x.ID]; ok && x.Status == wire.ExecutionBlocked {
		return printer.Cell{
			Text:  fmt.Sprintf("approval %s %s", a.ID, a.Target),
			Short: fmt.Sprintf("approval %s %s", printer.ShortID(a.ID), a.Target),
		}
	}
	return printer.Dash(x.FailureReason)
}

// pendingApprovals are those that executions wait for, by execution. They only
// adorn a table, so a failure to read them is not one of the command.
func pendingApprovals(ctx context.Context, c *client.Client, f client.ApprovalFilter) map[string]wire.Approval {
	f.Limit = wire.MaxApprovalsLimit
	approvals, err := c.ListApprovals(ctx, f)
	if err != nil {
		return nil
	}
	pending := make(map[string]wire.Approval, len(approvals))
	for _, a := range approvals {
		pending[a.ExecutionID] = a
	}
	return pending
}
