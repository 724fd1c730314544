package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newEvents(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "events",
		Aliases: []string{"event", "ev"},
		Short:   "Read and follow the event log",
		Long: `The event log is the system of record: all that happens in an execution is an
event, numbered from 1 without a gap.`,
		Example: `  kernelctl events list 9f3a71c2
  kernelctl events tail 9f3a71c2`,
	}, newEventsList(f), newEventsTail(f))
}

// eventView shows events; those of several executions with the execution.
func eventView(p *printer.Printer, several bool) printer.View[wire.Event] {
	v := printer.View[wire.Event]{
		Name: func(e wire.Event) string { return fmt.Sprintf("event/%s/%d", e.ExecutionID, e.EventSeq) },
		ID:   func(e wire.Event) string { return e.ID },
	}
	if several {
		v.Columns = append(v.Columns, printer.Column[wire.Event]{
			Name: "EXECUTION", Width: 9, Cell: func(e wire.Event) printer.Cell { return printer.ID(e.ExecutionID) },
		})
	}
	v.Columns = append(v.Columns, []printer.Column[wire.Event]{
		{Name: "SEQ", Width: 4, Right: true, Cell: func(e wire.Event) printer.Cell { return printer.Int(e.EventSeq) }},
		{Name: "TIME", Width: 8, Cell: func(e wire.Event) printer.Cell { return p.Clock(e.OccurredAt) }},
		{Name: "TYPE", Width: 22, Cell: func(e wire.Event) printer.Cell { return printer.EventType(e.Type) }},
		{Name: "DETAIL", Width: 24, Flex: true, Cell: eventDetail},
	}...)
	return v
}

func newEventsList(f *factory) *cobra.Command {
	var after int64
	var limit int
	var types []string
	cmd := &cobra.Command{
		Use:     "list ID",
		Aliases: []string{"ls"},
		Short:   "List the events of an execution",
		Long: `Lists the events of an execution, oldest first: all of them, unless --limit says
how many. Lists of any length take constant memory.`,
		Example: `  kernelctl events list 9f3a71c2
  kernelctl events list 9f3a71c2 --type 'step.*' -o jsonl
  kernelctl events list 9f3a71c2 --after-seq 40 --limit 10`,
		Args: takes(1, 1, "the id of an execution"),
	}
	fs := cmd.Flags()
	fs.Int64Var(&after, "after-seq", 0, "only events after this number")
	fs.IntVar(&limit, "limit", 0, "how many; 0: all")
	fs.StringArrayVar(&types, "type", nil, "only events of this `type`, such as 'step.*'; repeatable")
	cmd.RunE = f.do(traits{long: true, pages: true}, func(ctx context.Context, s *session) error {
		want, err := typeFilter(types)
		if err != nil {
			return err
		}
		if after < 0 || limit < 0 {
			return exit.Usagef("--after-seq and --limit cannot be negative")
		}
		id, err := s.executionID(ctx, s.args[0])
		if err != nil {
			return err
		}
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		return s.listEvents(ctx, c, id, after, limit, want)
	})
	return cmd
}

func (s *session) listEvents(ctx context.Context, c *client.Client, id string, after int64, limit int, want func(wire.EventType) bool) error {
	p := s.printer()
	list := newLog(p, eventView(p, false))
	for e, err := range c.Events(ctx, id, after) {
		if err != nil {
			return executionError(err, s.args[0])
		}
		if !want(e.Type) {
			continue
		}
		if err := list.Add(e); err != nil {
			return err
		}
		if limit > 0 && list.Len() == limit {
			break
		}
	}
	return list.Close("")
}

// newLog is a list whose table is written row by row, because it may be long.
func newLog[T any](p *printer.Printer, v printer.View[T]) *printer.List[T] {
	if p.Format.Kind == printer.Table || p.Format.Kind == printer.Wide {
		return printer.NewLive(p, v)
	}
	return printer.NewList(p, v)
}

// typeFilter is a test of a type against globs, of which any may match.
func typeFilter(globs []string) (func(wire.EventType) bool, error) {
	globs = splitAll(globs)
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return nil, exit.Usagef("--type %q: not a pattern", g).Try("use * for any run of characters, as in 'step.*'")
		}
		if err := knownType(g); err != nil {
			return nil, err
		}
	}
	return func(t wire.EventType) bool {
		for _, g := range globs {
			if ok, _ := path.Match(g, string(t)); ok {
				return true
			}
		}
		return len(globs) == 0
	}, nil
}

// knownType warns of a pattern that no type can match: silence would look like
// an empty log.
func knownType(glob string) error {
	var names []string
	for _, t := range wire.EventTypes() {
		if ok, _ := path.Match(glob, string(t)); ok {
			return nil
		}
		names = append(names, string(t))
	}
	e := exit.Usagef("--type %q: no event has such a type", glob).Try("one of %s", strings.Join(names, ", "))
	if near := nearest(glob, names); near != "" {
		e = e.Because("did you mean %s?", near)
	}
	return e
}

// executionError names the execution that is not there.
func executionError(err error, arg string) error {
	if client.CodeOf(err) != wire.CodeNotFound {
		return err
	}
	return &exit.Error{
		Code: exit.NotFound, What: "no execution " + arg, Why: explain(err).Why,
		Next: "kernelctl executions list", Slug: string(wire.CodeNotFound), Err: err,
	}
}

type tailFlags struct {
	since    int64
	fromNow  bool
	terminal bool
	types    []string
	agent    string
}

func newEventsTail(f *factory) *cobra.Command {
	var fl tailFlags
	cmd := &cobra.Command{
		Use:     "tail [ID]",
		Aliases: []string{"follow"},
		Short:   "List the events of an execution and follow it",
		Long: `Lists the events of an execution from the first one on and follows it until it
has ended. A lost connection is mended for as long as it takes; no event is lost
or shown twice.

Without an id it follows all executions from now on. There, what happens while
the connection is lost is not shown.

Exit 0 when the execution has ended, however it ended. Ctrl-C only stops
following.`,
		Example: `  kernelctl events tail 9f3a71c2
  kernelctl events tail 9f3a71c2 --from-now -o jsonl
  kernelctl events tail --agent demo --type 'approval.*'`,
		Args: takes(0, 1, "the id of an execution"),
	}
	fs := cmd.Flags()
	fs.Int64Var(&fl.since, "since-seq", 0, "begin after this number")
	fs.BoolVar(&fl.fromNow, "from-now", false, "leave out what has happened")
	fs.BoolVar(&fl.terminal, "exit-on-terminal", true, "stop when the execution has ended")
	fs.StringArrayVar(&fl.types, "type", nil, "only events of this `type`, such as 'step.*'; repeatable")
	fs.StringVarP(&fl.agent, "agent", "a", "", "without an id: of this `agent` only")
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error {
		want, err := typeFilter(fl.types)
		if err != nil {
			return err
		}
		switch {
		case fl.since < 0:
			return exit.Usagef("--since-seq cannot be negative")
		case len(s.args) == 0:
			return s.tailAll(ctx, fl, want)
		case fl.agent != "":
			return exit.Usagef("--agent goes without an id")
		}
		return s.tail(ctx, fl, want)
	})
	return cmd
}

func (s *session) tail(ctx context.Context, fl tailFlags, want func(wire.EventType) bool) error {
	x, c, err := s.execution(ctx, s.args[0])
	if err != nil {
		return err
	}
	o := client.TailOptions{AfterSeq: fl.since, Forever: !fl.terminal, Link: s.linkNotes()}
	if fl.fromNow {
		o.AfterSeq = x.LastEventSeq
	}
	p := s.printer()
	list := printer.NewLive(p, eventView(p, false))
	seen := o.AfterSeq
	err = c.TailEvents(ctx, x.ID, o, func(e wire.Event) error {
		seen = e.EventSeq
		if !want(e.Type) {
			return nil
		}
		return list.Add(e)
	})
	return s.detached(errors.Join(err, list.Close("")), "stopped following execution "+s.short(x.ID),
		fmt.Sprintf("kernelctl events tail %s --since-seq %d", printer.ShortID(x.ID), seen))
}

// tailAll follows all executions.
func (s *session) tailAll(ctx context.Context, fl tailFlags, want func(wire.EventType) bool) error {
	if fl.since > 0 || s.cmd.Flags().Changed("exit-on-terminal") {
		return exit.Usagef("--since-seq and --exit-on-terminal need the id of an execution")
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Version(ctx); err != nil { // say at once when the server is not there
		return err
	}
	p := s.printer()
	list := printer.NewLive(p, eventView(p, true))
	o := client.FeedOptions{
		AgentID: fl.agent, Link: s.linkNotes(),
		Lagged: func() { s.io.Warnf("events were lost: this reader is too slow") },
	}
	err = c.Feed(ctx, o, func(e wire.Event) error {
		if !want(e.Type) {
			return nil
		}
		return list.Add(e)
	})
	return s.detached(errors.Join(err, list.Close("")), "stopped following", "kernelctl events tail")
}
