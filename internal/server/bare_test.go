package server_test

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
)

// bare is a server in development mode with nothing around it: no network, no
// deliveries, no clock. The test is the agent, and may speak to the hub itself.
type bare struct {
	*server.Server
	engine *engine.Engine
	db     *sqlite.DB
	hub    *stream.Hub
	t      testing.TB

	committing chan struct{} // a token when the writer tells of a commit

	mu   sync.Mutex        // held: the writer stands still after its next commit
	held []store.Committed // nil: nothing is held back
}

func newBare(t testing.TB, opts server.Options) *bare {
	t.Helper()
	hub := stream.NewHub()
	b := &bare{hub: hub, t: t, committing: make(chan struct{}, 1)}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{OnCommit: b.committed})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the store ended with: %v", err)
		}
	})
	e := engine.New(db, engine.Options{})
	if err := e.LoadAgents(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.RegisterAgent(t.Context(), store.AgentSpec{ID: "a", WebhookURL: "http://127.0.0.1:9/", Secret: "s"}); err != nil {
		t.Fatal(err)
	}
	opts.Dev = true
	b.Server, b.engine, b.db = server.New(e, hub, opts), e, db
	return b
}

// committed tells the hub, unless the test holds it back.
func (b *bare) committed(batch []store.Committed) {
	select {
	case b.committing <- struct{}{}:
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != nil {
		b.held = append(b.held, batch...)
		return
	}
	b.hub.Committed(batch)
}

// hold keeps from the hub what is committed, until release tells it all at once.
func (b *bare) hold() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = []store.Committed{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hub.Committed(b.held)
		b.held = nil
	}
}

// stall has the writer stop after a commit about an execution, until release
// lets it go on.
func (b *bare) stall(id kernel.ExecutionID) (release func()) {
	b.t.Helper()
	b.mu.Lock()
	select { // of an earlier commit
	case <-b.committing:
	default:
	}
	signalled := make(chan struct{})
	go func() {
		defer close(signalled)
		b.signal(id, "1")
	}()
	<-b.committing
	return func() {
		b.mu.Unlock()
		<-signalled
	}
}

// create creates an execution for agent a.
func (b *bare) create() kernel.ExecutionID { b.t.Helper(); return b.createFor("a") }

func (b *bare) createFor(agent kernel.AgentID) kernel.ExecutionID {
	b.t.Helper()
	x, _, err := b.engine.Create(b.t.Context(), engine.Create{Agent: agent, Input: []byte("{}")})
	if err != nil {
		b.t.Fatal(err)
	}
	return x.ID
}

// signal records an event.
func (b *bare) signal(id kernel.ExecutionID, payload string) {
	b.t.Helper()
	if _, err := b.engine.Signal(b.t.Context(), id, "s", []byte(payload), ""); err != nil {
		b.t.Error(err)
	}
}

func (b *bare) cancel(id kernel.ExecutionID) {
	b.t.Helper()
	if err := b.engine.Cancel(b.t.Context(), id); err != nil {
		b.t.Fatal(err)
	}
}

// open serves one request to a reader until the handler returns.
func (b *bare) open(path string, opts ...daemontest.Option) *reader {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range opts {
		o(req, "")
	}
	r := &reader{t: b.t, header: http.Header{}, flushed: make(chan struct{}, 1), done: make(chan struct{}), leave: cancel}
	go func() {
		defer close(r.done)
		b.ServeHTTP(r, req)
	}()
	b.t.Cleanup(func() { cancel(); r.end() })
	return r
}

// reader is a client that takes what is written, unless it is stuck.
type reader struct {
	t       testing.TB
	header  http.Header
	flushed chan struct{} // a token when something new was flushed
	done    chan struct{} // closed when the handler has returned
	leave   context.CancelFunc
	gate    sync.Mutex // held: the reader is stuck, and writes wait

	mu       sync.Mutex
	status   int
	body     bytes.Buffer
	deadline time.Time // for writes, as it was set last
}

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *reader) Write(p []byte) (int, error) {
	r.gate.Lock()
	defer r.gate.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Write(p)
}

func (r *reader) Flush() {
	select {
	case r.flushed <- struct{}{}:
	default:
	}
}

func (r *reader) SetWriteDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = at
	return nil
}

func (r *reader) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.String()
}

// until waits until what was written satisfies enough.
func (r *reader) until(enough func(text string) bool) string {
	r.t.Helper()
	patience := time.After(daemontest.Patience)
	for {
		if text := r.text(); enough(text) {
			return text
		}
		select {
		case <-r.flushed:
		case <-r.done:
			if text := r.text(); enough(text) {
				return text
			}
			r.t.Fatalf("the stream ended after %q", r.text())
		case <-patience:
			r.t.Fatalf("nothing more came after %q", r.text())
		}
	}
}

// opened waits for the headers.
func (r *reader) opened() {
	r.t.Helper()
	r.until(func(string) bool { r.mu.Lock(); defer r.mu.Unlock(); return r.status != 0 })
}

// end waits until the handler has returned.
func (r *reader) end() string {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(daemontest.Patience):
		r.t.Errorf("the stream does not end after %q", r.text())
	}
	return r.text()
}
