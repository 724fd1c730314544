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
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type exportFlags struct {
	executionsListFlags
	file   string
	resume bool
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
--file FILE --resume cuts FILE behind its last whole page and goes on there, and
--since-cursor takes the last cursor of an export that went to stdout. Give the
same --agent, --status and --label again.`,
		Example: `  kernelctl export 9f3a71c2 > run.jsonl
  kernelctl export --status completed --file x.jsonl
  kernelctl export --status completed --file x.jsonl --resume`,
		Args: takes(0, many, ""),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.agent, "agent", "a", "", "of this `agent` only")
	fs.StringArrayVar(&fl.status, "status", nil, "with this `status` only; repeatable")
	fs.StringArrayVarP(&fl.labels, "label", "l", nil, "with this label, `KEY=VALUE`; repeatable, all must match")
	fs.IntVar(&fl.limit, "limit", 0, "how many; 0: all")
	fs.StringVar(&fl.cursor, "since-cursor", "", "go on at this `cursor`, where an export ended")
	fs.StringVar(&fl.file, "file", "", "write to this `file` instead of stdout; it must not exist, unless --resume is given")
	fs.BoolVar(&fl.resume, "resume", false, "go on in the file of an export that was cut short")
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error { return s.export(ctx, fl) })
	return cmd
}

func (s *session) export(ctx context.Context, fl exportFlags) (err error) {
	filters, err := fl.filters(len(s.args) > 0)
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
	out, err := exportFile(s.out, fl)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if f, ok := out.(*os.File); ok && fl.resume {
		done, err := resumeExport(f)
		if err != nil {
			return err
		}
		if done.Complete {
			s.io.Notef("%s is complete", fl.file)
			return nil
		}
		filters[0].Cursor = done.Cursor
	}
	e := &exporter{c: c, w: archive.NewWriter(out), cursor: filters[0].Cursor}
	if len(ids) > 0 {
		err = e.named(ctx, ids)
	} else {
		err = e.all(ctx, filters, fl.limit)
	}
	s.io.Notef("%s, %s", printer.Counted(e.executions, "execution"), printer.Counted(e.events, "event"))
	if err != nil && len(filters) == 1 && len(ids) == 0 {
		return fl.goOn(err, e.cursor)
	}
	return err
}

// filters are what to export, when nothing is named.
func (fl exportFlags) filters(named bool) ([]client.ExecutionFilter, error) {
	switch {
	case named && (fl.agent != "" || len(fl.status) > 0 || len(fl.labels) > 0 || fl.cursor != "" || fl.limit != 0 || fl.resume):
		return nil, exit.Usagef("ids go without --agent, --status, --label, --limit, --resume and --since-cursor")
	case fl.resume && (fl.file == "" || fl.file == "-" || fl.cursor != ""):
		return nil, exit.Usagef("--resume goes with --file FILE, and without --since-cursor").
			Because("it finds the cursor in the file")
	}
	filters, err := executionFilters(fl.executionsListFlags)
	if err == nil && fl.resume && len(filters) > 1 {
		err = exit.Usagef("--resume goes with one --status at most").Because("several have no cursor in common")
	}
	return filters, err
}

// goOn is an error with how to go on after it.
func (fl exportFlags) goOn(err error, cursor string) error {
	e := explain(err)
	switch {
	case e.Silent: // nobody reads what is written
	case fl.file != "" && fl.file != "-":
		e.Next = "rerun with --resume"
	case cursor != "":
		e.Next = "go on with --since-cursor " + cursor
	}
	return e
}

// exportFile is where an export goes: an [os.File] for a name.
func exportFile(stdout io.Writer, fl exportFlags) (io.WriteCloser, error) {
	if fl.file == "" || fl.file == "-" {
		return keepOpen{stdout}, nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if fl.resume {
		flags = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(fl.file, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, exit.Usagef("%s is there already", fl.file).Try("choose another name, or go on in it with --resume")
	}
	if err != nil {
		return nil, exit.Usagef("cannot write %s", fl.file).Because("%v", err)
	}
	return f, nil
}

// resumeExport cuts an export behind its last whole page, ready to be written
// to. It touches nothing that is damaged, no export, or complete.
func resumeExport(f *os.File) (archive.Progress, error) {
	p, err := archive.Scan(f)
	switch {
	case err != nil:
		return p, &exit.Error{
			Code: exit.CheckFailed, What: f.Name() + " is damaged, or no export", Why: err.Error(), Err: err,
			Next: "kernelctl verify --file " + f.Name(),
		}
	case p.Complete:
		return p, nil
	}
	if err := f.Truncate(p.Bytes); err != nil {
		return p, fmt.Errorf("cut what is behind the last whole page: %w", err)
	}
	_, err = f.Seek(p.Bytes, io.SeekStart)
	return p, err
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
	return e.w.Cursor("")
}

// all copies page by page. Several filters have no cursor in common, so there
// is one for a single filter only.
func (e *exporter) all(ctx context.Context, filters []client.ExecutionFilter, limit int) error {
	if len(filters) > 1 {
		if _, err := walkExecutions(ctx, e.c, filters, limit, func(x wire.Execution) error { return e.one(ctx, x) }); err != nil {
			return err
		}
		return e.w.Cursor("")
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
