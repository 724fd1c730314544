package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentkernel/kernelctl/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback carries requests straight to a handler: without sockets a test may
// run on a fake clock.
type loopback struct{ handler http.Handler }

func (l loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	done := make(chan *http.Response, 1)
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	go func() {
		rec := httptest.NewRecorder()
		l.handler.ServeHTTP(rec, in)
		done <- rec.Result()
	}()
	select {
	case resp := <-done:
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// logBuffer is where an agent under test logs.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// rig is an agent beside a kernel.
type rig struct {
	t      testing.TB
	kernel *kernel
	agent  *agent.Agent
	log    *logBuffer
	lease  int
}

// newRig makes an agent that speaks to a kernel of its own; set may change its
// options. When the test ends nothing may run any more, and nothing that was
// logged may hold the secret.
func newRig(t testing.TB, set ...func(*agent.Options)) *rig {
	t.Helper()
	r := &rig{t: t, kernel: newKernel(t), log: &logBuffer{}, lease: 30}
	opts := agent.Options{
		BaseURL:    "http://kernel.test",
		AgentID:    testAgent,
		Secret:     testSecret,
		HTTPClient: &http.Client{Transport: loopback{r.kernel}},
		Logger:     slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Retry:      agent.RetryPolicy{BaseDelay: time.Microsecond, MaxDelay: time.Microsecond},
	}
	for _, fn := range set {
		fn(&opts)
	}
	a, err := agent.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	r.agent = a
	t.Cleanup(func() {
		if err := a.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if strings.Contains(r.log.String(), testSecret) {
			t.Errorf("the secret was logged: %s", r.log)
		}
	})
	return r
}

// post sends a webhook and returns its answer.
func (r *rig) post(fn agent.Func, body []byte, signature string) *http.Response {
	req := httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(body))
	if signature != "" {
		req.Header.Set("Service-Signature", signature)
	}
	rec := httptest.NewRecorder()
	r.agent.Handler(fn).ServeHTTP(rec, req)
	return rec.Result()
}

// deliver sends the newest attempt's webhook, which must be accepted.
func (r *rig) deliver(e *execution, fn agent.Func) {
	r.t.Helper()
	body := r.kernel.webhook(e, r.lease)
	if resp := r.post(fn, body, sign(body)); resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		r.t.Fatalf("webhook: %d %s", resp.StatusCode, text)
	}
}

// run delivers the newest attempt and waits for the run to end.
func (r *rig) run(e *execution, fn agent.Func) {
	r.t.Helper()
	r.deliver(e, fn)
	r.wait()
}

func (r *rig) wait() {
	r.t.Helper()
	if err := r.agent.Wait(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// outcome is what became of an execution, in one line.
func (r *rig) outcome(e *execution) string {
	r.kernel.mu.Lock()
	defer r.kernel.mu.Unlock()
	switch e.status {
	case "completed":
		return "completed " + string(e.output)
	case "failed":
		return "failed " + e.failure
	}
	return e.status
}

func (r *rig) wantOutcome(e *execution, want string) {
	r.t.Helper()
	if got := r.outcome(e); got != want {
		r.t.Errorf("execution: got %q, want %q\nlog: %s", got, want, r.log)
	}
}

// steps lists the recorded steps of an execution: kind, target, status.
func (r *rig) steps(e *execution) []string {
	r.kernel.mu.Lock()
	defer r.kernel.mu.Unlock()
	var out []string
	for _, s := range e.steps {
		out = append(out, s.Kind+" "+s.Target+" "+s.Status)
	}
	return out
}

// step is a copy of a recorded step.
func (r *rig) step(e *execution, i int) step {
	r.t.Helper()
	r.kernel.mu.Lock()
	defer r.kernel.mu.Unlock()
	if i >= len(e.steps) {
		r.t.Fatalf("%d steps, want at least %d", len(e.steps), i+1)
	}
	return *e.steps[i]
}

func mustJSON(t testing.TB, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

// value is a step's function that counts its calls.
func value[T any](calls *int, v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) {
		*calls++
		return v, nil
	}
}

// pass lets time go by on the fake clock of a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }
