package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Agent is a registered agent with its compiled policy.
type Agent struct {
	store.Agent
	Policy *policy.Bundle // nil: no policy is loaded, everything is allowed
}

func (a *Agent) bundle() *policy.Bundle {
	if a == nil {
		return nil
	}
	return a.Policy
}

// directory holds all agents, compiled. Requests read it without a lock.
type directory struct {
	mu  sync.Mutex // held by those who change it
	all atomic.Pointer[map[kernel.AgentID]*Agent]
	// leaving is the agent whose deletion is applied and not in all yet. Only
	// the store's writer looks, so that no execution slips in between.
	leaving atomic.Pointer[kernel.AgentID]
}

// takesWork reports whether an execution can be created for the agent. It is
// asked inside of a transaction.
func (d *directory) takesWork(id kernel.AgentID) bool {
	if leaving := d.leaving.Load(); leaving != nil && *leaving == id {
		return false
	}
	_, ok := d.get(id)
	return ok
}

func (d *directory) get(id kernel.AgentID) (*Agent, bool) {
	all := d.all.Load()
	if all == nil {
		return nil, false
	}
	a, ok := (*all)[id]
	return a, ok
}

// LoadAgents fills the directory from the store. A stored bundle that does not
// compile (only a newer build could have stored it) stops the start: running
// without it would allow everything.
func (e *Engine) LoadAgents(ctx context.Context) error {
	stored, err := e.store.Agents(ctx)
	if err != nil {
		return err
	}
	all := make(map[kernel.AgentID]*Agent, len(stored))
	for _, a := range stored {
		compiled, err := compile(a)
		if err != nil {
			return fmt.Errorf("policy of agent %s: %w", a.ID, err)
		}
		all[a.ID] = compiled
	}
	e.agents.mu.Lock()
	defer e.agents.mu.Unlock()
	e.agents.all.Store(&all)
	return nil
}

func compile(a store.Agent) (*Agent, error) {
	if a.Bundle == nil {
		return &Agent{Agent: a}, nil
	}
	b, err := policy.Compile(a.Bundle)
	return &Agent{Agent: a, Policy: b}, err
}

// Agent finds a registered agent in memory.
func (e *Engine) Agent(id kernel.AgentID) (*Agent, bool) { return e.agents.get(id) }

// RegisterAgent registers or replaces an agent and returns it as stored.
func (e *Engine) RegisterAgent(ctx context.Context, spec store.AgentSpec) (store.Agent, error) {
	return e.changeAgent(ctx, spec.ID, func(tx store.Tx) error { return tx.PutAgent(spec, kernel.At(time.Now())) })
}

// DeleteAgent removes an agent.
func (e *Engine) DeleteAgent(ctx context.Context, id kernel.AgentID) error {
	_, err := e.changeAgent(ctx, id, func(tx store.Tx) error {
		if err := tx.DeleteAgent(id, kernel.At(time.Now())); err != nil {
			return err
		}
		e.agents.leaving.Store(&id)
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return rejection(kernel.Conflict, "agent %q has executions that have not ended: cancel them first", id)
	}
	return err
}

// CheckPolicy says what is wrong with a bundle; it is an *[Invalid].
func (e *Engine) CheckPolicy(bundle []byte) error {
	_, err := compileBundle(bundle)
	return err
}

// PutPolicy loads or replaces an agent's bundle. A bundle with problems is an
// *[Invalid] and changes nothing.
func (e *Engine) PutPolicy(ctx context.Context, id kernel.AgentID, bundle []byte) error {
	if _, err := compileBundle(bundle); err != nil {
		return err
	}
	_, err := e.changeAgent(ctx, id, func(tx store.Tx) error {
		return tx.PutPolicy(id, bundle, sha256.Sum256(bundle), kernel.At(time.Now()))
	})
	return err
}

// DeletePolicy removes an agent's bundle: it is permissive again.
func (e *Engine) DeletePolicy(ctx context.Context, id kernel.AgentID) error {
	_, err := e.changeAgent(ctx, id, func(tx store.Tx) error { return tx.DeletePolicy(id, kernel.At(time.Now())) })
	return err
}

// changeAgent stores a change and brings the directory up to date before it
// returns: who is answered sees the change at work.
func (e *Engine) changeAgent(ctx context.Context, id kernel.AgentID, change func(store.Tx) error) (store.Agent, error) {
	e.agents.mu.Lock()
	defer e.agents.mu.Unlock()
	defer e.agents.leaving.Store(nil)
	if err := e.store.Update(ctx, change); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return store.Agent{}, notFound("agent %q is not registered", id)
		}
		return store.Agent{}, err
	}
	all := make(map[kernel.AgentID]*Agent)
	if now := e.agents.all.Load(); now != nil {
		maps.Copy(all, *now)
	}
	// What was stored must be seen, whatever becomes of the request.
	stored, err := e.store.Agent(context.WithoutCancel(ctx), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		delete(all, id)
	case err != nil:
		return stored, err
	default:
		compiled, err := compile(stored)
		if err != nil {
			return stored, err
		}
		all[id] = compiled
	}
	e.agents.all.Store(&all)
	return stored, nil
}

func compileBundle(text []byte) (*policy.Bundle, error) {
	b, err := policy.Compile(text)
	var bad *policy.Invalid
	if errors.As(err, &bad) {
		out := &Invalid{}
		for _, p := range bad.Problems {
			out.Problems = append(out.Problems, Problem{Field: p.Field, Problem: p.Problem, Line: p.Line, Column: p.Column})
		}
		return nil, out
	}
	return b, err
}
