package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// hookTimeout is how long a run waits for its webhook before it is a failure.
const hookTimeout = 60 * time.Second

// hook is a webhook that came.
type hook struct {
	attempt
	at time.Time
}

// hooks receives the webhooks of the agent and hands each to who waits for its
// execution. A hook that nobody waits for yet is kept.
type hooks struct {
	secret   wire.Secret
	listener net.Listener
	server   *http.Server
	done     chan struct{}

	mu   sync.Mutex
	wait map[string]chan hook
	all  func(hook) // set: takes every hook instead
}

func listenForHooks(ctx context.Context, address string, secret wire.Secret) (*hooks, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	h := &hooks{secret: secret, listener: l, wait: make(map[string]chan hook), done: make(chan struct{})}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(h.done)
		_ = h.server.Serve(l) // ends with close
	}()
	return h, nil
}

func (h *hooks) close() {
	_ = h.server.Close()
	<-h.done
}

func (h *hooks) url() string { return "http://" + h.listener.Addr().String() + "/" }

// ServeHTTP takes a delivery as an agent would: it checks the signature and
// answers at once.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	var b wire.Webhook
	if err != nil || !wire.Verify(h.secret, body, r.Header.Get(wire.HeaderSignature)) || json.Unmarshal(body, &b) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	got := hook{attempt{execution: b.ExecutionID, dispatch: b.DispatchID, number: b.DispatchAttempt}, at}
	h.mu.Lock()
	all := h.all
	h.mu.Unlock()
	if all != nil {
		all(got)
		return
	}
	h.channel(b.ExecutionID) <- got
}

// take sends every further hook to fn, which must not block long; nil ends it.
func (h *hooks) take(fn func(hook)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = fn
}

func (h *hooks) channel(execution string) chan hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.wait[execution]
	if !ok {
		c = make(chan hook, 8) // more deliveries than an execution has within one scenario
		h.wait[execution] = c
	}
	return c
}

// await waits for the next webhook of an execution.
func (h *hooks) await(ctx context.Context, execution string) (hook, error) {
	t := time.NewTimer(hookTimeout)
	defer t.Stop()
	select {
	case got := <-h.channel(execution):
		return got, nil
	case <-ctx.Done():
		return hook{}, ctx.Err()
	case <-t.C:
		return hook{}, fmt.Errorf("no webhook for execution %s within %s", execution, hookTimeout)
	}
}

// forget drops what is kept of an execution that has ended.
func (h *hooks) forget(execution string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.wait, execution)
}
