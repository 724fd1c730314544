package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// newTop is the plain snapshot; on a terminal, the dashboard of another package
// when it is there.
func newTop(f *factory) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show how much is going on",
		Long: `Shows how many executions are running, blocked and pending, which approvals wait
and for how long, how much waits to be delivered and to be stored, and how fast
the service answers.

On a terminal it opens the metrics of the dashboard, unless --once is given.`,
		Example: `  kernelctl top --once
  kernelctl top --once -o json | jq .approvals.pending`,
		Args: takes(0, 0, ""),
	}
	cmd.Flags().BoolVar(&once, "once", false, "one plain snapshot, also on a terminal")
	snapshot := f.do(traits{}, func(ctx context.Context, s *session) error {
		snap, err := s.snapshot(ctx)
		if err != nil {
			return err
		}
		return s.printSnapshot(snap)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if ui := dashboard(cmd); ui != nil && !once && f.io.CanPrompt() && f.io.OutTTY && !cmd.Flags().Changed("output") {
			if err := ui.Flags().Set("screen", "metrics"); err != nil {
				return err
			}
			return ui.RunE(ui, nil)
		}
		return snapshot(cmd, args)
	}
	return cmd
}

// dashboard is the command ui of another package, ready to run with the global
// flags of cmd; nil when there is none.
func dashboard(cmd *cobra.Command) *cobra.Command {
	ui, _, err := cmd.Root().Find([]string{"ui"})
	if err != nil || ui == cmd.Root() || ui.RunE == nil {
		return nil
	}
	if err := ui.ParseFlags(nil); err != nil { // which lets it inherit the global flags
		return nil
	}
	ui.SetContext(cmd.Context())
	return ui
}

// maxCount is how far executions are counted; beyond it there are more.
const maxCount = 1000

// snapshot is how much is going on.
type snapshot struct {
	At         wire.Time                      `json:"at"`
	Executions map[wire.ExecutionStatus]tally `json:"executions"` // of those that have not ended
	Approvals  approvalTally                  `json:"approvals"`
	Agents     int                            `json:"agents"`
	Dispatches *int64                         `json:"dispatches_waiting"` // to be delivered; null when the service does not say
	Writes     *int64                         `json:"writes_waiting"`     // to be stored
	Database   *int64                         `json:"database_bytes"`
	AnswerMS   float64                        `json:"answer_ms"` // of a health request
}

type tally struct {
	Count int  `json:"count"`
	More  bool `json:"more"` // there are more than were counted
}

func (t tally) String() string {
	if t.More {
		return fmt.Sprintf("%d+", t.Count)
	}
	return fmt.Sprint(t.Count)
}

type approvalTally struct {
	Pending     int        `json:"pending"`
	OldestAt    *wire.Time `json:"oldest_at"`
	NextTimeout *wire.Time `json:"next_timeout_at"`
}

func (s *session) snapshot(ctx context.Context) (snap snapshot, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return snap, err
	}
	began := time.Now()
	if _, err = c.Health(ctx); err != nil {
		return snap, err
	}
	snap.AnswerMS = float64(time.Since(began).Microseconds()) / 1000
	if err = snap.count(ctx, c); err != nil {
		return snap, err
	}
	pending, err := c.ListApprovals(ctx, client.ApprovalFilter{Limit: wire.MaxApprovalsLimit})
	if err != nil {
		return snap, err
	}
	snap.Approvals = tallyApprovals(pending)
	agents, err := c.ListAgents(ctx)
	snap.Agents, snap.At = len(agents), wire.At(s.now())
	return snap, err
}

// count takes the figures from the metrics, and counts what they leave out.
func (snap *snapshot) count(ctx context.Context, c *client.Client) error {
	snap.Executions = make(map[wire.ExecutionStatus]tally)
	if text, err := c.Metrics(ctx); err == nil {
		snap.read(parseMetrics(text))
	}
	for _, st := range wire.ExecutionStatuses() {
		if _, known := snap.Executions[st]; known || st.Terminal() {
			continue
		}
		var err error
		if snap.Executions[st], err = tallyExecutions(ctx, c, st); err != nil {
			return err
		}
	}
	return nil
}

func (snap *snapshot) read(metrics []metric) {
	for _, m := range metrics {
		n := int64(m.value)
		switch m.name {
		case "kernelctl_executions":
			snap.Executions[wire.ExecutionStatus(m.labels["status"])] = tally{Count: int(n)}
		case "kernelctl_dispatch_queue_depth":
			snap.Dispatches = &n
		case "kernelctl_store_queue_length":
			snap.Writes = &n
		case "kernelctl_db_bytes":
			snap.Database = &n
		}
	}
}

func tallyExecutions(ctx context.Context, c *client.Client, st wire.ExecutionStatus) (t tally, err error) {
	for _, err := range c.Executions(ctx, client.ExecutionFilter{Status: st, Limit: wire.MaxExecutionsLimit}) {
		switch {
		case err != nil:
			return t, err
		case t.Count == maxCount:
			t.More = true
			return t, nil
		}
		t.Count++
	}
	return t, nil
}

func tallyApprovals(pending []wire.Approval) (t approvalTally) {
	t.Pending = len(pending)
	for _, a := range pending {
		if t.OldestAt == nil || a.CreatedAt.Before(t.OldestAt.Time) {
			t.OldestAt = &a.CreatedAt
		}
		if t.NextTimeout == nil || a.TimeoutAt.Before(t.NextTimeout.Time) {
			t.NextTimeout = &a.TimeoutAt
		}
	}
	return t
}

func (s *session) printSnapshot(snap snapshot) error {
	p := s.printer()
	if !p.Format.ForPerson() {
		return p.Value(snap)
	}
	fields := make([]printer.Field, 0, 9)
	for _, st := range []wire.ExecutionStatus{wire.ExecutionRunning, wire.ExecutionBlocked, wire.ExecutionPending} {
		cell := printer.ExecutionStatus(st)
		cell.Text = snap.Executions[st].String()
		fields = append(fields, printer.Field{Name: string(st), Value: cell})
	}
	fields = append(fields,
		printer.Field{Name: "pending approvals", Value: approvalsCell(p, snap.Approvals)},
		printer.Field{Name: "waiting dispatches", Value: orDash(snap.Dispatches)},
		printer.Field{Name: "waiting writes", Value: orDash(snap.Writes)},
		printer.Field{Name: "database", Value: size(snap.Database)},
		printer.Field{Name: "agents", Value: printer.Int(int64(snap.Agents))},
		printer.Field{Name: "answer", Value: printer.Text(fmt.Sprintf("%.1fms", snap.AnswerMS))},
	)
	return p.Card(fields)
}

func orDash(n *int64) printer.Cell {
	if n == nil {
		return printer.Cell{Short: "-"}
	}
	return printer.Int(*n)
}

// size is a number of bytes for a person.
func size(n *int64) printer.Cell {
	c := orDash(n)
	if n != nil {
		c.Short = printer.Bytes(*n)
	}
	return c
}

func approvalsCell(p *printer.Printer, t approvalTally) printer.Cell {
	c := printer.Int(int64(t.Pending))
	if t.Pending == 0 {
		return c
	}
	c.Style = printer.Warn
	about := []string{"oldest " + printer.Duration(p.Now().Sub(t.OldestAt.Time)), "next expires in " + printer.Left(t.NextTimeout.Sub(p.Now()))}
	c.Short = fmt.Sprintf("%d (%s)", t.Pending, strings.Join(about, ", "))
	return c
}
