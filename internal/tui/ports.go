package tui

import (
	"context"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Client is what the dashboard needs of the service; [*client.Client] has it.
type Client interface {
	Server() string
	ClockOffset() (time.Duration, bool)
	Health(ctx context.Context) (wire.Health, error)
	Metrics(ctx context.Context) ([]byte, error)

	ListApprovals(ctx context.Context, f client.ApprovalFilter) ([]wire.Approval, error)
	GetApproval(ctx context.Context, id string) (wire.Approval, error)
	GrantApproval(ctx context.Context, id string, d wire.DecideApproval) error
	DenyApproval(ctx context.Context, id string, d wire.DecideApproval) error

	ListExecutions(ctx context.Context, f client.ExecutionFilter) (wire.ExecutionList, error)
	GetExecution(ctx context.Context, id string) (wire.Execution, error)
	CancelExecution(ctx context.Context, id string) error
	ListSteps(ctx context.Context, id, status string) ([]wire.Step, error)

	ListEvents(ctx context.Context, id string, afterSeq int64, limit int) ([]wire.Event, error)

	ListAgents(ctx context.Context) ([]wire.Agent, error)
	GetPolicy(ctx context.Context, agentID string) (wire.Policy, error)
	LoadPolicy(ctx context.Context, agentID, bundle string) error
	TestPolicy(ctx context.Context, agentID string, req wire.PolicyTest) (wire.PolicyTestReport, error)

	Feed(ctx context.Context, o client.FeedOptions, fn func(wire.Event) error) error
	TailEvents(ctx context.Context, id string, o client.TailOptions, fn func(wire.Event) error) error
	Stream(ctx context.Context, id string, link func(client.Link), fn func(wire.StreamDelta) error) (wire.StreamEnd, error)
}

// Terminal takes what goes past the frames: the clipboard and the bell.
type Terminal interface {
	Copy(ctx context.Context, s string) (how string, err error)
	Bell(kind string)
}

// Place is a service and how to work with it.
type Place struct {
	Name     string // of the context; empty: none
	Client   Client
	By       string // who decides
	ReadOnly bool
	Color    string // of the header; empty: none
}

// Options are what a dashboard may be told beside its place. The zero value
// works.
type Options struct {
	Screen    string // approvals, executions, agents or metrics
	ReadOnly  bool   // whatever the place says
	Rationale string // which decisions need one: deny (default), always, never
	Theme     string // auto, ansi, dark, light or mono
	Notify    string // bell (default), osc9 or off
	Borders   string // ascii (default) or unicode
	Mouse     bool
	Keys      map[string]string // name of an action: its keys, separated by spaces
	Contexts  []string          // names that Dial takes
	Editor    string            // command line; empty: vi
	Pager     string            // command line; empty: less
	StateDir  string            // of what is remembered, and of the log; empty: neither
	// Dial makes the place of a context; nil: contexts cannot be switched.
	Dial     func(ctx context.Context, name string) (Place, error)
	Terminal Terminal         // nil: nothing is copied, nothing rings
	Now      func() time.Time // nil: the system's clock
}
