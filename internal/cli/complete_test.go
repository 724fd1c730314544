package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// completer completes command lines against a server, by a clock of its own.
type completer struct {
	t   *testing.T
	url string
	dir string // of the cache
	now time.Time
	env map[string]string
}

func newCompleter(t *testing.T, h http.HandlerFunc) *completer {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &completer{t: t, url: srv.URL, dir: t.TempDir(), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), env: map[string]string{}}
}

func (c *completer) complete(args ...string) string {
	c.t.Helper()
	var out, errs bytes.Buffer
	env := func(name string) (string, bool) {
		if v, ok := c.env[name]; ok {
			return v, true
		}
		return noEnv(c.dir)(name)
	}
	args = append([]string{"__complete"}, args...)
	last := len(args) - 1
	args = append(args[:last:last], "-s", c.url, args[last])
	if code := Run(context.Background(), args, Stdio{In: strings.NewReader(""), Out: &out, Err: &errs}, Options{LookupEnv: env, Now: func() time.Time { return c.now }}); code != 0 {
		c.t.Fatalf("exit code %d: %s", code, &errs)
	}
	return out.String()
}

// What the server said is kept for five seconds.
func TestCompletionIsKept(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := newCompleter(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		answer(w, wire.ExecutionList{Executions: wire.List[wire.Execution]{{ID: someID, AgentID: "de\tmo", Status: wire.ExecutionRunning}}})
	})
	c.env["KERNELCTL_COMPLETE_WITHIN"] = "30s" // not what is tested here
	for _, step := range []struct {
		after time.Duration
		asked int32
	}{{0, 1}, {4 * time.Second, 1}, {2 * time.Second, 2}} {
		c.now = c.now.Add(step.after)
		if got := c.complete("executions", "get", ""); !strings.Contains(got, someID+"\tde mo running\n") || asked.Load() != step.asked {
			t.Errorf("after %s: %q, asked %d times, want %d", step.after, got, asked.Load(), step.asked)
		}
	}
	// The end of an id is what lists show, so it is completed, too.
	end := someID[len(someID)-8:]
	if got := c.complete("executions", "get", end[:3]); !strings.HasPrefix(got, end+"\t") {
		t.Errorf("completed %q of %q", got, end[:3])
	}
}

// A server that does not answer is given up soon, and left alone for half a
// minute.
func TestCompletionGivesUp(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := newCompleter(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done() // it answers when nobody listens any more
	})
	c.env["KERNELCTL_COMPLETE_WITHIN"] = "1s" // enough to get there on a busy machine
	for _, step := range []struct {
		after time.Duration
		asked int32
	}{{0, 1}, {29 * time.Second, 1}, {2 * time.Second, 2}} {
		c.now = c.now.Add(step.after)
		began := time.Now()
		if got := c.complete("agents", "get", ""); !strings.HasPrefix(got, ":4") || asked.Load() != step.asked {
			t.Errorf("after %s: %q, asked %d times, want %d", step.after, got, asked.Load(), step.asked)
		}
		if took := time.Since(began); took > 10*time.Second { // the machine may be busy
			t.Errorf("it took %s", took)
		}
	}
}

// A password that would have to be typed is not asked for.
func TestCompletionNeverAsks(t *testing.T) {
	t.Parallel()
	c := newCompleter(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	if got := c.complete("agents", "get", "--token-file", "-", ""); !strings.HasPrefix(got, ":4") {
		t.Errorf("completed %q", got)
	}
}
