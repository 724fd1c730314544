package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// credential is what a caller shows, and what each kind of route makes of it.
type credential struct {
	name                  string
	opts                  []daemontest.Option
	bearer, agent, either int // the status; 0: let in
	dev                   int // of routes of one execution, for an agent's id that is not the owner's
}

func credentials(owner, other *daemontest.Agent) []credential {
	bearer := daemontest.Bearer(daemontest.Token)
	wrongToken := daemontest.Bearer(daemontest.Token + "x")
	badSignature := daemontest.Signed(owner.ID, "not its secret")
	upper := func(r *http.Request, body string) {
		owner.Signed()(r, body)
		digest := strings.TrimPrefix(r.Header.Get(wire.HeaderSignature), "sha256=")
		r.Header.Set(wire.HeaderSignature, "sha256="+strings.ToUpper(digest))
	}
	bare := func(r *http.Request, body string) {
		owner.Signed()(r, body)
		r.Header.Set(wire.HeaderSignature, strings.TrimPrefix(r.Header.Get(wire.HeaderSignature), "sha256="))
	}
	emptyAgent := func(r *http.Request, _ string) { r.Header[wire.HeaderAgentID] = []string{""} }
	only := func(o ...daemontest.Option) []daemontest.Option { return o }
	return []credential{
		{"none", nil, 401, 401, 401, 0},
		{"wrong token", only(wrongToken), 401, 401, 401, 0},
		{"empty token", only(daemontest.Header("Authorization", "Bearer ")), 401, 401, 401, 0},
		{"token under another scheme", only(daemontest.Header("Authorization", "Basic "+daemontest.Token)), 401, 401, 401, 0},
		{"token without a scheme", only(daemontest.Header("Authorization", daemontest.Token)), 401, 401, 401, 0},
		{"token", only(bearer), 0, 401, 0, 0},
		{"token, scheme in lower case", only(daemontest.Header("Authorization", "bearer "+daemontest.Token)), 0, 401, 0, 0},
		{"owner's signature", only(owner.Signed()), 401, 0, 0, 0},
		{"other agent's signature", only(other.Signed()), 401, 403, 403, 403},
		{"wrong signature", only(badSignature), 401, 401, 401, 0},
		{"signature in upper case", only(upper), 401, 401, 401, 0},
		{"signature without its prefix", only(bare), 401, 401, 401, 0},
		{"owner's id, other's secret", only(daemontest.Signed(owner.ID, other.Secret)), 401, 401, 401, 0},
		{"other's id, owner's secret", only(daemontest.Signed(other.ID, owner.Secret)), 401, 401, 401, 403},
		{"unknown agent", only(daemontest.Signed("nobody", owner.Secret)), 401, 401, 401, 403},
		{"signature without an id", only(owner.Signed(), daemontest.Header(wire.HeaderAgentID, "")), 401, 401, 401, 0},
		{"id without a signature", only(daemontest.Header(wire.HeaderAgentID, owner.ID)), 401, 401, 401, 0},
		{"both", only(bearer, owner.Signed()), 0, 0, 0, 0},
		{"token and wrong signature", only(bearer, badSignature), 0, 401, 401, 0},
		{"token and an empty agent header", only(bearer, emptyAgent), 0, 401, 401, 0},
		{"wrong token and signature", only(wrongToken, owner.Signed()), 401, 0, 0, 0},
	}
}

func (c *credential) status(r server.Route, dev bool) int {
	ofExecution := strings.HasPrefix(r.Pattern, "/v0/executions/{id}")
	switch {
	case r.Auth == server.Public:
		return 0
	case dev && ofExecution && r.Auth != server.Bearer:
		return c.dev
	case dev:
		return 0
	case r.Auth == server.Bearer:
		return c.bearer
	case r.Auth == server.Agent:
		return c.agent
	}
	return c.either
}

// TestCredentials walks the whole table of routes and credentials. What is let
// in may be refused for another reason: most requests here say nothing.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for _, dev := range []bool{false, true} {
		s := newService(t, daemon.Options{Dev: dev})
		owner, other := s.Agent("owner"), s.Agent("other")
		run := owner.Start("")
		for _, r := range routesOf(s) {
			path := strings.Replace(r.Pattern, "/v0/executions/{id}", run.Path(""), 1)
			for _, c := range credentials(owner, other) {
				status := statusOf(t, s, r.Method, concrete(path), append(c.opts, run.Fenced())...)
				want := c.status(r, dev)
				letIn := status != http.StatusUnauthorized && status != http.StatusForbidden
				if want == 0 && !letIn || want != 0 && status != want {
					t.Errorf("dev %v, %s %s, %s: status %d, want %d", dev, r.Method, r.Pattern, c.name, status, want)
				}
			}
		}
	}
}

// statusOf makes a call that may answer with a stream, which it leaves.
func statusOf(t *testing.T, s *daemontest.Service, method, path string, opts ...daemontest.Option) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := s.Open(ctx, method, path, "", opts...)
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != wire.ContentTypeEventStream {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode
}

// TestStrangersLookAlike: nobody can find out which agents exist.
func TestStrangersLookAlike(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	same := daemontest.Header(wire.HeaderRequestID, "same")
	unknown := s.Send(http.MethodGet, run.Path(""), "", same, daemontest.Signed("nobody", "x"))
	wrong := s.Send(http.MethodGet, run.Path(""), "", same, daemontest.Signed("owner", "x"))
	if unknown.Status != http.StatusUnauthorized || unknown.Body != wrong.Body || len(unknown.Header) != len(wrong.Header) {
		t.Errorf("unknown agent: %d %s\nwrong signature: %d %s", unknown.Status, unknown.Body, wrong.Status, wrong.Body)
	}
}

// TestNoTokenNoEntry: a server that was given no token takes none, the empty
// one included.
func TestNoTokenNoEntry(t *testing.T) {
	t.Parallel()
	locked := server.New(engine.New(&sick{}, engine.Options{}), nil, server.Options{})
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer  "} {
		w := serve(locked, http.MethodGet, "/v0/agents", "", daemontest.Header("Authorization", header))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("Authorization %q: status %d, want 401", header, w.Code)
		}
	}
}

// TestOrderOfChecks gives each check of an agent's write a chance to come
// before its turn: every request is wrong in all that comes after.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{MaxBodyBytes: 1000})
	owner, other := s.Agent("owner"), s.Agent("other")
	run := owner.Start("")
	over := owner.Start("")
	over.Complete(`1`)
	unknown := concrete("/v0/executions/{id}")
	large, bad := strings.Repeat(" ", 1001), `{"unknown":1}`
	xml := daemontest.Header("Content-Type", "text/xml")
	halfHeaders := daemontest.Header(wire.HeaderDispatchID, run.DispatchID)
	stale := daemontest.Fenced(run.DispatchID, "7")
	tests := []struct {
		name, path, body string
		opts             []daemontest.Option
		status           int
		code             wire.ErrorCode
	}{
		{"no credential", unknown, large, []daemontest.Option{xml}, 401, wire.CodeUnauthorized},
		{"too large to be verified", unknown, large, []daemontest.Option{other.Signed(), xml}, 413, wire.CodePayloadTooLarge},
		{"no such execution", unknown, bad, []daemontest.Option{other.Signed(), xml}, 404, wire.CodeNotFound},
		{"another agent's", run.Path(""), bad, []daemontest.Option{other.Signed(), xml}, 403, wire.CodeForbidden},
		{"headers", run.Path(""), bad, []daemontest.Option{owner.Signed(), halfHeaders, xml}, 400, wire.CodeValidation},
		{"media type", run.Path(""), bad, []daemontest.Option{owner.Signed(), stale, xml}, 415, wire.CodeUnsupportedMediaType},
		{"body", run.Path(""), bad, []daemontest.Option{owner.Signed(), stale}, 400, wire.CodeValidation},
		{"body, terminal", over.Path(""), bad, []daemontest.Option{owner.Signed(), stale}, 400, wire.CodeValidation},
		{"terminal", over.Path(""), `{"kind":"local","target":"x"}`, []daemontest.Option{owner.Signed(), stale}, 200, ""},
		{"fence", run.Path(""), `{"kind":"local","target":"x"}`, []daemontest.Option{owner.Signed(), stale}, 409, wire.CodeLeaseSuperseded},
	}
	for _, tt := range tests {
		a := s.Send(http.MethodPost, tt.path+"/steps", tt.body, tt.opts...)
		if a.Status != tt.status || a.Code() != tt.code {
			t.Errorf("%s: status %d, want %d: %s", tt.name, a.Status, tt.status, a.Body)
		}
	}
	if d := over.Submit(wire.KindLocal, "x", "1"); d.Decision != wire.DecisionExecutionTerminal || d.StepID != "" {
		t.Errorf("a submit to an execution that is over: %s", daemontest.JSON(d))
	}
}

// warnings is a log handler that keeps who was warned of.
type warnings struct {
	slog.Handler
	told chan string
}

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "signature") {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "agent_id" {
				w.told <- a.Value.String()
			}
			return true
		})
	}
	return nil
}

// TestDevTellsOfWrongSignatures once per agent, and of right ones never.
func TestDevTellsOfWrongSignatures(t *testing.T) {
	t.Parallel()
	w := &warnings{Handler: slog.DiscardHandler, told: make(chan string, 100)}
	s := newService(t, daemon.Options{Dev: true, Logger: slog.New(w)})
	careful, careless := s.Agent("careful"), s.Agent("careless")
	for _, a := range []*daemontest.Agent{careful, careless} {
		run := a.Start("")
		for range 3 {
			run.Must("/heartbeat", "", http.StatusNoContent)
			if a == careless {
				run.Must("/heartbeat", "", http.StatusNoContent, daemontest.Header(wire.HeaderSignature, "sha256=wrong"))
			}
		}
	}
	if n := len(w.told); n != 1 {
		t.Fatalf("%d warnings, want 1", n)
	}
	if id := <-w.told; id != "careless" {
		t.Errorf("a warning about %q", id)
	}
}
