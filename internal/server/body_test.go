package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// bodyRoute is a route that takes a JSON object, with one that it takes.
type bodyRoute struct {
	name, path, good string
	opts             []daemontest.Option
	status           int // of the good one
}

func bodyRoutes(s *daemontest.Service) []bodyRoute {
	agent := s.Agent("owner")
	agent.Policy("rules:\n  - {id: ask, when: {target: ask}, then: {decision: require_approval}}\n  - {id: go, then: {decision: allow}}\n")
	run := agent.Start("")
	step := run.Tool("t", `1`)
	asking := agent.Start("")
	approval := asking.Submit(wire.KindToolCall, "ask", `1`).ApprovalID
	bearer := []daemontest.Option{daemontest.Bearer(daemontest.Token)}
	fenced := []daemontest.Option{agent.Signed(), run.Fenced()}
	return []bodyRoute{
		{"create", "/v0/executions", `{"agent_id":"owner"}`, bearer, 201},
		{"signal", run.Path("/signal"), `{"signal_type":"s"}`, bearer, 202},
		{"register", "/v0/agents", `{"id":"a","webhook_url":"http://127.0.0.1:9/","secret":"s"}`, bearer, 201},
		{"policy", "/v0/policies/owner", `{"bundle":"rules:\n  - {id: go, then: {decision: allow}}\n"}`, bearer, 204},
		{"policy test", "/v0/policies/owner/test", `{"cases":[]}`, bearer, 200},
		{"grant", "/v0/approvals/" + approval + "/grant", `{"decided_by":"x"}`, bearer, 204},
		{"deny", "/v0/approvals/" + approval + "/deny", `{"decided_by":"x"}`, bearer, 409},
		{"submit", run.Path("/steps"), `{"kind":"local","target":"l"}`, fenced, 200},
		{"wait", run.Path("/wait"), `{"signal_type":"s"}`, fenced, 200},
		{"delta", run.Path("/steps/" + step + "/stream"), `{"seq":0,"data":""}`, fenced, 204},
		{"fail step", run.Path("/steps/" + step + "/fail"), `{"error":1}`, fenced, 200},
		{"complete step", run.Path("/steps/" + step + "/complete"), `{}`, fenced, 200},
		{"complete", run.Path("/complete"), `{}`, fenced, 204},
		{"fail", run.Path("/fail"), `{"error":"e"}`, fenced, 409},
	}
}

// TestBodies gives every route that takes a body all that is not one JSON
// object, and at last one that it takes.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	nested := func(levels int) string { // the object itself is level 1
		return `{"unknown":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
	}
	bad := []struct{ name, body, says string }{
		{"nothing", "", "empty"},
		{"white space", " \n", ""},
		{"an array", "[]", "object"},
		{"a text", `"x"`, "object"},
		{"null", "null", "object"},
		{"half", `{"a":`, "too early"},
		{"trailing data", `{} {}`, "after the value"},
		{"trailing comma", `{"a":1,}`, ""},
		{"duplicate key", `{"a":1,"a":1}`, "duplicate"},
		{"duplicate key, escaped", `{"a":1,"\u0061":1}`, "duplicate"},
		{"duplicate key, nested", `{"x":[{"a":1,"a":1}]}`, "duplicate"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "UTF-8"},
		{"lone surrogate", `{"a":"\ud800"}`, "surrogate"},
		{"byte order mark", "\ufeff{}", "byte order mark"},
		{"65 levels", nested(65), "64 levels"},
		{"NaN", `{"a":NaN}`, ""},
		{"a leading zero", `{"a":01}`, "zero"},
		{"a comment", `{} // x`, "after the value"},
		{"single quotes", `{'a':1}`, ""},
	}
	for _, r := range bodyRoutes(s) {
		for _, b := range bad {
			a := s.Send(http.MethodPost, r.path, b.body, r.opts...)
			if a.Code() != wire.CodeValidation || !strings.Contains(a.Body, b.says) {
				t.Errorf("%s, %s: status %d, want 400 that says %q: %s", r.name, b.name, a.Status, b.says, a.Body)
			}
		}
		for _, unknown := range []string{`"unknown":1`, `"unknown":null`, `"Agent_ID":"x"`, `"":1`} {
			body := strings.TrimSuffix(r.good, "}") + "," + unknown + "}"
			if r.good == "{}" {
				body = "{" + unknown + "}"
			}
			field := strings.Trim(strings.SplitN(unknown, ":", 2)[0], `"`)
			wantProblem(t, r.name+", an unknown field", s.Send(http.MethodPost, r.path, body, r.opts...), field)
		}
		// As deep as may be: refused for the name only.
		wantProblem(t, r.name+", 64 levels", s.Send(http.MethodPost, r.path, nested(64), r.opts...), "unknown")
		for _, media := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded", "nonsense", "text/json", "multipart/form-data; boundary=x"} {
			a := s.Send(http.MethodPost, r.path, r.good, append(r.opts, daemontest.Header("Content-Type", media))...)
			if a.Code() != wire.CodeUnsupportedMediaType {
				t.Errorf("%s, %s: status %d, want 415: %s", r.name, media, a.Status, a.Body)
			}
		}
		last := len(goodMedia) - 1
		for i, media := range goodMedia {
			body, want := r.good, r.status
			if i < last { // the good body once only: it may end what it is about
				body, want = `[]`, http.StatusBadRequest
			}
			if a := s.Send(http.MethodPost, r.path, body, append(r.opts, daemontest.Header("Content-Type", media))...); a.Status != want {
				t.Errorf("%s, Content-Type %q: status %d, want %d: %s", r.name, media, a.Status, want, a.Body)
			}
		}
	}
}

var goodMedia = []string{"", "application/json", "application/json; charset=utf-8", "Application/JSON", "application/problem+json", "application/json;charset=UTF-8"}

// wantProblem wants a validation error about a field.
func wantProblem(t *testing.T, name string, a daemontest.Answer, field string) {
	t.Helper()
	var e wire.ErrorEnvelope
	if a.Code() != wire.CodeValidation || a.Into(&e) != nil {
		t.Errorf("%s: status %d, want a problem with %q: %s", name, a.Status, field, a.Body)
		return
	}
	for _, p := range e.Details.Problems {
		if p.Field == field {
			return
		}
	}
	t.Errorf("%s: want a problem with %q: %s", name, field, a.Body)
}

// TestBodyLimit: counted and not believed, whatever the length is said to be.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const small = 1000
	chunked := func(r *http.Request, _ string) { r.ContentLength, r.Body = -1, io.NopCloser(r.Body) }
	known := func(*http.Request, string) {}
	tests := []struct {
		name   string
		limit  int64 // 0: the default
		length int
		send   daemontest.Option
		status int
	}{
		{"4 MiB", 0, wire.DefaultMaxBodyBytes, known, 201},
		{"4 MiB and a byte", 0, wire.DefaultMaxBodyBytes + 1, known, 413},
		{"4 MiB and a byte, in chunks", 0, wire.DefaultMaxBodyBytes + 1, chunked, 413},
		{"limit", small, small, known, 201},
		{"limit, in chunks", small, small, chunked, 201},
		{"a byte more", small, small + 1, known, 413},
		{"a byte more, in chunks", small, small + 1, chunked, 413},
		{"far more, in chunks", small, 100 * small, chunked, 413},
	}
	services := map[int64]*daemontest.Service{}
	for _, tt := range tests {
		s := services[tt.limit]
		if s == nil {
			s = newService(t, daemon.Options{MaxBodyBytes: tt.limit})
			s.Agent("owner")
			services[tt.limit] = s
		}
		const head, tail = `{"agent_id":"owner","input":"`, `"}`
		body := head + strings.Repeat("x", tt.length-len(head)-len(tail)) + tail
		a := s.Send(http.MethodPost, "/v0/executions", body, daemontest.Bearer(daemontest.Token), tt.send)
		if a.Status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, a.Status, tt.status)
		}
	}
}

// TestRefusalReachesClientsThatOnlySend: a client that looks for the answer
// after it has sent everything finds it, also when that was refused long before.
func TestRefusalReachesClientsThatOnlySend(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	const n = wire.DefaultMaxBodyBytes + 1<<20
	for name, tt := range map[string]struct {
		path, auth string
		status     int
	}{
		"no credential": {"/v0/executions", "x", http.StatusUnauthorized},
		"no route":      {"/v0/nothing", "Bearer " + daemontest.Token, http.StatusNotFound},
		"too large":     {"/v0/executions", "Bearer " + daemontest.Token, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, s)
			if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n", tt.path, tt.auth, n); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(conn, io.LimitReader(endless{}, n)); err != nil {
				t.Fatalf("send the body: %v", err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("read the answer: %v", err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.status)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func dial(t *testing.T, s *daemontest.Service) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestLyingContentLength: what is not sent is missed, and what is sent beyond
// is another request.
func TestLyingContentLength(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	conn := dial(t, s)
	const body = `{"agent_id":"owner"}`
	_, err := fmt.Fprintf(conn, "POST /v0/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", daemontest.Token, len(body)+1, body)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", resp.StatusCode)
	}
}
