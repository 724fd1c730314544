package cli

import (
	"context"
	"errors"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// errEnough ends a tail from within.
var errEnough = errors.New("enough")

// watchExecutions prints the executions that match, and each one again that
// changes, until it is interrupted.
func (s *session) watchExecutions(ctx context.Context, c *client.Client, filters []client.ExecutionFilter) error {
	p := s.printer()
	w := &executionWatch{c: c, filters: filters, seen: map[string]int64{}, list: printer.NewLive(p, executionView(p, nil))}
	notes := s.linkNotes()
	var listErr error
	feed, stop := context.WithCancel(ctx)
	defer stop()
	o := client.FeedOptions{AgentID: filters[0].AgentID, Type: "execution."}
	relist := func() {
		if listErr = w.relist(feed); listErr != nil && feed.Err() == nil && !errors.As(listErr, new(*client.ConnectionError)) {
			stop()
		}
	}
	o.Lagged = relist
	o.Link = func(l client.Link) {
		notes(l)
		if l.Up {
			relist()
		}
	}
	err := c.Feed(feed, o, func(e wire.Event) error { return w.changed(feed, e.ExecutionID) })
	if listErr != nil && ctx.Err() == nil {
		return listErr
	}
	return s.detached(err, "stopped watching", "kernelctl ex ls -w")
}

type executionWatch struct {
	c       *client.Client
	filters []client.ExecutionFilter
	seen    map[string]int64 // the number of events when an execution was printed last
	list    *printer.List[wire.Execution]
}

// relist prints what changed since it was printed last, oldest first. On the
// first time it is the newest page of what there is.
func (w *executionWatch) relist(ctx context.Context) error {
	var rows []wire.Execution
	collect := func(x wire.Execution) error { rows = append(rows, x); return nil }
	if _, err := walkExecutions(ctx, w.c, w.filters, defaultLimit, collect); err != nil {
		return err
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if err := w.show(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *executionWatch) changed(ctx context.Context, id string) error {
	x, err := w.c.GetExecution(ctx, id)
	switch {
	case client.CodeOf(err) == wire.CodeNotFound: // retention took it meanwhile
		return nil
	case err != nil:
		return err
	}
	for _, f := range w.filters {
		if (f.Status == "" || f.Status == x.Status || w.seen[x.ID] > 0) && hasLabels(x, f.Labels) {
			return w.show(x)
		}
	}
	return nil
}

func (w *executionWatch) show(x wire.Execution) error {
	if n, ok := w.seen[x.ID]; ok && n >= x.LastEventSeq {
		return nil
	}
	w.seen[x.ID] = x.LastEventSeq
	return w.list.Add(x)
}

func hasLabels(x wire.Execution, want map[string]string) bool {
	for k, v := range want {
		if x.Labels[k] != v {
			return false
		}
	}
	return true
}
