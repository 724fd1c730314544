package store

import (
	"context"
	"errors"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// The failures that every driver reports. Anything else is a fault of the
// database, and counts as unavailable.
var (
	// ErrNotFound: there is no such thing.
	ErrNotFound = errors.New("not found")
	// ErrOverloaded: more requests wait than the writer can serve soon.
	ErrOverloaded = errors.New("the writer's queue is full")
	// ErrUnavailable: the database cannot take or show anything now.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrDamaged: what is stored cannot have been stored so.
	ErrDamaged = errors.New("the database is damaged: kernelctl verify says where")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrConflict: the thing is in use.
	ErrConflict = errors.New("conflict")
)

// Writer runs operations one after another, each whole or not at all.
type Writer interface {
	// Update runs fn inside a transaction and returns after the commit. fn may
	// be run again when the transaction has to be repeated; it does no IO but
	// through tx, keeps nothing of tx, and returns an error only to undo
	// everything it did. bodies are those that fn may save: a driver can prepare
	// them for the disk before it is fn's turn.
	Update(ctx context.Context, fn func(tx Tx) error, bodies ...Body) error
	// Chore is Update for maintenance, which waits until nothing else does.
	Chore(ctx context.Context, fn func(tx Tx) error) error
	// Backlog is how much of the room for waiting operations is taken, 0 to 1.
	// At 1, Update returns [ErrOverloaded].
	Backlog() float64
}

// Body is a body that an operation may save.
type Body struct {
	Execution kernel.ExecutionID // zero: one that is created with it
	Of        kernel.EventType   // the type of event that carries it
	kernel.Body
}

// BodyOf is the body that a command brings for an execution, if any.
func BodyOf(execution kernel.ExecutionID, c kernel.Command) Body {
	switch c := c.(type) {
	case *kernel.CreateExecution:
		return Body{execution, kernel.TypeExecutionCreated, c.Input}
	case *kernel.SubmitStep:
		return Body{execution, kernel.TypeStepProposed, c.Args}
	case *kernel.FinishStep:
		if c.Succeeded {
			return Body{execution, kernel.TypeStepSucceeded, c.Outcome}
		}
		return Body{execution, kernel.TypeStepFailed, c.Outcome}
	case *kernel.FinishExecution:
		return Body{execution, kernel.TypeExecutionCompleted, c.Output}
	case *kernel.SendSignal:
		return Body{execution, kernel.TypeSignalReceived, c.Payload}
	default:
		return Body{}
	}
}

// Tx is what an operation may do. Its methods return [ErrNotFound] for what is
// not there; other errors are the database's.
type Tx interface {
	// Load is the execution's folded state and its lease, both owned by the store.
	Load(id kernel.ExecutionID) (*kernel.State, *kernel.Lease, error)
	// Save stores a plan made from what Load returned, or for a new execution
	// from a state that holds nothing but the id.
	Save(s *kernel.State, l *kernel.Lease, c kernel.Command, p *kernel.Plan) error
	// Bucket is the state of the rate limit bucket of that name.
	Bucket(name string, limit *kernel.RateLimit) (*kernel.Bucket, error)
	// UseSlot stores that a plan used a slot of the bucket.
	UseSlot(name string, limit *kernel.RateLimit, at kernel.Instant) error
	// Approval finds an approval and its execution.
	Approval(id kernel.ApprovalID) (kernel.ExecutionID, kernel.ApprovalFacts, error)
	// SignalByKey finds a signal of the execution by its Idempotency-Key.
	SignalByKey(execution *kernel.State, key string) (kernel.SignalID, SignalRequest, error)
	// CreateKey finds the execution that an Idempotency-Key created.
	CreateKey(key string) (id kernel.ExecutionID, request kernel.Digest, err error)
	// PutCreateKey ties a key to the execution that was just saved.
	PutCreateKey(key string, request kernel.Digest, s *kernel.State) error

	// PutAgent registers or replaces an agent; its policy and the time it was
	// first registered stay.
	PutAgent(a AgentSpec, at kernel.Instant) error
	// DeleteAgent removes an agent and its policy; [ErrConflict] while an
	// execution of it has not ended.
	DeleteAgent(id kernel.AgentID, at kernel.Instant) error
	// PutPolicy loads or replaces an agent's bundle.
	PutPolicy(id kernel.AgentID, bundle []byte, sum kernel.Digest, at kernel.Instant) error
	// DeletePolicy removes an agent's bundle, if there is one.
	DeletePolicy(id kernel.AgentID, at kernel.Instant) error

	// Probe writes a row of no meaning: only a store that can commit survives it.
	Probe(at kernel.Instant) error
	// Expire deletes up to limit executions that ended before the given moment,
	// with everything about them, and reports how many; when it stopped earlier,
	// because they were large, it reports limit, so that less than limit always
	// means that none is left.
	Expire(before kernel.Instant, limit int) (int, error)
}

// Reader answers questions. What an answered Update wrote is visible to it.
type Reader interface {
	Execution(ctx context.Context, id kernel.ExecutionID) (Execution, error)
	Header(ctx context.Context, id kernel.ExecutionID) (Header, error)
	// Executions lists newest first, starting below q.Before; next is what to
	// ask before for the following page, 0 at the end.
	Executions(ctx context.Context, q ExecutionQuery) (page []Execution, next int64, err error)
	// Events are the events after a sequence number, in order; none of an
	// execution that retention removed. They are put into room, which may be nil,
	// as far as it has capacity.
	Events(ctx context.Context, no int64, execution kernel.ExecutionID, after int64, limit int, room []Event) ([]Event, error)
	// Steps are the recorded steps in order of proposal.
	Steps(ctx context.Context, execution kernel.ExecutionID) ([]Step, error)
	Step(ctx context.Context, execution kernel.ExecutionID, id kernel.StepID) (Step, error)
	// Approvals list soonest timeout first.
	Approvals(ctx context.Context, q ApprovalQuery) ([]Approval, error)
	Approval(ctx context.Context, id kernel.ApprovalID) (Approval, error)
	// Body is the body of the event at a position; nil when it was erased.
	Body(ctx context.Context, pos int64) ([]byte, error)
	// Agents are all registered agents, by id.
	Agents(ctx context.Context) ([]Agent, error)
	Agent(ctx context.Context, id kernel.AgentID) (Agent, error)
	// Counts says how many executions there are of each status, and of the
	// pending approvals.
	Counts(ctx context.Context) (Counts, error)
}

// Queue answers what is due. Everything in it is re-checked by the command
// that acts on it.
type Queue interface {
	// DueDispatches are dispatches that wait to be claimed, due by the given
	// moment or not yet, soonest first, after a place in that order.
	DueDispatches(ctx context.Context, after QueuePlace, limit int) ([]DueDispatch, error)
	// InFlight are the attempts in flight, in order of execution number.
	InFlight(ctx context.Context, afterNo int64, limit int) ([]InFlight, error)
	// Timers are what falls due by the given moment, soonest first, and the
	// moment when the next one after that does (zero: none).
	Timers(ctx context.Context, by kernel.Instant, limit int) (due []Timer, next kernel.Instant, err error)
}

// Store is a whole driver.
type Store interface {
	Writer
	Reader
	Queue
	// Run writes until ctx ends, then stores the leases and closes the database.
	// It returns early, with the reason, when the database cannot be trusted
	// any more.
	Run(ctx context.Context) error
}

// Committed is what one operation stored, told after its commit in commit order.
type Committed struct {
	Execution kernel.ExecutionID
	No        int64
	Agent     kernel.AgentID
	Before    kernel.Status      // zero: the operation created it
	WaitedFor kernel.BlockReason // what it was blocked on before; zero: nothing
	Status    kernel.Status      // afterwards
	Records   []kernel.Record
	Dispatch  kernel.Dispatch // the dispatch afterwards
	ExpiresAt kernel.Instant  // of its lease, when it is in flight
	WakeAt    kernel.Instant  // when a timer of this execution falls due; zero: none
	Command   kernel.Command
}

// Stats describe the writer's work.
type Stats interface {
	// Batch tells of one commit: how many operations it took, how long they
	// took to apply and to commit, and whether anything was written.
	Batch(operations int, apply, commit time.Duration, wrote bool)
}
