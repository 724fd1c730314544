package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Options are the service's limits. The zero value of a duration or a count
// takes the default.
type Options struct {
	ApprovalTimeout  time.Duration // of approvals whose rule sets none; default 15m
	ExecutionTimeout time.Duration // deadline of executions that set none; 0: none
	LeaseTimeout     time.Duration // of agents that set none; default 2m
	MaxAttempts      int           // claims of a dispatch without progress; default 5
	Logger           *slog.Logger
	// Ruled is told how long the policy took; may be nil.
	Ruled func(time.Duration)
	// Decided is told of every answered submit; may be nil.
	Decided func(kernel.StepKind, kernel.Decision)
}

// The defaults of [Options].
const (
	DefaultApprovalTimeout = 15 * time.Minute
	DefaultLeaseTimeout    = 2 * time.Minute
	DefaultMaxAttempts     = 5
	// MinLeaseTimeout is the shortest lease that is taken seriously.
	MinLeaseTimeout = 10 * time.Second
)

// Engine carries out commands.
type Engine struct {
	store   store.Store
	opts    Options
	log     *slog.Logger
	agents  directory
	headers headerCache
}

// New is an engine over a store. Call [Engine.LoadAgents] before serving.
func New(s store.Store, opts Options) *Engine {
	if opts.ApprovalTimeout <= 0 {
		opts.ApprovalTimeout = DefaultApprovalTimeout
	}
	if opts.LeaseTimeout <= 0 {
		opts.LeaseTimeout = DefaultLeaseTimeout
	}
	if opts.MaxAttempts <= 0 {
		opts.MaxAttempts = DefaultMaxAttempts
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Ruled == nil {
		opts.Ruled = func(time.Duration) {}
	}
	if opts.Decided == nil {
		opts.Decided = func(kernel.StepKind, kernel.Decision) {}
	}
	e := &Engine{store: s, opts: opts, log: opts.Logger}
	e.headers.reset()
	return e
}

// Reader is where reads go.
func (e *Engine) Reader() store.Reader { return e.store }

// Invalid is a request that the rules of the wire forbid; Problems say where.
type Invalid struct{ Problems []Problem }

// Problem is one thing wrong with a request.
type Problem struct {
	Field, Problem string
	Line, Column   int // of a policy text; 0: no place
}

func (e *Invalid) Error() string {
	if len(e.Problems) == 0 {
		return "invalid request"
	}
	return e.Problems[0].Field + ": " + e.Problems[0].Problem
}

func invalid(field, format string, args ...any) error {
	return &Invalid{Problems: []Problem{{Field: field, Problem: fmt.Sprintf(format, args...)}}}
}

func newSeed() (seed [10]byte) {
	_, _ = rand.Read(seed[:]) // never fails (crypto/rand)
	return seed
}

// prepare completes a command with what only the transaction knows.
type prepare func(tx store.Tx, s *kernel.State) error

// run carries out one command on a stored execution. An error is a
// *[kernel.Rejection] or a failure.
func (e *Engine) run(ctx context.Context, id kernel.ExecutionID, c kernel.Command, prep prepare) (kernel.Answer, error) {
	var answer kernel.Answer
	var refusal error
	var ended bool
	seed := newSeed()
	err := e.store.Update(ctx, func(tx store.Tx) error {
		answer, refusal = kernel.Answer{}, nil // the closure may run again
		s, l, err := tx.Load(id)
		if err != nil {
			return err
		}
		kernel.Stamp(c, max(kernel.At(time.Now()), s.UpdatedAt), seed)
		if prep != nil {
			if err := prep(tx, s); err != nil {
				return err
			}
		}
		answer, refusal, err = apply(tx, s, l, c)
		ended = s.Status.Terminal()
		return err
	}, store.BodyOf(id, c))
	if err != nil {
		return kernel.Answer{}, err
	}
	if ended {
		e.headers.drop(id)
	}
	return answer, refusal
}

// apply decides and saves. A refusal is not an error of the transaction: what
// was to be saved with it is.
func apply(tx store.Tx, s *kernel.State, l *kernel.Lease, c kernel.Command) (answer kernel.Answer, refusal, err error) {
	plan, refusal := kernel.Decide(s, l, c)
	if refusal != nil && len(plan.Events) == 0 {
		return kernel.Answer{}, refusal, nil
	}
	if err := tx.Save(s, l, c, &plan); err != nil {
		return kernel.Answer{}, nil, err
	}
	if submit, ok := c.(*kernel.SubmitStep); ok && plan.Slot {
		if err := tx.UseSlot(bucketName(s, submit), submit.Ruling.Limit, submit.At); err != nil {
			return kernel.Answer{}, nil, err
		}
	}
	return plan.Answer, refusal, nil
}

func bucketName(s *kernel.State, c *kernel.SubmitStep) string {
	return store.BucketName(c.Ruling.Limit.Scope, s.No, s.Agent, c.Ruling.Rule)
}

// body is what a replay carries: given with the answer, or kept by the log.
func (e *Engine) body(ctx context.Context, a *kernel.Answer) error {
	if a.Decision != kernel.Replay || a.Body != nil || a.BodyPos == 0 {
		return nil
	}
	body, err := e.store.Body(ctx, a.BodyPos)
	if err != nil {
		return err
	}
	if body == nil {
		body = []byte("null") // erased
	}
	a.Body = body
	return nil
}

// Header is what never changes of an execution; [store.ErrNotFound] when there
// is none.
func (e *Engine) Header(ctx context.Context, id kernel.ExecutionID) (*store.Header, error) {
	if h := e.headers.get(id); h != nil {
		return h, nil
	}
	h, err := e.store.Header(ctx, id)
	if err != nil {
		return nil, err
	}
	e.headers.put(&h)
	return &h, nil
}

// Backlog is how much of the room for waiting commands is taken, 0 to 1: at 1
// they are refused with [store.ErrOverloaded].
func (e *Engine) Backlog() float64 { return e.store.Backlog() }

// Ready writes a row of no meaning: whether the store can take anything now.
func (e *Engine) Ready(ctx context.Context) error {
	return e.store.Update(ctx, func(tx store.Tx) error { return tx.Probe(kernel.At(time.Now())) })
}

// IsRejection reports whether err is a refusal of the rules, and which.
func IsRejection(err error) (*kernel.Rejection, bool) {
	var r *kernel.Rejection
	ok := errors.As(err, &r)
	return r, ok
}
