package cli

import (
	"net/http"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// transport wraps what carries the requests: a spinner while one takes long,
// and with --verbose a line for each.
func (s *session) transport() http.RoundTripper {
	var t http.RoundTripper = &waiting{next: client.NewTransport(), io: s.io, text: "asking " + s.Server}
	if flagBool(s.cmd, "verbose") {
		t = &tracing{next: t, io: s.io}
	}
	return t
}

// waiting shows one spinner however many requests are under way.
type waiting struct {
	next http.RoundTripper
	io   *iostreams.Streams
	text string

	mu   sync.Mutex
	n    int
	stop func()
}

func (w *waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if w.n++; w.n == 1 {
		w.stop = w.io.Spin(w.text)
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.n--; w.n == 0 {
			w.stop()
		}
	}()
	return w.next.RoundTrip(r)
}

// tracing writes what is sent and what comes back. Headers and bodies are left
// out: that is where tokens and secrets are.
type tracing struct {
	next http.RoundTripper
	io   *iostreams.Streams
}

func (t *tracing) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	t.io.Warnf("> %s %s", r.Method, r.URL.Redacted())
	resp, err := t.next.RoundTrip(r)
	took := printer.Took(time.Since(began))
	if err != nil {
		t.io.Warnf("< %v after %s", err, took)
		return nil, err
	}
	id := printer.Clean(resp.Header.Get(wire.HeaderRequestID))
	t.io.Warnf("< %s, %s in %s, request %s", resp.Status, resp.Header.Get("Content-Type"), took, id)
	return resp, nil
}
