package timer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

const (
	atOnce      = 64               // commands given at the same time
	page        = 256              // what is fetched or taken in one go
	safetyNet   = 30 * time.Second // between looks at the store when nothing seems due
	afterError  = 250 * time.Millisecond
	expireSlice = 50 // executions removed in one transaction
	expireEvery = time.Minute
)

// Timers watches the clock.
type Timers struct {
	engine    *engine.Engine
	store     store.Queue
	log       *slog.Logger
	retention time.Duration
	expired   func(context.Context)

	mu     sync.Mutex
	leases *leases
	wakeAt kernel.Instant // the earliest timer that was heard of since the last look
	woken  chan struct{}
}

// New watches for an engine. Executions that ended longer than retention ago
// are removed; 0 keeps them for ever.
func New(e *engine.Engine, q store.Queue, retention time.Duration, log *slog.Logger) *Timers {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Timers{engine: e, store: q, retention: retention, log: log, leases: newLeases(), woken: make(chan struct{}, 1)}
}

// OnExpired sets what is called after executions were removed, of which no
// commit tells. Call it before Run.
func (t *Timers) OnExpired(fn func(context.Context)) { t.expired = fn }

// Committed tells the timers what was stored. It does not block.
func (t *Timers) Committed(batch []store.Committed) {
	t.mu.Lock()
	before := t.soonest()
	for i := range batch {
		c := &batch[i]
		if c.Dispatch.Status == kernel.DispatchInFlight && !c.Status.Terminal() {
			t.leases.set(c.Execution, c.ExpiresAt)
		} else {
			t.leases.clear(c.Execution)
		}
		if !c.WakeAt.IsZero() && (t.wakeAt.IsZero() || c.WakeAt < t.wakeAt) {
			t.wakeAt = c.WakeAt
		}
	}
	sooner := t.soonest()
	t.mu.Unlock()
	if !sooner.IsZero() && (before.IsZero() || sooner < before) {
		t.wake()
	}
}

func (t *Timers) wake() {
	select {
	case t.woken <- struct{}{}:
	default: // it is about to look anyway
	}
}

func (t *Timers) soonest() kernel.Instant {
	lease := t.leases.next()
	if lease.IsZero() || !t.wakeAt.IsZero() && t.wakeAt < lease {
		return t.wakeAt
	}
	return lease
}

// Run watches until ctx ends. A store that fails now and then delays it.
func (t *Timers) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { t.start(ctx); return nil })
	group.Go(func() error { return t.watch(ctx) })
	if t.retention > 0 {
		group.Go(func() error { return t.expire(ctx) })
	}
	return group.Wait()
}

// start takes up the attempts that are in flight. What fails is tried again, for
// nobody else would look at them; taking one up twice does no harm.
func (t *Timers) start(ctx context.Context) {
	for {
		err := t.takeUp(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		t.log.LogAttrs(ctx, slog.LevelWarn, "take up the attempts in flight", slog.Any("err", err))
		select {
		case <-time.After(afterError):
		case <-ctx.Done():
			return
		}
	}
}

// takeUp replaces the attempts whose delivery an unclean stop cut off, and notes
// the leases of the others.
func (t *Timers) takeUp(ctx context.Context) error {
	var errs []error
	for after := int64(0); ; {
		found, err := t.store.InFlight(ctx, after, page)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, each(ctx, found, func(ctx context.Context, f store.InFlight) error {
			if !f.Acked && !f.Stored {
				return ignoreGone(t.engine.Restart(ctx, f.Execution))
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.leases.set(f.Execution, f.ExpiresAt)
			return nil
		}))
		t.wake()
		if len(found) < page {
			return errors.Join(errs...)
		}
		after = found[len(found)-1].No
	}
}

func (t *Timers) watch(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.woken:
		case <-timer.C:
		}
		timer.Reset(t.look(ctx))
	}
}

// look fires everything that is due and says how long nothing else will be.
func (t *Timers) look(ctx context.Context) time.Duration {
	now := kernel.At(time.Now())
	t.mu.Lock()
	t.wakeAt = 0 // whatever was heard of so far is in the store
	lapsed := t.leases.due(now, page)
	t.mu.Unlock()
	err := each(ctx, lapsed, t.lapse)
	due, next, errDue := t.store.Timers(ctx, now, page)
	if errDue == nil {
		errDue = each(ctx, due, t.fire)
	}
	if err = errors.Join(err, errDue); err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "timers", slog.Any("err", err))
		return afterError
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !next.IsZero() && (t.wakeAt.IsZero() || next < t.wakeAt) {
		t.wakeAt = next
	}
	if len(due) == page || len(lapsed) == page {
		return 0
	}
	if at := t.soonest(); !at.IsZero() {
		return min(safetyNet, max(0, time.Until(at.Time())))
	}
	return safetyNet
}

// lapse takes one execution from a quiet attempt, or notes when to look again.
func (t *Timers) lapse(ctx context.Context, id kernel.ExecutionID) error {
	next, err := t.engine.Lapse(ctx, id)
	if err = ignoreGone(err); err != nil {
		next = kernel.At(time.Now()).Add(afterError)
	}
	if !next.IsZero() {
		t.mu.Lock()
		t.leases.set(id, next)
		t.mu.Unlock()
	}
	return err
}

func (t *Timers) fire(ctx context.Context, due store.Timer) error {
	var err error
	switch due.Kind {
	case store.TimerApproval:
		err = t.engine.ExpireApproval(ctx, due.Approval)
	case store.TimerWait:
		err = t.engine.ExpireWait(ctx, due.Execution)
	case store.TimerDeadline:
		err = t.engine.PassDeadline(ctx, due.Execution)
	case store.TimerPark:
		err = t.engine.Unpark(ctx, due.Execution)
	}
	return ignoreGone(err)
}

// ignoreGone drops the error of a command that somebody was faster than.
func ignoreGone(err error) error {
	if _, refused := engine.IsRejection(err); refused || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// expire removes what ended before the retention period, in slices that wait
// for everything else.
func (t *Timers) expire(ctx context.Context) error {
	every := time.NewTicker(min(expireEvery, t.retention))
	defer every.Stop()
	for {
		removed := false
		for {
			n, err := t.engine.Expire(ctx, kernel.At(time.Now().Add(-t.retention)), expireSlice)
			if err != nil && ctx.Err() == nil {
				t.log.LogAttrs(ctx, slog.LevelWarn, "retention", slog.Any("err", err))
			}
			removed = removed || n > 0
			if err != nil || n < expireSlice {
				break
			}
		}
		if removed && t.expired != nil {
			t.expired(ctx)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// each runs fn for every item, several at once, so that they share commits.
func each[T any](ctx context.Context, items []T, fn func(context.Context, T) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	var mu sync.Mutex
	var errs []error
	for _, item := range items {
		group.Go(func() error {
			if err := fn(ctx, item); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
			return nil
		})
	}
	_ = group.Wait() // collects below
	return errors.Join(errs...)
}
