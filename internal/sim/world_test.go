package sim_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// shape is what a seed decides about a run as a whole.
type shape struct {
	agents, executions, steps int
	horizon                   time.Duration // how long faults befall it
	leases                    []time.Duration
	resident, queue, workers  int
	deadlines                 bool

	// Chances, of every occasion.
	lost, doubled, crash, slow, linger, undelivered, full float64
	crashes, stops                                        bool // of the service
}

func drawShape(r *rand.Rand) shape {
	s := shape{
		agents: 1 + r.IntN(3), executions: 1 + r.IntN(7), steps: 2 + r.IntN(12),
		horizon:   time.Duration(20+r.IntN(400)) * time.Second,
		deadlines: r.IntN(3) == 0, workers: 1 + r.IntN(8),
		crashes: r.IntN(2) == 0, stops: r.IntN(2) == 0,
	}
	for range s.agents {
		s.leases = append(s.leases, time.Duration(10+r.IntN(3)*15)*time.Second)
	}
	if r.IntN(2) == 0 {
		s.resident = 1 + r.IntN(12)
	}
	if r.IntN(6) == 0 {
		s.queue = 1 + r.IntN(4)
	}
	for _, p := range []*float64{&s.lost, &s.doubled, &s.crash, &s.slow, &s.linger, &s.undelivered, &s.full} {
		switch r.IntN(3) {
		case 0: // none of it
		case 1:
			*p = 0.02
		case 2:
			*p = 0.01 + 0.15*r.Float64()
		}
	}
	if r.IntN(4) == 0 { // webhooks that keep the few workers busy
		s.linger, s.workers = 0.7, 1+r.IntN(2)
	}
	switch r.IntN(8) {
	case 0, 1:
		s.undelivered = 0.6
	case 2: // steady, and so held to its promptness
		s.crashes, s.stops, s.full, s.slow, s.linger, s.undelivered = false, false, 0, 0, 0, 0
	case 3:
		s.crashes, s.stops, s.full = false, false, 0
	}
	return s
}

// steady reports whether nothing befalls the service itself.
func (s *shape) steady() bool { return !s.crashes && !s.stops && s.full == 0 }

// world is one simulated run.
type world struct {
	t      *testing.T
	seed   uint64
	shape  shape
	folder string
	h      *history
	actors sync.WaitGroup
	calm   atomic.Bool   // no more faults begin
	quiet  atomic.Bool   // none is under way
	calmed chan struct{} // closed then

	mu   sync.Mutex
	life *life // nil while the service is down
	born int   // lives so far
	path string

	places map[kernel.EventID]place // of all events, when all is over
}

func newWorld(t *testing.T, seed uint64, folder string, met *tally) *world {
	w := &world{t: t, seed: seed, folder: folder, calmed: make(chan struct{}), h: newHistory(t, met)}
	w.shape = drawShape(w.rand("shape"))
	w.path = filepath.Join(folder, "life-0", "kernel.db")
	return w
}

// rand is a source of its own for each actor, so that they do not disturb each other.
func (w *world) rand(name ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, name...)                 // never fails
	return rand.New(rand.NewPCG(w.seed, h.Sum64())) //nolint:gosec // a seed is the point
}

func child(r *rand.Rand) *rand.Rand {
	return rand.New(rand.NewPCG(r.Uint64(), r.Uint64())) //nolint:gosec // a seed is the point
}

// chance draws one occasion of a fault; there are none once it is calm.
func (w *world) chance(r *rand.Rand, p float64) bool { return r.Float64() < p && !w.calm.Load() }

// upTo is a time below most, short ones more often than long ones.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	f := r.Float64()
	return time.Duration(f * f * f * float64(most))
}

func pause(d time.Duration) {
	<-time.After(d)
}

var (
	errLost = errors.New("the network lost it")
	errDown = errors.New("connection refused")
)

// call is one request over a bad network to a service that may be down.
func (w *world) call(r *rand.Rand, fn func(context.Context, *engine.Engine) error) error {
	pause(upTo(r, 50*time.Millisecond))
	if w.chance(r, w.shape.lost) {
		return errLost
	}
	l := w.current()
	if l == nil {
		return errDown
	}
	ctx, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	if w.chance(r, w.shape.lost/4) {
		go hangUp()
	}
	quiet := w.quiet.Load()
	err := fn(ctx, l.engine)
	if err != nil && strings.Contains(err.Error(), "panicked") {
		w.t.Error(err)
	}
	if refusal, ok := engine.IsRejection(err); ok {
		w.h.met.add("refused " + refusal.Code.String())
	} else if err != nil {
		w.h.met.add("failed")
	}
	if err != nil && transient(err) && quiet && !errors.Is(err, store.ErrOverloaded) {
		w.t.Errorf("the service fails although nothing is wrong: %v", err)
	}
	if w.chance(r, w.shape.lost) {
		return errLost
	}
	return err
}

// retry calls until it is answered. It reports errLost when the caller gives up.
func (w *world) retry(r *rand.Rand, fn func(context.Context, *engine.Engine) error) error {
	for n := range 1000 {
		err := w.call(r, fn)
		if err == nil || !transient(err) {
			return err
		}
		pause(min(time.Second, 50*time.Millisecond<<min(n, 10)))
	}
	return errLost
}

// transient reports whether it is unknown what became of a request.
func transient(err error) bool {
	_, refused := engine.IsRejection(err)
	return !refused && !errors.Is(err, store.ErrNotFound)
}

// run lets it all happen, and then looks whether it was right.
func (w *world) run() {
	w.start()
	w.provision()
	for n := range w.shape.executions {
		w.actors.Go(func() { w.client(n) })
	}
	w.actors.Go(w.approver)
	w.actors.Go(w.reader)
	chaos := make(chan struct{})
	go func() {
		defer close(chaos)
		w.chaos()
	}()
	pause(w.shape.horizon)
	w.calm.Store(true)
	close(w.calmed)
	<-chaos
	w.quiet.Store(true)
	w.settle()
	w.actors.Wait()
	w.check()
	w.end()
}

const patience = 2 * time.Hour

// settle waits for the end of every execution.
func (w *world) settle() {
	began := time.Now()
	for {
		open := w.open()
		if len(open) == 0 {
			return
		}
		if time.Since(began) > patience {
			w.t.Errorf("%d executions have not ended %s after the last fault", len(open), patience)
			for _, x := range open {
				w.dump(x.ID)
				if err := w.current().engine.Cancel(w.t.Context(), x.ID); err != nil {
					w.t.Errorf("cancel %s: %v", x.ID, err)
				}
			}
			continue
		}
		pause(5 * time.Second)
	}
}

// open are the executions that have not ended.
func (w *world) open() []store.Execution {
	var open []store.Execution
	for _, x := range w.executions() {
		if !x.Status.Terminal() {
			open = append(open, x)
		}
	}
	return open
}

func (w *world) executions() []store.Execution {
	all, _, err := w.current().db.Executions(w.t.Context(), store.ExecutionQuery{Limit: 1000})
	if err != nil {
		w.t.Fatalf("list executions: %v", err)
	}
	if len(all) < w.shape.executions && !w.h.allCreated(w.shape.executions) {
		all = append(all, store.Execution{}) // one is on its way
	}
	return all
}

// dump shows the log of an execution.
func (w *world) dump(id kernel.ExecutionID) {
	if id.IsZero() {
		return
	}
	for _, e := range w.events(id) {
		w.t.Logf("%s %s %d %s %s", id, e.At, e.Seq, e.Type, e.Payload)
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
