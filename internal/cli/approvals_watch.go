package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type approvalsWatchFlags struct {
	approvalsListFlags
	hook string
	bell bool
}

func newApprovalsWatch(f *factory) *cobra.Command {
	var fl approvalsWatchFlags
	cmd := &cobra.Command{
		Use:     "watch",
		Aliases: []string{"tail"},
		Short:   "Print a line for each approval that comes, is decided, or expires",
		Long: `Prints the pending approvals, and from then on a line for each one that comes, is
decided, or expires, until it is interrupted. A lost connection is mended for as
long as it takes; what happened meanwhile is printed then, each change once.

--exec runs a command line for each one that comes: {id} in it becomes the id, and
the approval is its stdin, as JSON. KERNELCTL_APPROVAL_ID, KERNELCTL_EXECUTION_ID,
KERNELCTL_AGENT_ID and KERNELCTL_TARGET are set for it. The next line waits for it.`,
		Example: `  kernelctl approvals watch --bell
  kernelctl ap watch -o jsonl
  kernelctl ap watch --exec 'notify-send "approval {id}" "$KERNELCTL_TARGET"'`,
		Args: takes(0, 0, ""),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.execution, "execution", "x", "", "of this `execution` only")
	fs.StringVarP(&fl.agent, "agent", "a", "", "of this `agent` only")
	fs.BoolVar(&fl.mine, "mine", false, "only those that --by may decide")
	fs.String("by", "", byHelp)
	fs.StringVar(&fl.hook, "exec", "", "`command` line to run for each approval that comes")
	fs.BoolVar(&fl.bell, "bell", false, "ring the terminal's bell for each approval that comes")
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error {
		fl.status = string(wire.ApprovalPending)
		return s.watchApprovals(ctx, fl)
	})
	return cmd
}

func (s *session) watchApprovals(ctx context.Context, fl approvalsWatchFlags) error {
	filter, err := s.approvalFilter(ctx, fl.approvalsListFlags)
	if err != nil {
		return err
	}
	if fl.mine && s.User == "" {
		return exit.Usagef("--mine needs --by NAME").Because("neither --by nor KERNELCTL_BY nor the context says who you are")
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	p := s.printer()
	filter.Status = ""
	w := &approvalWatch{
		s: s, c: c, filter: filter, fl: fl,
		seen: map[string]wire.ApprovalStatus{}, list: printer.NewLive(p, approvalView(p, true)),
	}
	if err := w.relist(ctx); err != nil { // says at once when the server is not there
		return err
	}
	return s.detached(w.follow(ctx), "stopped watching approvals", "kernelctl ap watch")
}

// approvalWatch prints changes of approvals, each once.
type approvalWatch struct {
	s      *session
	c      *client.Client
	filter client.ApprovalFilter
	fl     approvalsWatchFlags
	seen   map[string]wire.ApprovalStatus // as printed last
	since  time.Time                      // of the service's clock: what is older and not pending is none of ours
	list   *printer.List[wire.Approval]
	failed error // of a listing; ends the feed
}

// follow prints what the feed says, and lists again whenever the feed may have
// left something out.
func (w *approvalWatch) follow(ctx context.Context) error {
	feed, stop := context.WithCancel(ctx)
	defer stop()
	again := func() {
		err := w.relist(feed)
		if err == nil || feed.Err() != nil || errors.As(err, new(*client.ConnectionError)) || client.StatusOf(err) >= 500 {
			return // the feed notices a lost connection, too, and lists again when it is back
		}
		w.failed = err
		stop()
	}
	notes := w.s.linkNotes()
	o := client.FeedOptions{AgentID: w.filter.AgentID, Lagged: again, Link: func(l client.Link) {
		notes(l)
		if l.Up {
			again()
		}
	}}
	// An approval that is cancelled with its execution has no event of its own,
	// so all types are asked for and the others are passed over.
	err := w.c.Feed(feed, o, func(e wire.Event) error {
		switch {
		case strings.HasPrefix(string(e.Type), "approval."):
			return w.changed(feed, payload[wire.ApprovalPayload](e).ApprovalID)
		case e.Type.EndsExecution():
			return w.ended(feed, e.ExecutionID)
		}
		return nil
	})
	if w.failed != nil && ctx.Err() == nil {
		return w.failed
	}
	return err
}

// relist prints what changed while nobody listened: what is pending now, and
// what became of those that were pending and are no longer.
func (w *approvalWatch) relist(ctx context.Context) error {
	f := w.filter
	f.Limit = wire.MaxApprovalsLimit
	pending, err := w.c.ListApprovals(ctx, f)
	if err != nil {
		return err
	}
	first := w.since.IsZero()
	if first {
		w.since = w.s.now()
	}
	now := map[string]bool{}
	for _, a := range pending {
		now[a.ID] = true
		if err := w.show(ctx, a); err != nil {
			return err
		}
	}
	for id, status := range w.seen {
		if status == wire.ApprovalPending && !now[id] {
			if err := w.changed(ctx, id); err != nil {
				return err
			}
		}
	}
	if first {
		return nil
	}
	return w.missed(ctx)
}

// missed prints approvals that came and went while nobody listened.
func (w *approvalWatch) missed(ctx context.Context) error {
	f := w.filter
	f.Status, f.Limit = wire.ApprovalsAll, wire.MaxApprovalsLimit
	all, err := w.c.ListApprovals(ctx, f)
	if err != nil {
		return err
	}
	for _, a := range all {
		if _, known := w.seen[a.ID]; !known && a.CreatedAt.After(w.since) {
			if err := w.show(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *approvalWatch) changed(ctx context.Context, id string) error {
	a, err := w.c.GetApproval(ctx, id)
	switch {
	case client.CodeOf(err) == wire.CodeNotFound: // retention took it meanwhile
		delete(w.seen, id)
		return nil
	case err != nil:
		return err
	}
	return w.show(ctx, a)
}

// ended looks at what was pending of an execution that has ended.
func (w *approvalWatch) ended(ctx context.Context, execution string) error {
	all, err := w.c.ListApprovals(ctx, client.ApprovalFilter{Status: string(wire.ApprovalCancelled), ExecutionID: execution, Limit: wire.MaxApprovalsLimit})
	if err != nil {
		return err
	}
	for _, a := range all {
		if w.seen[a.ID] == wire.ApprovalPending {
			if err := w.show(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// show prints an approval unless it was printed so, and calls for attention
// when it is one to decide.
func (w *approvalWatch) show(ctx context.Context, a wire.Approval) error {
	if w.filter.ExecutionID != "" && a.ExecutionID != w.filter.ExecutionID {
		return nil
	}
	if w.fl.mine && !mayDecide(a, w.s.User) {
		return nil
	}
	if w.seen[a.ID] == a.Status {
		return nil
	}
	w.seen[a.ID] = a.Status
	if err := w.list.Add(a); err != nil {
		return err
	}
	if a.Status != wire.ApprovalPending {
		return nil
	}
	if w.fl.bell && w.s.io.ErrTTY {
		w.s.io.Bell()
	}
	return w.hook(ctx, a)
}

// hook runs the command of --exec. Its failure is noted, for the watch is worth
// more. Only the id goes into the command line: the rest is hostile text.
func (w *approvalWatch) hook(ctx context.Context, a wire.Approval) error {
	if w.fl.hook == "" || !uuidForm.MatchString(a.ID) {
		return nil
	}
	raw, err := wire.Marshal(a)
	if err != nil {
		return err
	}
	cmd := iostreams.Shell(ctx, strings.ReplaceAll(w.fl.hook, "{id}", a.ID))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(raw)+"\n"), w.s.io.Err, w.s.io.Err
	cmd.Env = append(os.Environ(),
		"KERNELCTL_APPROVAL_ID="+a.ID, "KERNELCTL_EXECUTION_ID="+a.ExecutionID,
		"KERNELCTL_AGENT_ID="+a.AgentID, "KERNELCTL_TARGET="+strings.ReplaceAll(a.Target, "\x00", ""))
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		w.s.io.Warnf("--exec for approval %s: %v", w.s.short(a.ID), err)
	}
	return nil
}
