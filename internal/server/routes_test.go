package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// routesOf is the table of the server that a service runs.
func routesOf(s *daemontest.Service) []server.Route { return s.Handler().(*server.Server).Routes() }

// TestRoutesAreThoseOfTheDocument: what is served is documented, and what is
// documented is served.
func TestRoutesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	var served, documented []string
	for _, r := range routesOf(newService(t, daemon.Options{})) {
		served = append(served, r.Method+" "+r.Pattern)
	}
	for name := range loadAPI(t).operations {
		documented = append(documented, name)
	}
	slices.Sort(served)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("routes (-openapi.yaml +router):\n%s", diff)
	}
}

// concrete replaces the names in a pattern by ids that are well-formed.
func concrete(pattern string) string {
	id := "019e1f0a-7c3b-7d10-9a4e-3f2b8c5d6e7f"
	return strings.NewReplacer("{id}", id, "{step_id}", strings.Repeat("0", 64), "{agent_id}", "a").Replace(pattern)
}

func TestEveryPathRefusesOtherMethods(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{Dev: true})
	allowed := map[string][]string{}
	for _, r := range routesOf(s) {
		allowed[r.Pattern] = append(allowed[r.Pattern], r.Method)
	}
	for pattern, methods := range allowed {
		for _, m := range []string{"GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			if slices.Contains(methods, m) {
				continue
			}
			a := s.Send(m, concrete(pattern), "")
			if a.Code() != wire.CodeMethodNotAllowed {
				t.Errorf("%s %s: status %d, want 405: %s", m, pattern, a.Status, a.Body)
			}
			got := strings.Split(a.Header.Get("Allow"), ", ")
			slices.Sort(got)
			slices.Sort(methods)
			if diff := cmp.Diff(methods, got); diff != "" {
				t.Errorf("%s %s: Allow (-want +got):\n%s", m, pattern, diff)
			}
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{Dev: true})
	for _, path := range []string{
		"/", "/v0", "/v0/", "/v1/executions", "/v0/executions/", "/v0/execution", "/executions", "//v0/executions",
		"/v0/agents/a/b", "/v0/agents/a%2Fb", "/v0/executions/019e1f0a-7c3b-7d10-9a4e-3f2b8c5d6e7f/nothing",
	} {
		for _, m := range []string{"GET", "POST", "DELETE", "PUT", "BREW"} {
			if a := s.Send(m, path, ""); a.Code() != wire.CodeNotFound {
				t.Errorf("%s %s: status %d, want 404: %s", m, path, a.Status, a.Body)
			}
		}
	}
}

// TestPathsAreDecoded: an escape in a path says what the character says.
func TestPathsAreDecoded(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{Dev: true})
	s.Agent("my-agent")
	if a := s.Send(http.MethodGet, "/v0/agents/my%2Dagent", ""); a.Status != http.StatusOK {
		t.Errorf("status %d, want 200: %s", a.Status, a.Body)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	tests := []struct {
		name, sent string
		kept       bool
	}{
		{"sane", "abc-123_X.y/z", true},
		{"longest", strings.Repeat("a", 128), true},
		{"none", "", false},
		{"too long", strings.Repeat("a", 129), false},
		{"with a space", "a b", false},
		{"with a quote", `a"b`, false},
		{"not ASCII", "ä", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/v0/health", "/v0/executions", "/v0/nothing"} { // an answer, an error, no route
				got := s.Send(http.MethodGet, path, "", daemontest.Header(wire.HeaderRequestID, tt.sent)).Header.Get(wire.HeaderRequestID)
				if (got == tt.sent) != tt.kept || got == "" {
					t.Errorf("%s: %s %q for %q", path, wire.HeaderRequestID, got, tt.sent)
				}
			}
		})
	}
}
