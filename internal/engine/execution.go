package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Create is a request for a new execution.
type Create struct {
	Agent    kernel.AgentID
	Input    []byte // checked JSON
	Labels   map[string]string
	Deadline kernel.Instant // zero: by Timeout
	Timeout  time.Duration  // from now; zero: the service's default
	Key      string         // Idempotency-Key, "" for none
	Request  kernel.Digest  // of the request; compared under one key
}

// Create starts an execution. created is false when the key has created it
// before: what the request asks for is not looked at again then, for a deadline
// that passed or an agent that left since does not undo the first answer.
func (e *Engine) Create(ctx context.Context, r Create) (x store.Execution, created bool, err error) {
	seed := newSeed()
	c := &kernel.CreateExecution{Agent: r.Agent, Labels: r.Labels, Input: kernel.NewBody(r.Input)}
	var id kernel.ExecutionID
	var refusal error
	err = e.store.Update(ctx, func(tx store.Tx) error {
		created, refusal = false, nil
		if r.Key != "" {
			switch prior, request, err := tx.CreateKey(r.Key); {
			case err == nil:
				id = prior
				if request != r.Request {
					refusal = &kernel.Rejection{Code: kernel.Conflict, Message: "this Idempotency-Key has created another execution: use a new key for each request"}
				}
				return nil
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
		}
		at := kernel.At(time.Now())
		if !r.Deadline.IsZero() && r.Deadline <= at {
			return invalid("deadline_at", "must be in the future")
		}
		if !e.agents.takesWork(r.Agent) {
			return notFound("agent %q is not registered", r.Agent)
		}
		kernel.Stamp(c, at, seed)
		id = kernel.ExecutionID{UUID: c.Mint.UUID()}
		c.Deadline = r.Deadline
		if timeout := cmp.Or(r.Timeout, e.opts.ExecutionTimeout); c.Deadline.IsZero() && timeout > 0 {
			c.Deadline = at.Add(timeout)
		}
		s, l := &kernel.State{ID: id}, &kernel.Lease{}
		if _, refusal, err = apply(tx, s, l, c); err != nil || refusal != nil {
			return err
		}
		created = true
		if r.Key == "" {
			return nil
		}
		return tx.PutCreateKey(r.Key, r.Request, s)
	}, store.BodyOf(kernel.ExecutionID{}, c))
	switch {
	case err != nil:
		return x, false, err
	case refusal != nil:
		return x, false, refusal
	case !created:
		x, err = e.store.Execution(ctx, id)
		return x, false, err
	}
	const eventsOfCreate = 2 // execution.created, dispatch.queued
	return store.Execution{
		ID: id, Agent: r.Agent, Status: kernel.StatusPending, Input: r.Input, Labels: r.Labels,
		CreatedAt: c.At, UpdatedAt: c.At, Deadline: c.Deadline, LastSeq: eventsOfCreate,
	}, true, nil
}

// Complete ends an execution well.
func (e *Engine) Complete(ctx context.Context, id kernel.ExecutionID, caller kernel.Holder, output []byte) error {
	_, err := e.run(ctx, id, &kernel.FinishExecution{
		Caller: caller, Succeeded: true, Output: kernel.NewBody(output), Canonical: canonjson.Digest(output),
	}, nil)
	return err
}

// Fail ends an execution badly.
func (e *Engine) Fail(ctx context.Context, id kernel.ExecutionID, caller kernel.Holder, reason string) error {
	_, err := e.run(ctx, id, &kernel.FinishExecution{Caller: caller, Reason: reason}, nil)
	return err
}

// Cancel ends an execution from outside.
func (e *Engine) Cancel(ctx context.Context, id kernel.ExecutionID) error {
	_, err := e.run(ctx, id, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled}, nil)
	return err
}

// Heartbeat renews the lease; a zero caller stands for whoever holds it.
func (e *Engine) Heartbeat(ctx context.Context, id kernel.ExecutionID, caller kernel.Holder) error {
	_, err := e.run(ctx, id, &kernel.Heartbeat{Caller: caller}, nil)
	return err
}

// AllowDelta asks whether a live delta of the step may go out.
func (e *Engine) AllowDelta(ctx context.Context, id kernel.ExecutionID, caller kernel.Holder, step kernel.StepID) error {
	_, err := e.run(ctx, id, &kernel.PublishDelta{Caller: caller, Step: step}, nil)
	return err
}

// Signal delivers a signal. A repeat under the same key is the same signal.
func (e *Engine) Signal(ctx context.Context, id kernel.ExecutionID, signalType string, payload []byte, key string) (kernel.SignalID, error) {
	c := &kernel.SendSignal{SignalType: signalType, Payload: kernel.NewBody(payload), Key: key}
	var prior kernel.SignalID
	var conflict bool
	answer, err := e.run(ctx, id, c, func(tx store.Tx, s *kernel.State) error {
		prior, conflict = kernel.SignalID{}, false
		if key == "" {
			return nil
		}
		known, req, err := tx.SignalByKey(s, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		prior, conflict = known, req != store.SignalRequest{Type: signalType, Payload: c.Payload.Digest}
		return errRepeat
	})
	switch {
	case errors.Is(err, errRepeat) && conflict:
		return prior, &kernel.Rejection{Code: kernel.Conflict, Message: "this Idempotency-Key has delivered another signal: use a new key for each one"}
	case errors.Is(err, errRepeat):
		return prior, nil
	}
	return answer.Signal, err
}

// errRepeat stops a command whose work was done before.
var errRepeat = errors.New("a repeat")

func notFound(format string, args ...any) error {
	return rejection(kernel.NotFound, format, args...)
}
