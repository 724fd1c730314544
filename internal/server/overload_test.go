package server_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/store"
)

// TestOverload: the fuller the queue, the less is begun, and what ends work or
// keeps it alive is served as long as there is any room.
func TestOverload(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	id := b.create()
	path := "/v0/executions/" + id.String()
	release := b.stall(id)
	var waiting errgroup.Group
	fill := func(n int) { // until n operations wait
		t.Helper()
		for range n - b.db.QueueLength() {
			waiting.Go(func() error { // nobody holds a lease: it is served, and refused
				if err := b.engine.Heartbeat(context.Background(), id, kernel.Holder{}); errors.Is(err, store.ErrOverloaded) {
					return err
				}
				return nil
			})
		}
		for b.db.QueueLength() < n {
			runtime.Gosched()
		}
	}
	status := func(method, path, body string) int {
		t.Helper()
		w := serve(b.Server, method, path, body)
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: 429 without Retry-After", method, path)
		}
		return w.Code
	}
	const create = `{"agent_id":"a","input":{}}`
	fill(300)
	if got := status(http.MethodPost, "/v0/executions", create); got != http.StatusTooManyRequests {
		t.Errorf("create with 300 waiting: %d", got)
	}
	if got := status(http.MethodGet, path, ""); got != http.StatusOK {
		t.Errorf("get with 300 waiting: %d", got)
	}
	fill(800)
	for _, r := range [][3]string{{http.MethodGet, path, ""}, {http.MethodPost, path + "/signal", `{"signal_type":"s","payload":1}`}} {
		if got := status(r[0], r[1], r[2]); got != http.StatusTooManyRequests {
			t.Errorf("%s %s with 800 waiting: %d", r[0], r[1], got)
		}
	}
	beat := make(chan int, 1)
	go func() { beat <- serve(b.Server, http.MethodPost, path+"/heartbeat", "").Code }()
	for b.db.QueueLength() < 801 {
		runtime.Gosched()
	}
	fill(1024)
	for _, p := range []string{"/v0/health", "/v0/version"} {
		if got := status(http.MethodGet, p, ""); got != http.StatusOK {
			t.Errorf("%s with a full queue: %d", p, got)
		}
	}
	if got := status(http.MethodPost, path+"/cancel", ""); got != http.StatusTooManyRequests {
		t.Errorf("cancel with a full queue: %d", got)
	}
	release()
	if got := <-beat; got != http.StatusConflict {
		t.Errorf("heartbeat with 800 waiting: %d", got)
	}
	if err := waiting.Wait(); err != nil {
		t.Errorf("what waited: %v", err)
	}
	if got := status(http.MethodPost, "/v0/executions", create); got != http.StatusCreated {
		t.Errorf("create afterwards: %d", got)
	}
}
