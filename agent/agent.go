package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
)

// Func is the logic of an agent. It starts from the top in every run of an
// execution. Its value completes the execution, as JSON; its error fails it,
// with the error's text; a panic fails it, too. ctx is cancelled when the run
// must end, with what stopped it as the cause. Func joins the goroutines that
// it starts: an effect still under way when it returns a value or an error of
// its own is cut off.
type Func func(ctx context.Context, run *Run) (any, error)

// Agent receives webhooks and runs agent functions. It is safe for use by
// several goroutines.
type Agent struct {
	client *client
	own    *http.Client // the SDK's own, nil when the caller brought one
	log    *slog.Logger
	slots  chan struct{} // one element a running function; nil for no limit
	queue  int           // how many runs may wait for a slot

	mu      sync.Mutex
	closing bool
	active  map[delivery]*Run // accepted and not ended
	waiting int               // of those, how many have no slot yet
	seen    *recent
	idle    chan struct{} // closed while nothing is active
}

// New returns an agent. It starts nothing and dials nothing. The error names
// every option that is missing or wrong.
func New(o Options) (*Agent, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("agent options: %w", err)
	}
	var own *http.Client
	if o.HTTPClient == nil {
		own = ownHTTPClient()
		o.HTTPClient = own
	}
	o = o.withDefaults()
	a := &Agent{
		own:    own,
		client: newClient(o),
		log:    o.Logger.With("agent_id", o.AgentID),
		queue:  o.MaxQueuedRuns,
		active: map[delivery]*Run{},
		seen:   newRecent(maxSeen),
		idle:   make(chan struct{}),
	}
	if o.MaxConcurrentRuns > 0 {
		a.slots = make(chan struct{}, o.MaxConcurrentRuns)
	}
	close(a.idle)
	return a, nil
}

// Wait returns once no run is active: nil, or the cause of a ctx that ended
// first. Webhooks that come meanwhile are still accepted.
func (a *Agent) Wait(ctx context.Context) error {
	for {
		a.mu.Lock()
		idle, n := a.idle, len(a.active)
		a.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Shutdown ends the agent: new webhooks are answered 503, and the active runs,
// queued ones included, go on to their end. When ctx ends first, they are
// stopped with [ErrShutdown], and Shutdown returns the cause of ctx without
// waiting for functions that do not heed their context. Nothing is lost then:
// the leases lapse, and the kernel starts the runs anew elsewhere.
//
// Shut the HTTP server down first, or at the same time.
func (a *Agent) Shutdown(ctx context.Context) error {
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	err := a.Wait(ctx)
	if err != nil {
		for _, r := range a.snapshot() {
			_ = r.halt(ErrShutdown) // its value is for callers of the run
		}
	}
	if a.own != nil {
		a.own.CloseIdleConnections()
	}
	return err
}

func (a *Agent) snapshot() []*Run {
	a.mu.Lock()
	defer a.mu.Unlock()
	runs := make([]*Run, 0, len(a.active))
	for _, r := range a.active {
		runs = append(runs, r)
	}
	return runs
}

var (
	errClosing   = errors.New("the agent shuts down")
	errQueueFull = errors.New("the agent's queue is full")
)

// accept starts the run of a webhook. A webhook that came before starts
// nothing. Its error says that the kernel should come again later.
func (a *Agent) accept(ctx context.Context, hook webhook, fn Func) error {
	ctx, cancel := context.WithCancelCause(ctx)
	r := newRun(a.client, a.log, hook, cancel)
	older, start, err := a.register(hook.delivery(), r)
	if !start {
		cancel(errReturned)
		return err
	}
	if older != nil {
		// Its writes would be refused: tell it before it does more work.
		_ = older.halt(ErrSuperseded) // its value is for callers of the run
	}
	go func() {
		defer a.unregister(hook.delivery())
		defer cancel(errReturned)
		a.serve(ctx, r, fn)
	}()
	return nil
}

// register enters a run into the books. older is the run of an earlier attempt
// of the same dispatch, if one is active.
func (a *Agent) register(d delivery, r *Run) (older *Run, start bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, active := a.active[d]; active || a.seen.has(d) {
		return nil, false, nil
	}
	switch {
	case a.closing:
		return nil, false, errClosing
	case a.slots != nil && a.waiting >= a.queue+cap(a.slots)-len(a.slots):
		return nil, false, errQueueFull
	}
	for other, run := range a.active {
		if other.execution == d.execution && other.dispatch == d.dispatch {
			if other.attempt > d.attempt {
				return nil, false, nil // overtaken on the way: its writes would be refused
			}
			older = run
		}
	}
	if len(a.active) == 0 {
		a.idle = make(chan struct{})
	}
	a.active[d] = r
	a.waiting++
	a.seen.add(d)
	return older, true, nil
}

func (a *Agent) unregister(d delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, d)
	if len(a.active) == 0 {
		close(a.idle)
	}
}

// acquire waits for a slot and returns what gives it back.
func (a *Agent) acquire(ctx context.Context) (release func(), err error) {
	defer func() {
		a.mu.Lock()
		a.waiting--
		a.mu.Unlock()
	}()
	if a.slots == nil {
		return func() {}, nil
	}
	select {
	case a.slots <- struct{}{}:
		return func() { <-a.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
