package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// defaultLimit is how many rows a list shows unless it is told otherwise.
const defaultLimit = 50

type executionsListFlags struct {
	agent, cursor string
	status        []string
	labels        []string
	limit         int
	watch         bool
}

func newExecutionsList(f *factory) *cobra.Command {
	var fl executionsListFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List executions, newest first",
		Long: `Lists executions, newest first: 50 of them, or --limit N, or all with --limit 0.

With --watch the list goes on: each execution that changes is printed again.`,
		Example: `  kernelctl executions list --status blocked --status running
  kernelctl ex ls --agent demo --limit 0 -o jsonl
  kernelctl ex ls -w`,
		Args: takes(0, 0, ""),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.agent, "agent", "a", "", "of this `agent` only")
	fs.StringArrayVar(&fl.status, "status", nil, "with this `status` only; repeatable")
	fs.StringArrayVarP(&fl.labels, "label", "l", nil, "with this label, `KEY=VALUE`; repeatable, all must match")
	fs.IntVar(&fl.limit, "limit", defaultLimit, "how many; 0: all")
	fs.StringVar(&fl.cursor, "cursor", "", "go on at this `cursor`, where a list ended")
	fs.BoolVarP(&fl.watch, "watch", "w", false, "go on and print what changes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := traits{long: fl.watch || fl.limit == 0, pages: !fl.watch}
		return f.do(t, func(ctx context.Context, s *session) error { return s.listExecutions(ctx, fl) })(cmd, args)
	}
	return cmd
}

func (s *session) listExecutions(ctx context.Context, fl executionsListFlags) error {
	filters, err := executionFilters(fl)
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if fl.watch {
		return s.watchExecutions(ctx, c, filters)
	}
	p := s.printer()
	var pending map[string]wire.Approval
	if p.Format.ForPerson() && !p.IDsOnly {
		pending = pendingApprovals(ctx, c, client.ApprovalFilter{AgentID: fl.agent})
	}
	list := printer.NewList(p, executionView(p, pending))
	next, err := walkExecutions(ctx, c, filters, fl.limit, list.Add)
	if err != nil {
		return err
	}
	if err := list.Close(next); err != nil {
		return err
	}
	switch {
	case list.Len() == 0 && p.Format.ForPerson():
		s.io.Notef("%s", s.f.hint("no executions; start one: kernelctl ex create --agent ID --input '{}'"))
	case next != "" && p.Format.ForPerson():
		s.io.Notef("%d shown, more exist: --limit 0 or --cursor %s", list.Len(), next)
	}
	return nil
}

// executionFilters makes one filter a status: the service takes one at a time.
func executionFilters(fl executionsListFlags) ([]client.ExecutionFilter, error) {
	labels, err := parseLabels(fl.labels)
	if err != nil {
		return nil, err
	}
	if fl.limit < 0 {
		return nil, exit.Usagef("--limit %d: want 0 or more", fl.limit)
	}
	base := client.ExecutionFilter{AgentID: fl.agent, Labels: labels, Cursor: fl.cursor}
	statuses := slices.Compact(slices.Sorted(slices.Values(splitAll(fl.status))))
	if len(statuses) == 0 {
		return []client.ExecutionFilter{base}, nil
	}
	if len(statuses) > 1 && fl.cursor != "" {
		return nil, exit.Usagef("--cursor goes with one --status at most").Because("a cursor belongs to one list of the service, and each status is one")
	}
	filters := make([]client.ExecutionFilter, len(statuses))
	for i, st := range statuses {
		if err := oneOf("status", st, wire.ExecutionStatuses()); err != nil {
			return nil, err
		}
		filters[i] = base
		filters[i].Status = wire.ExecutionStatus(st)
	}
	return filters, nil
}

// splitAll takes a,b as well as a flag given twice.
func splitAll(values []string) []string {
	var out []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// walkExecutions gives up to limit executions (0: all), newest first, merged of
// the lists of several filters. It returns where a next page begins, when there
// is one filter.
func walkExecutions(ctx context.Context, c *client.Client, filters []client.ExecutionFilter, limit int, add func(wire.Execution) error) (next string, err error) {
	if len(filters) == 1 {
		return walkPages(ctx, c, filters[0], limit, add)
	}
	var all []wire.Execution
	for _, f := range filters {
		collect := func(x wire.Execution) error { all = append(all, x); return nil }
		if _, err := walkPages(ctx, c, f, limit, collect); err != nil {
			return "", err
		}
	}
	// Ids are ordered by time.
	slices.SortFunc(all, func(a, b wire.Execution) int { return cmp.Compare(b.ID, a.ID) })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	for _, x := range all {
		if err := add(x); err != nil {
			return "", err
		}
	}
	return "", nil
}

func walkPages(ctx context.Context, c *client.Client, f client.ExecutionFilter, limit int, add func(wire.Execution) error) (next string, err error) {
	for n := 0; ; {
		f.Limit = wire.MaxExecutionsLimit
		if limit > 0 {
			f.Limit = min(f.Limit, limit-n)
		}
		page, err := c.ListExecutions(ctx, f)
		if err != nil {
			return "", err
		}
		for _, x := range page.Executions {
			if err := add(x); err != nil {
				return "", err
			}
		}
		if n += len(page.Executions); page.NextCursor == "" || (limit > 0 && n >= limit) {
			return page.NextCursor, nil
		}
		f.Cursor = page.NextCursor
	}
}
