package timer_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/timer"
)

const (
	agentID = "worker"
	term    = 5 * time.Minute // of every timer, so that all fall due together
	rules   = `
default_action: allow
rules:
  - {id: ask, when: {target: ask}, then: {decision: require_approval, approval_config: {timeout: 5m}}}
  - {id: slow, when: {target: slow}, then: {decision: allow, rate_limit: {max_calls: 1, window: 5m, max_wait: 1h}}}
`
)

// world is the store, the engine and the timers in fake time. There is no
// dispatcher: the test is the agent.
type world struct {
	*testing.T
	folder    string
	lives     int
	path      string
	retention time.Duration
	queue     int                           // of the writer; 0: the default
	wrap      func(store.Queue) store.Queue // what the timers ask; nil: the store
	expired   chan time.Time                // when executions were removed

	engine *engine.Engine
	timers *timer.Timers
	halt   []func() error

	mu     sync.Mutex
	events []event
	queued map[kernel.ExecutionID]kernel.DispatchID // the newest dispatch of each
	fault  func(point int) error
}

// event is what a commit told of.
type event struct {
	execution kernel.ExecutionID
	kernel.Event
}

// inBubble runs a test in fake time.
func inBubble(t *testing.T, run func(*world)) {
	t.Helper()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, folder: folder, expired: make(chan time.Time, 100), queued: make(map[kernel.ExecutionID]kernel.DispatchID)}
		w.path = filepath.Join(folder, "kernel.db")
		defer w.stop() // or the timers would go on for ever after a failure
		run(w)
	})
}

// start begins a life, as the daemon does.
func (w *world) start() {
	w.Helper()
	w.lives++
	db, err := sqlite.Open(w.Context(), w.path, sqlite.Options{Queue: w.queue, OnCommit: w.committed, Fault: w.faults})
	if err != nil {
		w.Fatalf("open the database in life %d: %v", w.lives, err)
	}
	var queue store.Queue = db
	if w.wrap != nil {
		queue = w.wrap(db)
	}
	w.engine = engine.New(db, engine.Options{LeaseTimeout: term})
	w.mu.Lock()
	w.timers = timer.New(w.engine, queue, w.retention, nil)
	w.timers.OnExpired(func(context.Context) { w.expired <- time.Now() })
	w.mu.Unlock()
	w.halt = []func() error{background(db.Run)}
	if err := w.engine.LoadAgents(w.Context()); err != nil {
		w.Fatalf("load agents in life %d: %v", w.lives, err)
	}
	if w.lives == 1 {
		if _, err := w.engine.RegisterAgent(w.Context(), store.AgentSpec{ID: agentID, WebhookURL: "http://127.0.0.1:9/", Secret: "s"}); err != nil {
			w.Fatalf("register the agent: %v", err)
		}
		if err := w.engine.PutPolicy(w.Context(), agentID, []byte(rules)); err != nil {
			w.Fatalf("load the policy: %v", err)
		}
	}
	w.halt = append(w.halt, background(w.timers.Run))
}

// background runs a part until the function that it returns is called.
func background(run func(context.Context) error) (halt func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// stop ends the life in good order: the timers, then the store.
func (w *world) stop() {
	w.Helper()
	for i := len(w.halt) - 1; i >= 0; i-- {
		if err := w.halt[i](); err != nil {
			w.Errorf("stop life %d: %v", w.lives, err)
		}
	}
	w.halt = nil
}

// kill ends the life and leaves on the disk what a killed process would.
func (w *world) kill() {
	w.Helper()
	synctest.Wait()
	after := filepath.Join(w.folder, "after-"+strconv.Itoa(w.lives)+".db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(after+suffix, b, 0o600)
		}
		if err != nil {
			w.Fatalf("copy the database: %v", err)
		}
	}
	w.stop()
	w.path = after
}

func (w *world) committed(batch []store.Committed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timers.Committed(batch)
	for i := range batch {
		w.queued[batch[i].Execution] = batch[i].Dispatch.ID
		for _, r := range batch[i].Records {
			w.events = append(w.events, event{batch[i].Execution, *r.Event})
		}
	}
}

func (w *world) faults(point int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == nil {
		return nil
	}
	return w.fault(point)
}

func (w *world) failing(fault func(point int) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// after lets time pass and everything that it causes happen.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// news are the events of an execution after the first n.
func (w *world) news(id kernel.ExecutionID, n int) (events []kernel.Event) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.execution == id {
			events = append(events, e.Event)
		}
	}
	return events[n:]
}

func types(events []kernel.Event) []kernel.EventType {
	types := []kernel.EventType{}
	for i := range events {
		types = append(types, events[i].Type())
	}
	return types
}

// run is an execution that an agent works on.
type run struct {
	w      *world
	header *store.Header
	id     kernel.ExecutionID
	holder kernel.Holder
}

// create creates an execution.
func (w *world) create(timeout time.Duration) *run {
	w.Helper()
	x, _, err := w.engine.Create(w.Context(), engine.Create{Agent: agentID, Input: []byte(`{}`), Timeout: timeout})
	if err != nil {
		w.Fatalf("create: %v", err)
	}
	header, err := w.engine.Header(w.Context(), x.ID)
	if err != nil {
		w.Fatalf("header: %v", err)
	}
	return &run{w: w, header: header, id: x.ID}
}

// claim takes the newest dispatch of the execution.
func (r *run) claim() *run {
	r.w.Helper()
	synctest.Wait() // commits are told of after the answer
	r.w.mu.Lock()
	dispatch := r.w.queued[r.id]
	r.w.mu.Unlock()
	claimed, ok, err := r.w.engine.Claim(r.w.Context(), r.id, agentID, dispatch)
	if err != nil || !ok {
		r.w.Fatalf("claim: %t, %v", ok, err)
	}
	r.holder = claimed.Attempt
	return r
}

func (r *run) ack() *run {
	r.w.Helper()
	r.must(r.w.engine.Acked(r.w.Context(), r.id, r.holder))
	return r
}

// begin is a new execution with an attempt that was acked.
func (w *world) begin(timeout time.Duration) *run {
	w.Helper()
	return w.create(timeout).claim().ack()
}

func (r *run) submit(target, args string, want kernel.Decision) kernel.Answer {
	r.w.Helper()
	return r.decide(engine.Submit{Kind: kernel.ToolCall, Target: target, Args: []byte(args)}, want)
}

func (r *run) wait(timeout time.Duration) {
	r.w.Helper()
	r.decide(engine.Submit{Kind: kernel.Local, Target: "signal:go", Wait: &engine.Wait{SignalType: "go", Timeout: timeout}}, kernel.BlockedByPolicy)
}

func (r *run) decide(s engine.Submit, want kernel.Decision) kernel.Answer {
	r.w.Helper()
	s.Execution, s.Caller, s.Idempotency = r.header, r.holder, kernel.SafeToRetry
	a, err := r.w.engine.Submit(r.w.Context(), s)
	if err != nil || a.Decision != want {
		r.w.Fatalf("submit %s: %+v, %v; want %v", s.Target, a, err, want)
	}
	return a
}

func (r *run) heartbeat() {
	r.w.Helper()
	r.must(r.w.engine.Heartbeat(r.w.Context(), r.id, r.holder))
}

func (r *run) must(err error) {
	r.w.Helper()
	if err != nil {
		r.w.Fatalf("execution %s: %v", r.id, err)
	}
}
