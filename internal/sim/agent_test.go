package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/dispatch"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// deliverer hands attempts to agents that run in this process.
type deliverer struct{ w *world }

// Deliver implements [dispatch.Deliverer].
func (d *deliverer) Deliver(ctx context.Context, job engine.Delivery) error {
	w := d.w
	n := w.h.deliver(job)
	r := w.rand("delivery", w.h.number(job.Execution), n)
	if w.chance(r, w.shape.undelivered) { // it never arrives
		if err := w.linger(ctx, r); err != nil {
			return err
		}
		return &dispatch.Undelivered{Reason: "unreachable", HTTPStatus: 503 * r.IntN(2)}
	}
	begins := upTo(r, 20*time.Millisecond)
	if w.chance(r, w.shape.slow) {
		begins = upTo(r, 2*job.Lease)
	}
	if !w.chance(r, w.shape.crash) { // else the agent dies with the webhook in its hands
		a := &attempt{w: w, job: job, me: job.Attempt, r: child(r), keyed: r.IntN(4) > 0, counts: make(map[kernel.StepID]uint32)}
		w.actors.Go(func() { //nolint:contextcheck // an agent outlives its webhook
			pause(begins)
			a.run()
		})
	}
	if w.chance(r, w.shape.doubled) { // an ack that is told twice
		again := child(r)
		w.actors.Go(func() { //nolint:contextcheck // and so does this
			pause(upTo(again, time.Minute))
			_ = w.call(again, func(ctx context.Context, e *engine.Engine) error { return e.Acked(ctx, job.Execution, job.Attempt) })
		})
	}
	if w.chance(r, w.shape.linger) {
		if err := w.linger(ctx, r); err != nil {
			return err
		}
	}
	if w.chance(r, w.shape.lost) {
		return &dispatch.Undelivered{Reason: "connection reset"}
	}
	return nil
}

// linger is a webhook that takes its time.
func (w *world) linger(ctx context.Context, r *rand.Rand) error {
	select {
	case <-time.After(upTo(r, 30*time.Second)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt is an agent at work on one dispatch attempt.
type attempt struct {
	w       *world
	job     engine.Delivery
	me      kernel.Holder
	header  *store.Header
	r       *rand.Rand
	keyed   bool // it sends Idempotency-Keys
	mu      sync.Mutex
	submits int
	counts  map[kernel.StepID]uint32 // of the submits that resolved to a record, by family
	last    time.Time                // a call that may have renewed the lease
	over    atomic.Bool
}

// run carries out the program from its beginning.
func (a *attempt) run() {
	header, program, err := a.w.load(a.r, a.job.Execution)
	if err != nil {
		return
	}
	a.header = header
	for _, group := range program.groups {
		if a.dies(a.r) {
			return
		}
		var all sync.WaitGroup
		for _, o := range group {
			r := child(a.r)
			all.Go(func() {
				if !a.do(r, o) {
					a.over.Store(true)
				}
			})
		}
		all.Wait()
		if a.over.Load() {
			return
		}
	}
	a.finish(program.fails)
}

// dies draws whether the agent crashes here.
func (a *attempt) dies(r *rand.Rand) bool {
	if a.w.chance(r, a.w.shape.crash) {
		a.over.Store(true)
	}
	return a.over.Load()
}

// do carries out one op and reports whether the program goes on.
func (a *attempt) do(r *rand.Rand, o op) bool {
	const refusals = 4
	for range refusals {
		pause(upTo(r, 2*time.Second))
		if a.w.chance(r, a.w.shape.slow) {
			pause(upTo(r, 2*a.job.Lease))
		}
		if a.dies(r) {
			return false
		}
		answer, err := a.submit(r, o)
		if err != nil || a.dies(r) {
			return false
		}
		a.identify(o, answer)
		switch answer.Decision {
		case kernel.Proceed:
			return a.effect(r, o, answer.Step)
		case kernel.Replay, kernel.Denied:
			return true
		case kernel.RateLimited:
			pause(answer.RetryAfter)
		case kernel.BlockedByPolicy, kernel.ExecutionBlockedDecision, kernel.ExecutionTerminal:
			return false
		case kernel.Recorded:
			a.w.t.Errorf("a submit was answered %+v", answer)
			return false
		}
	}
	return true // it can do without
}

// identify holds the identity that the service derived against the agent's own count.
func (a *attempt) identify(o op, answer kernel.Answer) {
	if o.signal != "" || answer.Step == (kernel.StepID{}) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	digest := canonjson.Digest([]byte(o.args))
	family := kernel.DeriveStepID(a.job.Execution, o.kind, o.target, digest, 0)
	if want := kernel.DeriveStepID(a.job.Execution, o.kind, o.target, digest, a.counts[family]); answer.Step != want {
		a.w.t.Errorf("%s: occurrence %d of %s %s in attempt %v is step %s, want %s",
			a.job.Execution, a.counts[family], o.target, o.args, a.me, answer.Step, want)
	}
	switch answer.Decision {
	case kernel.Proceed, kernel.Replay, kernel.Denied:
		a.counts[family]++
	default: // it resolved to none, or the attempt ends here
	}
}

// submit asks for a decision, over and over if it has a key.
func (a *attempt) submit(r *rand.Rand, o op) (answer kernel.Answer, err error) {
	a.mu.Lock()
	a.submits++
	n := a.submits
	a.mu.Unlock()
	req := engine.Submit{Execution: a.header, Caller: a.me, Kind: o.kind, Target: o.target, Args: []byte(o.args), Idempotency: o.mode}
	if o.signal != "" {
		req.Kind, req.Target, req.Args, req.Idempotency = kernel.Local, kernel.SignalTarget(o.signal), nil, kernel.SafeToRetry
		req.Wait = &engine.Wait{SignalType: o.signal, Timeout: o.wait}
	}
	if a.keyed {
		req.Key = strconv.Itoa(n)
		req.Request = kernel.Sum(fmt.Append(nil, o))
	}
	once := func(ctx context.Context, e *engine.Engine) error {
		began := time.Now()
		got, err := e.Submit(ctx, req)
		if err == nil {
			a.w.h.submitted(a.job, n, req, got, began)
			answer = got
		}
		return err
	}
	if !a.keyed {
		return answer, a.w.call(r, a.reaching(once))
	}
	if a.w.chance(r, a.w.shape.doubled) { // the request goes out twice
		again := child(r)
		a.w.actors.Go(func() {
			pause(upTo(again, time.Minute))
			_ = a.w.call(again, a.reaching(func(ctx context.Context, e *engine.Engine) error {
				began := time.Now()
				got, err := e.Submit(ctx, req)
				if err == nil {
					a.w.h.submitted(a.job, n, req, got, began)
				}
				return err
			}))
		})
	}
	return answer, a.w.retry(r, a.reaching(once))
}

// reaching is a call that is noted when the service does not refuse it: it may
// renew the lease, whether the agent hears of it or not.
func (a *attempt) reaching(call func(context.Context, *engine.Engine) error) func(context.Context, *engine.Engine) error {
	return func(ctx context.Context, e *engine.Engine) error {
		began := time.Now()
		err := call(ctx, e)
		if err == nil || ctx.Err() != nil {
			a.w.h.tries(a.job, began)
			a.mu.Lock()
			a.last = time.Now()
			a.mu.Unlock()
		}
		return err
	}
}

// effect does what was allowed, and reports it.
func (a *attempt) effect(r *rand.Rand, o op, step kernel.StepID) bool {
	a.w.h.effect(a.job, step, o)
	if !a.busy(r, o.takes) || a.dies(r) {
		return false
	}
	outcome := []byte(fmt.Sprintf(`{"by":"%s/%d","usage":{"prompt_tokens":12,"completion_tokens":3}}`, a.me.Dispatch, a.me.Attempt))
	a.w.h.outcome(a.job, step, !o.fails, outcome)
	report := func(ctx context.Context, e *engine.Engine) error {
		began := time.Now()
		answer, err := e.FinishStep(ctx, a.job.Execution, a.me, step, !o.fails, outcome)
		if err == nil {
			a.w.h.finished(a.job, step, !o.fails, outcome, answer, began)
		}
		return err
	}
	if a.w.chance(r, a.w.shape.doubled) {
		again := child(r)
		a.w.actors.Go(func() {
			pause(upTo(again, time.Minute))
			_ = a.w.call(again, a.reaching(report))
		})
	}
	return a.w.retry(r, a.reaching(report)) == nil
}

// busy passes the time of an effect, with heartbeats or without. It reports
// whether the agent believes to own the execution still.
func (a *attempt) busy(r *rand.Rand, d time.Duration) bool {
	heeds, beats := r.IntN(2) == 0, r.IntN(4) > 0
	for d > 0 {
		nap := min(d, a.job.Lease/3)
		pause(nap)
		d -= nap
		if a.w.chance(r, a.w.shape.slow) {
			beats = false // they stop in the middle
		}
		if d <= 0 || !beats {
			continue
		}
		err := a.w.call(r, a.reaching(func(ctx context.Context, e *engine.Engine) error {
			began := time.Now()
			err := e.Heartbeat(ctx, a.job.Execution, a.me)
			if err == nil {
				a.w.h.accepted(a.job, "heartbeat", began)
			}
			return err
		}))
		if _, refused := engine.IsRejection(err); refused && heeds {
			return false
		}
	}
	return true
}

// finish ends the execution.
func (a *attempt) finish(fails bool) {
	pause(upTo(a.r, time.Second))
	if a.w.chance(a.r, (a.w.shape.linger+a.w.shape.full)/2) {
		// Just after its lease lapsed, when the next attempt waits for a worker or
		// for space on the disk.
		a.mu.Lock()
		lapses := a.last.Add(a.job.Lease)
		a.mu.Unlock()
		pause(time.Until(lapses) + upTo(a.r, 300*time.Millisecond))
	}
	if a.dies(a.r) {
		return
	}
	output, err := json.Marshal(map[string]any{"by": a.me.Dispatch.String(), "attempt": a.me.Attempt})
	if err != nil {
		a.w.t.Errorf("output: %v", err)
	}
	const reason = "the program says so"
	say := func(ctx context.Context, e *engine.Engine) (err error) {
		began := time.Now()
		if fails {
			err = e.Fail(ctx, a.job.Execution, a.me, reason)
		} else {
			err = e.Complete(ctx, a.job.Execution, a.me, output)
		}
		if err == nil {
			end := ending{status: kernel.StatusCompleted, output: string(output)}
			if fails {
				end = ending{status: kernel.StatusFailed, failure: reason}
			}
			a.w.h.ended(a.job.Execution, end)
			a.w.h.accepted(a.job, "finish", began)
		}
		return err
	}
	if a.w.chance(a.r, a.w.shape.doubled) {
		again := child(a.r)
		a.w.actors.Go(func() {
			pause(upTo(again, time.Minute))
			_ = a.w.call(again, a.reaching(say))
		})
	}
	err = a.w.retry(a.r, a.reaching(say))
	if refusal, ok := engine.IsRejection(err); ok && refusal.Code == kernel.Conflict {
		a.w.t.Errorf("finish %s: %v", a.job.Execution, err)
	} else if err != nil && !ok && !errors.Is(err, errLost) {
		a.w.t.Errorf("finish %s: %v", a.job.Execution, err)
	}
}
