package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Deliverer hands one claimed attempt to its agent. Deliver returns nil when
// the agent took it, an *[Undelivered] when it did not.
type Deliverer interface {
	Deliver(ctx context.Context, d engine.Delivery) error
}

// Undelivered says why a delivery failed.
type Undelivered struct {
	Reason     string
	HTTPStatus int // 0: no answer
}

func (u *Undelivered) Error() string { return u.Reason }

// Options tune the dispatcher; zero values take the defaults.
type Options struct {
	Concurrency int           // deliveries at once; default 64
	Grace       time.Duration // how long deliveries under way may take after the stop; default 10s
	Poll        time.Duration // the safety net; default 10s
	Logger      *slog.Logger
}

const (
	defaultConcurrency = 64
	defaultGrace       = 10 * time.Second
	defaultPoll        = 10 * time.Second
	inMemory           = 100_000 // dispatches that wait in memory; the rest waits in the store
	page               = 1_000
	retryStore         = 250 * time.Millisecond
)

// Dispatcher delivers what is due.
type Dispatcher struct {
	engine    *engine.Engine
	store     store.Queue
	deliverer Deliverer
	opts      Options
	log       *slog.Logger

	mu      sync.Mutex
	queue   *queue
	wakeup  chan struct{}
	running sync.WaitGroup
}

// New is a dispatcher; nothing moves before Run.
func New(e *engine.Engine, q store.Queue, d Deliverer, opts Options) *Dispatcher {
	if opts.Concurrency <= 0 {
		opts.Concurrency = defaultConcurrency
	}
	if opts.Grace <= 0 {
		opts.Grace = defaultGrace
	}
	if opts.Poll <= 0 {
		opts.Poll = defaultPoll
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Dispatcher{
		engine: e, store: q, deliverer: d, opts: opts, log: opts.Logger,
		queue: newQueue(opts.Concurrency, inMemory), wakeup: make(chan struct{}, 1),
	}
}

// Committed tells the dispatcher what was stored. It does not block.
func (d *Dispatcher) Committed(batch []store.Committed) {
	woken := false
	now := kernel.At(time.Now())
	d.mu.Lock()
	for i := range batch {
		if c := &batch[i]; c.Dispatch.Status.Waiting() && !c.Status.Terminal() {
			d.queue.add(store.DueDispatch{
				No: c.No, Execution: c.Execution, Agent: c.Agent, Dispatch: c.Dispatch.ID, NotBefore: c.Dispatch.NotBefore,
			}, now)
			woken = true
		}
	}
	d.mu.Unlock()
	if woken {
		d.wake()
	}
}

func (d *Dispatcher) wake() {
	select {
	case d.wakeup <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Waiting is how many dispatches wait in memory.
func (d *Dispatcher) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue.known)
}

// Run delivers until ctx ends, then waits for the deliveries under way. What
// is still out after the grace period is cut off; whether it arrived is then
// unknown, and its lease decides: the agent writes, or it lapses.
func (d *Dispatcher) Run(ctx context.Context) error {
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	poll := time.NewTicker(d.opts.Poll)
	defer poll.Stop()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	d.refill(ctx)
	for {
		d.start(ctx, hard)
		d.mu.Lock()
		starved, at := d.queue.starved(), d.queue.wake()
		d.mu.Unlock()
		if starved {
			d.refill(ctx)
			continue
		}
		wait := time.Hour
		if !at.IsZero() {
			wait = max(0, time.Until(at.Time()))
		}
		due.Reset(wait)
		select {
		case <-d.wakeup:
		case <-due.C:
		case <-poll.C:
			d.refill(ctx)
		case <-ctx.Done():
			patience := time.AfterFunc(d.opts.Grace, cut)
			defer patience.Stop()
			d.running.Wait()
			return nil
		}
	}
}

// refill takes what waits in the store and is not known here.
func (d *Dispatcher) refill(ctx context.Context) {
	d.mu.Lock()
	d.queue.overflow = false
	d.mu.Unlock()
	var after store.QueuePlace
	for {
		found, err := d.store.DueDispatches(ctx, after, page)
		if err != nil {
			if ctx.Err() == nil {
				d.log.LogAttrs(ctx, slog.LevelError, "look for due dispatches", slog.Any("err", err))
			}
			return
		}
		d.mu.Lock()
		now := kernel.At(time.Now())
		for _, f := range found {
			d.queue.add(f, now)
		}
		full := d.queue.overflow
		d.mu.Unlock()
		if len(found) < page || full {
			return
		}
		last := found[len(found)-1]
		after = store.QueuePlace{NotBefore: last.NotBefore, No: last.No}
	}
}

// start begins as many deliveries as there are places.
func (d *Dispatcher) start(ctx, hard context.Context) {
	for ctx.Err() == nil {
		d.mu.Lock()
		next, ok := d.queue.next(kernel.At(time.Now()))
		d.mu.Unlock()
		if !ok {
			return
		}
		d.running.Go(func() {
			d.deliver(hard, next)
			d.mu.Lock()
			d.queue.done(next.Agent)
			d.mu.Unlock()
			d.wake()
		})
	}
}

// deliver claims, delivers and reports one dispatch.
func (d *Dispatcher) deliver(ctx context.Context, due store.DueDispatch) {
	attrs := []slog.Attr{slog.String("execution_id", due.Execution.String()), slog.String("agent_id", string(due.Agent))}
	claimed, ok, err := d.engine.Claim(ctx, due.Execution, due.Agent, due.Dispatch)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			d.log.LogAttrs(ctx, slog.LevelWarn, "claim dispatch", append(attrs, slog.Any("err", err))...)
			d.again(due)
		}
		return
	}
	if !ok {
		return
	}
	err = d.deliverer.Deliver(ctx, claimed)
	if err != nil && ctx.Err() != nil {
		return // cut off: nobody knows whether it arrived
	}
	// The outcome is kept however long the writer takes.
	report := context.WithoutCancel(ctx)
	if err == nil {
		err = d.insist(ctx, func() error { return d.engine.Acked(report, due.Execution, claimed.Attempt) })
	} else {
		why := &Undelivered{Reason: err.Error()}
		errors.As(err, &why)
		err = d.insist(ctx, func() error {
			return d.engine.DeliveryFailed(report, due.Execution, claimed.Attempt, why.Reason, why.HTTPStatus)
		})
	}
	if err != nil {
		// The lease notices: the attempt lapses unless the agent writes.
		d.log.LogAttrs(ctx, slog.LevelWarn, "record delivery", append(attrs, slog.Any("err", err))...)
	}
}

// insist tries again while the store has no room, or cannot write for now.
func (d *Dispatcher) insist(ctx context.Context, report func() error) error {
	for {
		err := report()
		if !errors.Is(err, store.ErrOverloaded) && !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		select {
		case <-time.After(retryStore):
		case <-ctx.Done():
			return err
		}
	}
}

// again puts a dispatch back that could not be claimed for want of the store.
func (d *Dispatcher) again(due store.DueDispatch) {
	now := kernel.At(time.Now())
	due.NotBefore = now.Add(retryStore)
	d.mu.Lock()
	d.queue.add(due, now)
	d.mu.Unlock()
}
