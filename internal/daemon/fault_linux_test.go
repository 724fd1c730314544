package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
)

// breakWrites makes every write of this process to a file fail that it has
// open: the descriptors are exchanged for ones that only read.
func breakWrites(t *testing.T, path string) {
	t.Helper()
	reading, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reading.Close() })
	const all = "/proc/self/fd"
	entries, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if target, _ := os.Readlink(filepath.Join(all, e.Name())); err != nil || target != path || fd == int(reading.Fd()) {
			continue
		}
		if err := syscall.Dup3(int(reading.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		found = true
	}
	if !found {
		t.Fatalf("%s is not open", path)
	}
}

// TestIOErrorEndsTheService: a database that cannot be trusted is not served
// from. Who asks in the meantime is told that the service is unavailable.
func TestIOErrorEndsTheService(t *testing.T) {
	t.Parallel()
	d, err := daemon.Open(t.Context(), daemon.Options{Listen: local, Dev: true, DB: filepath.Join(t.TempDir(), "kernel.db")})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(t.Context()) }()
	<-d.Ready()
	breakWrites(t, d.Path()+"-wal")
	for _, tt := range []struct{ method, path string }{{http.MethodGet, "/v0/ready"}, {http.MethodGet, "/v0/ready"}, {http.MethodGet, "/v0/agents"}, {http.MethodDelete, "/v0/agents/a"}} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		w := &answer{header: http.Header{}}
		if d.Handler().ServeHTTP(w, req); w.status != http.StatusServiceUnavailable {
			t.Errorf("%s %s: status %d", tt.method, tt.path, w.status)
		}
	}
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "cannot be trusted") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(daemontest.Patience):
		t.Error("it goes on")
	}
}

type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return len(p), nil }
