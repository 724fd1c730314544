package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/archive"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type exportFlags struct {
	executionsListFlags
	file string
}

func newExport(f *factory) *cobra.Command {
	var fl exportFlags
	cmd := &cobra.Command{
		Use:   "export [ID...]",
		Short: "Copy executions with all their events and steps to a file",
		Long: `Writes executions as JSON lines: each with its events, steps and approvals, and
with a digest at its end. The file can be read without a server (kernelctl
executions view) and checked (kernelctl verify --file).

Without ids it writes all executions that match, newest first. After each page it
writes where the next one begins, so that an export that was cut short can go on:
--since-cursor takes the last cursor in the file, and --file appends then.`,
		Example: `  kernelctl export 9f3a71c2 > run.jsonl
  kernelctl export --status completed --file x.jsonl
  kernelctl export --file x.jsonl --since-cursor CURSOR`,
		Args: takes(0, many, ""),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.agent, "agent", "a", "", "of this agent only")
	fs.StringArrayVar(&fl.status, "status", nil, "with this status only; repeatable")
	fs.StringArrayVarP(&fl.labels, "label", "l", nil, "with this label, KEY=VALUE; repeatable, all must match")
	fs.IntVar(&fl.limit, "limit", 0, "how many; 0: all")
	fs.StringVar(&fl.cursor, "since-cursor", "", "go on where an export ended")
	fs.StringVar(&fl.file, "file", "", "write to this file instead of stdout; it must not exist, unless --since-cursor is given")
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error { return s.export(ctx, fl) })
	return cmd
}

func (s *session) export(ctx context.Context, fl exportFlags) (err error) {
	if len(s.args) > 0 && (fl.agent != "" || len(fl.status) > 0 || len(fl.labels) > 0 || fl.cursor != "" || fl.limit != 0) {
		return exit.Usagef("ids go without --agent, --status, --label, --limit and --since-cursor")
	}
	filters, err := executionFilters(fl.executionsListFlags)
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, arg := range s.args { // before anything is written
		id, err := s.executionID(ctx, arg)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	out, err := exportFile(s.out, fl.file, fl.cursor != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	e := &exporter{c: c, w: archive.NewWriter(out), cursor: fl.cursor}
	if len(ids) > 0 {
		err = e.named(ctx, ids)
	} else {
		err = e.all(ctx, filters, fl.limit)
	}
	s.io.Notef("%s, %s", counted(e.executions, "execution"), counted(e.events, "event"))
	if err != nil && len(ids) == 0 && e.cursor != "" {
		x := explain(err)
		x.Next = "go on with --since-cursor " + e.cursor
		return x
	}
	return err
}

// exportFile is where an export goes.
func exportFile(stdout io.Writer, path string, goOn bool) (io.WriteCloser, error) {
	if path == "" || path == "-" {
		return keepOpen{stdout}, nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if goOn {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, exit.Usagef("%s is there already", path).Try("choose another name, or go on with --since-cursor")
	}
	if err != nil {
		return nil, exit.Usagef("cannot write %s", path).Because("%v", err)
	}
	return f, nil
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// exporter copies executions.
type exporter struct {
	c                  *client.Client
	w                  *archive.Writer
	cursor             string // where the page that is under way begins
	executions, events int
}

func (e *exporter) named(ctx context.Context, ids []string) error {
	for _, id := range ids {
		x, err := e.c.GetExecution(ctx, id)
		if err != nil {
			return executionError(err, id)
		}
		if err := e.one(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// all copies page by page. Several filters have no cursor in common, so there
// is one for a single filter only.
func (e *exporter) all(ctx context.Context, filters []client.ExecutionFilter, limit int) error {
	if len(filters) > 1 {
		_, err := walkExecutions(ctx, e.c, filters, limit, func(x wire.Execution) error { return e.one(ctx, x) })
		return err
	}
	f := filters[0]
	for {
		f.Limit = wire.MaxExecutionsLimit
		if limit > 0 {
			f.Limit = min(f.Limit, limit-e.executions)
		}
		page, err := e.c.ListExecutions(ctx, f)
		if err != nil {
			return err
		}
		for _, x := range page.Executions {
			if err := e.one(ctx, x); err != nil {
				return err
			}
		}
		if err := e.w.Cursor(page.NextCursor); err != nil {
			return err
		}
		if e.cursor = page.NextCursor; e.cursor == "" || (limit > 0 && e.executions >= limit) {
			return nil
		}
		f.Cursor = e.cursor
	}
}

// one copies one execution as far as its log went when it was read, so that log
// and status agree although it may go on.
func (e *exporter) one(ctx context.Context, x wire.Execution) error {
	steps, err := e.c.ListSteps(ctx, x.ID, "")
	if err != nil {
		return err
	}
	approvals, err := e.c.ListApprovals(ctx, client.ApprovalFilter{Status: wire.ApprovalsAll, ExecutionID: x.ID, Limit: wire.MaxApprovalsLimit})
	if err != nil {
		return err
	}
	if err := e.w.Begin(x); err != nil {
		return err
	}
	for ev, err := range e.c.Events(ctx, x.ID, 0) {
		if err != nil {
			return err
		}
		if ev.EventSeq > x.LastEventSeq {
			break
		}
		if err := e.w.Event(ev); err != nil {
			return err
		}
		e.events++
	}
	for _, st := range steps {
		if err := e.w.Step(st); err != nil {
			return err
		}
	}
	for _, a := range approvals {
		if err := e.w.Approval(a); err != nil {
			return err
		}
	}
	if err := e.w.End(); err != nil {
		return fmt.Errorf("write execution %s: %w", x.ID, err)
	}
	e.executions++
	return nil
}
