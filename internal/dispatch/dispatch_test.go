package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/dispatch"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const patience = 20 * time.Second

// world is an engine on a store of its own, and a dispatcher that the test runs.
type world struct {
	t          *testing.T
	db         *sqlite.DB
	engine     *engine.Engine
	dispatcher *dispatch.Dispatcher
	commits    chan store.Committed // all of them
}

// options of a world.
type options struct {
	dispatch.Options
	webhook     dispatch.WebhookOptions
	maxAttempts int
	path        string                        // of the database; "": a new one
	wrap        func(store.Store) store.Store // between engine and database
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{t: t, commits: make(chan store.Committed, 10_000)}
	if o.path == "" {
		o.path = filepath.Join(t.TempDir(), "kernel.db")
	}
	var err error
	w.db, err = sqlite.Open(t.Context(), o.path, sqlite.Options{OnCommit: func(batch []store.Committed) {
		w.dispatcher.Committed(batch)
		for _, c := range batch {
			w.commits <- c
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var s store.Store = w.db
	if o.wrap != nil {
		s = o.wrap(s)
	}
	w.engine = engine.New(s, engine.Options{MaxAttempts: o.maxAttempts})
	webhook := dispatch.NewWebhook(o.webhook)
	if o.Poll == 0 {
		o.Poll = time.Hour // nothing here may need the safety net
	}
	w.dispatcher = dispatch.New(w.engine, s, webhook, o.Options)
	stop := run(t, w.db.Run)
	t.Cleanup(func() { stop(); webhook.Close() })
	if err := w.engine.LoadAgents(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a part until stop is called, which returns when it has ended.
func run(t *testing.T, part func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := part(ctx); err != nil {
			t.Errorf("ended with: %v", err)
		}
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("does not end")
		}
	}
}

// deliver puts another deliverer in the place of the webhook.
func (w *world) deliver(by deliverer) {
	w.dispatcher = dispatch.New(w.engine, w.db, by, dispatch.Options{Poll: time.Hour})
}

// start runs the dispatcher until the test ends.
func (w *world) start() { w.t.Helper(); w.t.Cleanup(run(w.t, w.dispatcher.Run)) }

// agent registers an agent with a webhook.
func (w *world) agent(id string, hook http.HandlerFunc) {
	w.t.Helper()
	server := httptest.NewServer(hook)
	w.t.Cleanup(server.Close)
	w.register(id, server.URL)
}

func (w *world) register(id, url string) {
	w.t.Helper()
	if _, err := w.engine.RegisterAgent(w.t.Context(), store.AgentSpec{ID: kernel.AgentID(id), WebhookURL: url, Secret: secret}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(agent string) kernel.ExecutionID {
	w.t.Helper()
	x, _, err := w.engine.Create(w.t.Context(), engine.Create{Agent: kernel.AgentID(agent), Input: []byte("{}")})
	if err != nil {
		w.t.Fatal(err)
	}
	return x.ID
}

// await waits for an event of a type, of any execution.
func (w *world) await(want kernel.EventType) (kernel.Record, store.Committed) {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case c := <-w.commits:
			for _, r := range c.Records {
				if r.Event.Type() == want {
					return r, c
				}
			}
		case <-deadline:
			w.t.Fatalf("no %s came", want)
		}
	}
}

// body reads a webhook.
func body(t *testing.T, r *http.Request) (d wire.Webhook) {
	t.Helper()
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
		t.Errorf("webhook: %v", err)
	}
	return d
}

// TestClaimsBeforeItSends: when a webhook arrives, its attempt is on the disk.
func TestClaimsBeforeItSends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.agent("a", func(_ http.ResponseWriter, r *http.Request) {
		d := body(t, r)
		flying, err := w.db.InFlight(r.Context(), 0, 10)
		if err != nil || len(flying) != 1 || flying[0].Execution.String() != d.ExecutionID || flying[0].Acked {
			t.Errorf("in flight: %+v, %v", flying, err)
		}
		due, err := w.db.DueDispatches(r.Context(), store.QueuePlace{}, 10)
		if err != nil || len(due) != 0 {
			t.Errorf("due: %+v, %v", due, err)
		}
	})
	w.start()
	w.create("a")
	w.await(kernel.TypeDispatchAcked)
}

// TestLeavesAtOnce: the commit wakes the dispatcher, which does not poll here.
func TestLeavesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	arrived := make(chan string, 10)
	w.agent("a", func(_ http.ResponseWriter, r *http.Request) { arrived <- body(t, r).ExecutionID })
	w.start()
	for range 5 { // it sleeps in between
		id := w.create("a")
		select {
		case got := <-arrived:
			if got != id.String() {
				t.Errorf("a webhook for %s, want %s", got, id)
			}
		case <-time.After(patience):
			t.Fatal("no webhook")
		}
		w.await(kernel.TypeDispatchAcked)
	}
}

// TestFindsWhatWaited for a dispatcher that was not there.
func TestFindsWhatWaited(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.db")
	const n = 1050 // more than a page
	t.Run("before", func(t *testing.T) {
		w := newWorld(t, options{path: path})
		w.register("a", "http://127.0.0.1:9/")
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() {
				for range n / 30 {
					w.create("a")
				}
			})
		}
		group.Wait()
	})
	w := newWorld(t, options{path: path})
	arrived := make(chan kernel.ExecutionID, n)
	w.deliver(func(_ context.Context, d engine.Delivery) error { arrived <- d.Execution; return nil })
	w.start()
	seen := map[kernel.ExecutionID]bool{}
	for len(seen) < n {
		select {
		case id := <-arrived:
			if seen[id] {
				t.Fatalf("execution %s was delivered twice", id)
			}
			seen[id] = true
		case <-time.After(patience):
			t.Fatalf("%d deliveries, want %d", len(seen), n)
		}
	}
}

// TestMoreThanFits: what does not fit into memory waits in the store, and is
// taken when there is room again.
func TestMoreThanFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("a", "http://127.0.0.1:9/")
	const n = 100
	arrived := make(chan kernel.ExecutionID, 2*n)
	w.deliver(func(_ context.Context, d engine.Delivery) error { arrived <- d.Execution; return nil })
	w.dispatcher.SetRoom(8)
	for range n / 2 {
		w.create("a")
	}
	w.start()
	for range n / 2 {
		w.create("a")
	}
	seen := map[kernel.ExecutionID]bool{}
	for len(seen) < n {
		select {
		case id := <-arrived:
			seen[id] = true
		case <-time.After(patience):
			t.Fatalf("%d deliveries, want %d", len(seen), n)
		}
	}
}

// TestNeverTwice: agents that break connections in every way get every attempt
// once, in order.
func TestNeverTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{maxAttempts: 2})
	var mu sync.Mutex
	seen := map[string]int64{}
	n := 0
	w.agent("a", func(rw http.ResponseWriter, r *http.Request) {
		d := body(t, r)
		mu.Lock()
		defer mu.Unlock()
		n++
		if last := seen[d.DispatchID]; d.DispatchAttempt != last+1 {
			t.Errorf("attempt %d of %s after %d", d.DispatchAttempt, d.DispatchID, last)
		}
		seen[d.DispatchID] = d.DispatchAttempt
		switch n % 3 {
		case 0: // leaves the connection open, and closes it behind the answer
			rw.Header().Set("Connection", "close")
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			conn, _, err := rw.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}
	})
	w.start()
	const executions = 40
	for range executions {
		w.create("a")
	}
	for ended := 0; ended < executions; {
		select {
		case c := <-w.commits:
			for _, r := range c.Records {
				if t := r.Event.Type(); t == kernel.TypeDispatchAcked || t == kernel.TypeExecutionFailed {
					ended++
				}
			}
		case <-time.After(patience):
			t.Fatalf("%d of %d ended", ended, executions)
		}
	}
}

// TestBackoff: each failure is recorded, the next try comes when it is said to,
// and at last it is given up.
func TestBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{maxAttempts: 3})
	arrived := make(chan time.Time, 10)
	w.agent("a", func(rw http.ResponseWriter, _ *http.Request) {
		arrived <- time.Now()
		rw.WriteHeader(http.StatusTeapot)
	})
	w.start()
	w.create("a")
	next := kernel.Instant(0)
	for n := range 3 {
		if at := kernel.At(<-arrived); at < next {
			t.Errorf("try %d at %s, announced for %s", n+1, at, next)
		}
		r, _ := w.await(kernel.TypeDispatchFailed)
		failed := r.Event.Data.(*kernel.DeliveryFailed)
		if failed.Attempt != int64(n+1) || failed.HTTPStatus != http.StatusTeapot {
			t.Errorf("try %d: %+v", n+1, failed)
		}
		next = failed.NextAttemptAt
		longest := time.Second << n
		if wait := next.Sub(r.Event.At); n < 2 && (wait < 0 || wait > longest) || n == 2 && !next.IsZero() {
			t.Errorf("try %d: next at %s, %s later, want at most %s", n+1, next, wait, longest)
		}
	}
	select {
	case at := <-arrived:
		t.Errorf("another try at %s", at)
	default:
	}
}

// TestStopWaitsForDeliveries that end within the grace period, and records them.
func TestStopWaitsForDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Options: dispatch.Options{Grace: patience}})
	arrived, answer := make(chan struct{}), make(chan struct{})
	w.agent("a", func(http.ResponseWriter, *http.Request) { close(arrived); <-answer })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.dispatcher.Run(ctx) }()
	w.create("a")
	<-arrived
	cancel()
	select {
	case err := <-done:
		t.Errorf("stopped before the delivery ended: %v", err)
	default:
	}
	close(answer)
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.await(kernel.TypeDispatchAcked)
	w.create("a") // nobody takes it
}

// TestStopCutsOffWhatHangs once the grace period is over: an agent that never
// answers does not hold the service.
func TestStopCutsOffWhatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Options: dispatch.Options{Grace: time.Millisecond}, webhook: dispatch.WebhookOptions{Timeout: time.Hour}})
	arrived := make(chan struct{})
	w.agent("a", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the caller left
		close(arrived)
		<-r.Context().Done()
	})
	stop := run(t, w.dispatcher.Run)
	w.create("a")
	<-arrived
	stop()
	flying, err := w.db.InFlight(t.Context(), 0, 10)
	if err != nil || len(flying) != 1 {
		t.Errorf("in flight: %+v, %v: whether it arrived is unknown", flying, err)
	}
}

// busy is a store that is overloaded for a while.
type busy struct {
	store.Store
	mu   sync.Mutex
	left int
}

func (b *busy) overload(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = n
}

func (b *busy) Update(ctx context.Context, fn func(store.Tx) error, bodies ...store.Body) error {
	b.mu.Lock()
	refuse := b.left > 0
	b.left--
	b.mu.Unlock()
	if refuse {
		return store.ErrOverloaded
	}
	return b.Store.Update(ctx, fn, bodies...)
}

// TestOverloadLosesNothing: a claim and the outcome of a delivery are tried
// again when the store has no room for them.
func TestOverloadLosesNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusBadGateway} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			b := &busy{}
			w := newWorld(t, options{wrap: func(s store.Store) store.Store { b.Store = s; return b }})
			w.agent("a", func(rw http.ResponseWriter, _ *http.Request) {
				b.overload(2)
				rw.WriteHeader(status)
			})
			w.create("a")
			b.overload(1) // the claim
			w.start()
			want := kernel.TypeDispatchAcked
			if status != http.StatusOK {
				want = kernel.TypeDispatchFailed
			}
			w.await(want)
		})
	}
}

// TestDeliverersAreAnInterface: webhooks are the first kind, not the only one.
func TestDeliverersAreAnInterface(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("a", "http://127.0.0.1:9/")
	got := make(chan engine.Delivery, 1)
	w.deliver(func(_ context.Context, d engine.Delivery) error {
		got <- d
		return errors.New("no such thing")
	})
	w.start()
	id := w.create("a")
	if d := <-got; d.Execution != id || d.Attempt.Attempt != 1 || d.Lease != engine.DefaultLeaseTimeout || d.Secret != secret {
		t.Errorf("delivery %+v", d)
	}
	r, _ := w.await(kernel.TypeDispatchFailed)
	if failed := r.Event.Data.(*kernel.DeliveryFailed); failed.Error != "no such thing" || failed.HTTPStatus != 0 {
		t.Errorf("failed: %+v", failed)
	}
}

type deliverer func(context.Context, engine.Delivery) error

func (d deliverer) Deliver(ctx context.Context, what engine.Delivery) error { return d(ctx, what) }
