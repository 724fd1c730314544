package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newExecutionsGet(f *factory) *cobra.Command {
	var full, watch bool
	cmd := &cobra.Command{
		Use:     "get ID",
		Aliases: []string{"show"},
		Short:   "Show one execution",
		Long: `Shows one execution: where it stands, what it waits for, its input and output.

With --watch it is printed again each time that its status changes, until it has
ended.`,
		Example: `  kernelctl executions get 9f3a71c2
  kernelctl ex get 9f3a71c2 --full
  kernelctl ex get 9f3a71c2 -o go-template='{{.status}}'`,
		Args: takes(1, 1, "the id of an execution"),
	}
	cmd.Flags().BoolVar(&full, "full", false, "show input and output whole")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print it again when its status changes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.do(traits{pages: !watch, long: watch}, func(ctx context.Context, s *session) error {
			x, c, err := s.execution(ctx, s.args[0])
			if err != nil {
				return err
			}
			if watch {
				return s.watchStatus(ctx, c, x)
			}
			p := s.printer()
			return printer.One(p, executionView(p, nil), x, func() []printer.Field {
				fields := s.executionCard(ctx, p, c, x)
				if full || p.Format.Kind == printer.TSV {
					return fields
				}
				return printer.Shorten(fields, "--full shows all")
			})
		})(cmd, args)
	}
	return cmd
}

// execution reads the execution that was meant.
func (s *session) execution(ctx context.Context, arg string) (wire.Execution, *client.Client, error) {
	id, err := s.executionID(ctx, arg)
	if err != nil {
		return wire.Execution{}, nil, err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return wire.Execution{}, nil, err
	}
	x, err := c.GetExecution(ctx, id)
	return x, c, executionError(err, arg)
}

func (s *session) executionCard(ctx context.Context, p *printer.Printer, c *client.Client, x wire.Execution) []printer.Field {
	var pending map[string]wire.Approval
	if x.Status == wire.ExecutionBlocked && c != nil {
		pending = pendingApprovals(ctx, c, client.ApprovalFilter{ExecutionID: x.ID})
	}
	fields := []printer.Field{
		{Name: "id", Value: printer.Text(x.ID)},
		{Name: "agent", Value: printer.Text(x.AgentID)},
		{Name: "status", Value: executionStatusLine(p, x, pending)},
		{Name: "created", Value: p.Ago(x.CreatedAt)},
		{Name: "updated", Value: p.Ago(x.UpdatedAt)},
	}
	if x.DeadlineAt != nil {
		fields = append(fields, printer.Field{Name: "deadline", Value: deadline(p, x)})
	}
	if len(x.Labels) > 0 {
		fields = append(fields, printer.Field{Name: "labels", Value: printer.Text(labels(x.Labels))})
	}
	if x.FailureReason != "" {
		fields = append(fields, printer.Field{Name: "reason", Value: printer.Cell{Text: x.FailureReason, Style: printer.Bad}})
	}
	fields = append(fields,
		printer.Field{Name: "events", Value: printer.Text(strconv.FormatInt(x.LastEventSeq, 10))},
		printer.Field{Name: "input", JSON: orNull(x.Input)},
		printer.Field{Name: "output", JSON: orNull(x.Output)},
	)
	if a, ok := pending[x.ID]; ok && p.Format.Kind != printer.TSV {
		fields = append(fields, printer.Field{Name: "next", Value: printer.Text(s.f.hint("kernelctl ap grant " + printer.ShortID(a.ID) + " --by NAME"))})
	}
	return fields
}

func executionStatusLine(p *printer.Printer, x wire.Execution, pending map[string]wire.Approval) printer.Cell {
	cell := printer.ExecutionStatus(x.Status)
	a, ok := pending[x.ID]
	if !ok || p.Full {
		return cell
	}
	cell.Short = fmt.Sprintf("%s %s on approval %s (%s left)", x.Status,
		printer.Duration(p.Now().Sub(a.CreatedAt.Time)), printer.ShortID(a.ID), printer.Left(a.TimeoutAt.Sub(p.Now())))
	return cell
}

// orNull is a JSON value that is there.
func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}
