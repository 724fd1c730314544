package tui

import (
	"context"
	"encoding/json"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// change is what an event of the feed means for the lists.
type change struct {
	lost   bool // events were lost: list again
	exec   string
	seq    int64
	at     wire.Time
	typ    wire.EventType
	status wire.ExecutionStatus // empty: as before
	agent  string               // created
	labels wire.Labels          // created
	limit  *wire.Time           // created
	step   string               // its target, when the event is of a step
	reason string
	// of an approval
	approval  string
	approvals wire.ApprovalStatus
	by, why   string
}

type changesMsg []change

// linkMsg tells of the connection of the feed.
type linkMsg client.Link

// refusedMsg means that the service will not give the feed.
type refusedMsg struct{ err error }

// runFeed listens to all events until its source is closed.
func runFeed(l *life, c Client) func(context.Context, *source) {
	return func(ctx context.Context, s *source) {
		in := make(chan change, batchLimit)
		l.safely(s, func() { batch(ctx, in, func(cs []change) { s.send(changesMsg(cs)) }) })
		err := c.Feed(ctx, client.FeedOptions{
			Link:   func(k client.Link) { s.send(linkMsg(k)) },
			Lagged: func() { _ = put(ctx, in, change{lost: true}) },
		}, func(e wire.Event) error { return put(ctx, in, changeOf(e)) })
		if ctx.Err() == nil {
			s.send(refusedMsg{err})
		}
	}
}

// changeOf reads what matters for the lists out of an event. What cannot be
// read is left empty: the next listing brings it.
func changeOf(e wire.Event) change {
	c := change{exec: e.ExecutionID, seq: e.EventSeq, at: e.OccurredAt, typ: e.Type, status: e.Type.ExecutionStatus()}
	switch family(e.Type) {
	case "execution":
		var p wire.ExecutionPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			c.agent, c.labels, c.limit, c.reason = p.AgentID, p.Labels, p.DeadlineAt, p.Reason
		}
	case "step":
		var p wire.StepPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			c.step = p.Target
		}
	case "approval":
		var p wire.ApprovalPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			c.approval, c.approvals, c.by, c.why = p.ApprovalID, approvalAfter(e.Type), p.DecidedBy, p.Rationale
		}
	}
	return c
}

func approvalAfter(t wire.EventType) wire.ApprovalStatus {
	switch t {
	case wire.EventApprovalGranted:
		return wire.ApprovalGranted
	case wire.EventApprovalDenied:
		return wire.ApprovalDenied
	case wire.EventApprovalExpired:
		return wire.ApprovalExpired
	}
	return wire.ApprovalPending
}

// The questions that fill the lists.

type approvalsMsg struct {
	gen  int
	list []wire.Approval
	err  error
}

type executionsMsg struct {
	gen    int
	page   wire.ExecutionList
	loaded int // with this page
	err    error
}

type agentsMsg struct {
	gen  int
	list []wire.Agent
	err  error
}

type healthMsg struct {
	gen    int
	err    error
	offset time.Duration
}

// maxExecutions is how many executions are loaded when the dashboard starts.
const maxExecutions = 10000

// The limits of questions.
const (
	askLimit    = 15 * time.Second
	healthLimit = 3 * time.Second
)

func (m *Model) askApprovals() tea.Cmd {
	if m.approvalsAsked {
		m.approvalsAgain = true
		return nil
	}
	m.approvalsAsked, m.approvalsAgain = true, false
	c, gen := m.place.Client, m.gen
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		list, err := c.ListApprovals(ctx, client.ApprovalFilter{Limit: wire.MaxApprovalsLimit})
		return approvalsMsg{gen, list, err}
	})
}

func (m *Model) askExecutions(cursor string, loaded int) tea.Cmd {
	c, gen := m.place.Client, m.gen
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		page, err := c.ListExecutions(ctx, client.ExecutionFilter{Cursor: cursor, Limit: wire.MaxExecutionsLimit})
		return executionsMsg{gen, page, loaded + len(page.Executions), err}
	})
}

func (m *Model) askAgents() tea.Cmd {
	c, gen := m.place.Client, m.gen
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		list, err := c.ListAgents(ctx)
		return agentsMsg{gen, list, err}
	})
}

func (m *Model) askHealth() tea.Cmd {
	c, gen := m.place.Client, m.gen
	return m.life.ask(healthLimit, func(ctx context.Context) tea.Msg {
		_, err := c.Health(ctx)
		offset, _ := c.ClockOffset()
		return healthMsg{gen, err, offset}
	})
}

// askAll fills every list anew.
func (m *Model) askAll() tea.Cmd {
	return tea.Batch(m.askApprovals(), m.askExecutions("", 0), m.askAgents())
}
