package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Run is one run of an execution: what one webhook started. All of its methods,
// and the functions of this package that take it, may be used by several
// goroutines at once; the agent function joins them before it returns.
type Run struct {
	client    *client
	log       *slog.Logger
	execution string
	dispatch  dispatchRef
	lease     time.Duration
	cancel    context.CancelCauseFunc // of the context of the agent function

	record executionRecord // written before the agent function starts

	mu       sync.Mutex
	stop     error // why the run must end; set once
	returned bool  // the agent function has returned
	effects  map[*effect]struct{}
	keys     map[[sha256.Size]byte]int // submits so far by body
	asking   int                       // submits that wait for their decision
	running  sync.WaitGroup            // effects being run and recorded; Add under mu, never once returned is set
}

// executionRecord is what a run uses of its execution as the kernel reads it out.
type executionRecord struct {
	Status    string            `json:"status"`
	Input     json.RawMessage   `json:"input"`
	Labels    map[string]string `json:"labels"`
	CreatedAt time.Time         `json:"created_at"`
}

func newRun(c *client, log *slog.Logger, w webhook, cancel context.CancelCauseFunc) *Run {
	return &Run{
		client:    c,
		log:       log.With("execution_id", w.ExecutionID, "dispatch_id", w.DispatchID, "attempt", w.Attempt),
		execution: w.ExecutionID,
		dispatch:  dispatchRef{id: w.DispatchID, attempt: w.Attempt},
		lease:     w.lease(),
		cancel:    cancel,
		effects:   map[*effect]struct{}{},
		keys:      map[[sha256.Size]byte]int{},
	}
}

// ExecutionID is the id of the execution.
func (r *Run) ExecutionID() string { return r.execution }

// DispatchID is the id of the dispatch that started this run. It differs
// between the runs of an execution: no effect may depend on it.
func (r *Run) DispatchID() string { return r.dispatch.id }

// Attempt counts the deliveries of the dispatch, from 1. It differs between the
// runs of an execution: no effect may depend on it.
func (r *Run) Attempt() int64 { return r.dispatch.attempt }

// Labels are the labels of the execution. The map is the caller's.
func (r *Run) Labels() map[string]string {
	if r.record.Labels == nil {
		return map[string]string{}
	}
	return maps.Clone(r.record.Labels)
}

// CreatedAt is when the execution was created: the same in every run, so that
// it may decide which effects fire, as time.Now may not.
func (r *Run) CreatedAt() time.Time { return r.record.CreatedAt }

// Logger logs with the ids of the execution, the dispatch and the attempt.
func (r *Run) Logger() *slog.Logger { return r.log }

// Input decodes the input of the execution into v, as json.Unmarshal does. Its
// error is that of the decoding, or what stopped the run.
func (r *Run) Input(ctx context.Context, v any) error {
	if err := r.admit(ctx); err != nil {
		return err
	}
	if err := json.Unmarshal(r.record.Input, v); err != nil {
		return fmt.Errorf("decode input of execution %s: %w", r.execution, err)
	}
	return nil
}

// load reads the execution.
func (r *Run) load(ctx context.Context) error {
	raw, err := r.client.do(ctx, call{method: http.MethodGet, path: executionPath(r.execution)})
	if err != nil {
		return r.verdict(ctx, err)
	}
	if err := json.Unmarshal(raw, &r.record); err != nil {
		return r.halt(fmt.Errorf("%w: decode execution: %w", ErrUnavailable, err))
	}
	switch r.record.Status {
	case "completed", "failed", "cancelled":
		return r.halt(ErrTerminal)
	}
	return nil
}

// admit says whether a call may begin.
func (r *Run) admit(ctx context.Context) error {
	if stop := r.stopped(); stop != nil {
		return stop
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// write sends one write in the name of this run.
func (r *Run) write(ctx context.Context, body []byte, key string, rest ...string) ([]byte, error) {
	return r.client.do(ctx, call{
		method:   http.MethodPost,
		path:     executionPath(r.execution, rest...),
		body:     body,
		dispatch: &r.dispatch,
		key:      key,
	})
}

// keyFor makes the Idempotency-Key of a submit. It comes from the body and a
// count, and not from chance, so that two processes that were handed the very
// same attempt share their steps instead of doubling them.
func (r *Run) keyFor(body []byte) string {
	sum := sha256.Sum256(body)
	r.mu.Lock()
	n := r.keys[sum]
	r.keys[sum] = n + 1
	r.mu.Unlock()
	return hex.EncodeToString(sum[:16]) + "-" + strconv.Itoa(n)
}
