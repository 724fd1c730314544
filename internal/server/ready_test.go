package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// sick is a store all of whose work ends with an error.
type sick struct {
	store.Store
	err error
}

func (s *sick) Update(context.Context, func(store.Tx) error, ...store.Body) error { return s.err }

func (s *sick) Backlog() float64 { return 0 }

func (s *sick) Agents(context.Context) ([]store.Agent, error) { return nil, s.err }

// TestFaultsOfTheStore: which faults are said to be what, and that nothing of
// them is told but the kind.
func TestFaultsOfTheStore(t *testing.T) {
	t.Parallel()
	const inside = "/var/lib/secret/path.db: input/output error"
	for _, tt := range []struct {
		err    error
		status int
		code   wire.ErrorCode
		ready  int
	}{
		{store.ErrOverloaded, 429, wire.CodeTooManyRequests, 503},
		{fmt.Errorf("%w: %s", store.ErrUnavailable, inside), 503, wire.CodeUnavailable, 503},
		{fmt.Errorf("%w: %s", store.ErrClosed, inside), 503, wire.CodeUnavailable, 503},
		{fmt.Errorf("read %s: %w", inside, context.DeadlineExceeded), 503, wire.CodeUnavailable, 503},
		{errors.New(inside), 500, wire.CodeInternal, 503},
		{fmt.Errorf("%w: %s", store.ErrDamaged, inside), 500, wire.CodeInternal, 503},
	} {
		s := server.New(engine.New(&sick{err: tt.err}, engine.Options{}), nil, server.Options{Dev: true})
		w := serve(s, http.MethodGet, "/v0/agents", "", daemontest.Header(wire.HeaderRequestID, "my-id"))
		var e wire.ErrorEnvelope
		if err := strict(w.Body.Bytes(), &e); err != nil || w.Code != tt.status || e.Code != tt.code {
			t.Errorf("%v: status %d: %s", tt.err, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: an internal text is told: %s", tt.err, w.Body)
		}
		if tt.status == http.StatusInternalServerError && e.Details.RequestID != "my-id" {
			t.Errorf("%v: details %s", tt.err, daemontest.JSON(e.Details))
		}
		if (w.Code == 429 || w.Code == 503) && w.Header().Get("Retry-After") == "" {
			t.Errorf("%v: no Retry-After", tt.err)
		}
		ready := serve(s, http.MethodGet, "/v0/ready", "")
		if ready.Code != tt.ready || ready.Header().Get("Retry-After") == "" || strings.Contains(ready.Body.String(), "secret") {
			t.Errorf("%v: ready answers %d: %s", tt.err, ready.Code, ready.Body)
		}
		if health := serve(s, http.MethodGet, "/v0/health", ""); health.Code != http.StatusOK {
			t.Errorf("%v: health answers %d", tt.err, health.Code)
		}
	}
}

// TestReadyIsNotTheCallers: a caller that leaves says nothing about the store.
func TestReadyIsNotTheCallers(t *testing.T) {
	t.Parallel()
	b := newBare(t, server.Options{})
	gone, leave := context.WithCancel(t.Context())
	leave()
	b.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/v0/ready", http.NoBody))
	if w := serve(b, http.MethodGet, "/v0/ready", ""); w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestPanicsAreAnswered: a fault of the code is a 500 with a request id.
func TestPanicsAreAnswered(t *testing.T) {
	t.Parallel()
	s := server.New(engine.New(nil, engine.Options{}), nil, server.Options{Dev: true})
	w := serve(s, http.MethodGet, "/v0/agents", "") // there is no store
	var e wire.ErrorEnvelope
	if err := strict(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusInternalServerError || e.Details.RequestID == "" {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
