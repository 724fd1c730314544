package daemon_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const local = "127.0.0.1:0"

// TestOpenRefuses what cannot run, and leaves nothing behind.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{})
	text := filepath.Join(t.TempDir(), "notes.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	free := filepath.Join(t.TempDir(), "free.db")
	for _, tt := range []struct {
		name string
		opts daemon.Options
		is   error
		says string
	}{
		{"the port is taken", daemon.Options{Listen: s.Addr().String(), DB: free, Dev: true}, nil, "in use"},
		{"the port is none", daemon.Options{Listen: "127.0.0.1:99999", DB: free, Dev: true}, nil, "invalid port"},
		{"the database is open elsewhere", daemon.Options{Listen: local, DB: s.Path(), Dev: true}, sqlite.ErrLocked, s.Path()},
		{"no database", daemon.Options{Listen: local, DB: text, Dev: true}, nil, text},
		{"no token", daemon.Options{Listen: local, DB: free}, nil, "token"},
	} {
		d, err := daemon.Open(t.Context(), tt.opts)
		if err == nil {
			_ = d.Close()
			t.Errorf("%s: it opens", tt.name)
			continue
		}
		if !strings.Contains(err.Error(), tt.says) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v, want that it says %q", tt.name, err, tt.says)
		}
	}
	// Neither port nor file were kept by those that failed.
	d, err := daemon.Open(t.Context(), daemon.Options{Listen: local, DB: free, Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestNeverRun: a daemon that was opened and not run gives everything back.
func TestNeverRun(t *testing.T) {
	t.Parallel()
	d, err := daemon.Open(t.Context(), daemon.Options{Listen: local, Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Temporary() {
		t.Error("a database without a path is not temporary")
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(d.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder: %v, want that it is gone", err)
	}
	again, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", d.Addr().String())
	if err != nil {
		t.Errorf("the port: %v", err)
	} else {
		_ = again.Close()
	}
}

// TestTemporaryDatabase is removed at the end.
func TestTemporaryDatabase(t *testing.T) {
	t.Parallel()
	d, err := daemon.Open(t.Context(), daemon.Options{Listen: local, Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	<-d.Ready()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(d.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder: %v, want that it is gone", err)
	}
}

func agent(id kernel.AgentID, url, policy string) daemon.Agent {
	a := daemon.Agent{AgentSpec: store.AgentSpec{ID: id, WebhookURL: url, Secret: "s", Lease: time.Minute}}
	if policy != "" {
		a.Policy = []byte(policy)
	}
	return a
}

// TestProvisioning registers and replaces the agents of the manifest before the
// first request; a policy that it does not name stays.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	one, two := agent("one", "http://127.0.0.1:9/one", "default_action: allow\n"), agent("two", "http://127.0.0.1:9/two", "")
	s := daemontest.New(t, daemon.Options{Agents: []daemon.Agent{one, two}})
	read := func(s *daemontest.Service, id string) (a wire.Agent) {
		s.Admin(http.MethodGet, "/v0/agents/"+id, "", http.StatusOK, &a)
		return a
	}
	before := read(s, "one")
	if before.PolicyBundle != "default_action: allow\n" || before.LeaseTimeoutSeconds != 60 || read(s, "two").PolicyBundle != "" {
		t.Errorf("agents: %s, %s", daemontest.JSON(before), daemontest.JSON(read(s, "two")))
	}
	s.Admin(http.MethodPost, "/v0/policies/two", `{"bundle":"default_action: deny\n"}`, http.StatusNoContent, nil)
	opts := s.Options()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	one.WebhookURL, one.Policy = "http://127.0.0.1:9/other", []byte("default_action: deny\n")
	opts.Listen, opts.Agents = local, []daemon.Agent{one, two}
	s = daemontest.New(t, opts)
	after := read(s, "one")
	if after.WebhookURL != "http://127.0.0.1:9/other" || after.PolicyBundle != "default_action: deny\n" || after.RegisteredAt != before.RegisteredAt {
		t.Errorf("provisioned again: %s", daemontest.JSON(after))
	}
	if kept := read(s, "two"); kept.PolicyBundle != "default_action: deny\n" {
		t.Errorf("a policy that the manifest does not name: %s", daemontest.JSON(kept))
	}
}

// TestBadPolicyStopsTheStart before anything is changed.
func TestBadPolicyStopsTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.db")
	good, bad := agent("good", "http://127.0.0.1:9/", "default_action: allow\n"), agent("bad", "http://127.0.0.1:9/", "rules: [")
	d, err := daemon.Open(t.Context(), daemon.Options{Listen: local, DB: path, Dev: true, Agents: []daemon.Agent{good, bad}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("it ended with %v, want that it names the agent", err)
	}
	s := daemontest.New(t, daemon.Options{DB: path})
	var agents []wire.Agent
	if s.Admin(http.MethodGet, "/v0/agents", "", http.StatusOK, &agents); len(agents) != 0 {
		t.Errorf("agents: %s, want none", daemontest.JSON(agents))
	}
}

// TestStopsWithReaders: streams end, however patient their readers are.
func TestStopsWithReaders(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{})
	run := s.Agent("a").Start("")
	for _, path := range []string{run.Path("/events"), run.Path("/stream"), "/v0/events"} {
		resp := s.Open(t.Context(), http.MethodGet, path, "", daemontest.Bearer(daemontest.Token), daemontest.Header("Accept", wire.ContentTypeEventStream))
		defer resp.Body.Close()
		defer func() {
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("%s: %v, want an orderly end", path, err)
			}
		}()
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestStopsWithHangingAgents within the grace period, not within theirs.
func TestStopsWithHangingAgents(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{Grace: 100 * time.Millisecond, DispatchTimeout: time.Hour})
	s.AgentThat("a", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }).Start("")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestStopsWithSlowRequests: whoever does not send what was announced is cut off.
func TestStopsWithSlowRequests(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{Grace: 100 * time.Millisecond})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST /v0/executions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nAuthorization: Bearer "+daemontest.Token+"\r\nContent-Length: 100\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // 100 Continue: it waits for the body
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestNothingLeavesWhileItStops: deliveries under way end and are recorded, and
// none begins; the next start takes up what waited.
func TestNothingLeavesWhileItStops(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{DispatchConcurrency: 1})
	answer := make(chan struct{})
	a := s.AgentThat("a", func(http.ResponseWriter, *http.Request) { <-answer })
	first := a.Start("")
	second := a.Create("") // waits for the only place
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	for { // the port closes once the stop has begun
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(answer)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if n := len(a.Deliveries); n != 0 {
		t.Errorf("%d webhooks left while it stopped", n)
	}
	s = daemontest.New(t, s.Options())
	types := daemontest.Types(s.Events(first.ExecutionID))
	if len(types) != 4 || types[2] != wire.EventDispatchAcked {
		t.Errorf("events %v, want the ack of the delivery that was under way", types)
	}
	if next := a.Next(); next.ExecutionID != second.ID || next.DispatchAttempt != 1 {
		t.Errorf("after the start: %s", next.Raw)
	}
}

// TestMetrics are served, and move.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{})
	run := s.Agent("a").Start("")
	run.Complete("1")
	a := s.Send(http.MethodGet, "/metrics", "")
	if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") || !strings.Contains(a.Body, "# TYPE ") {
		t.Errorf("status %d, %s: %.200s", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
}
