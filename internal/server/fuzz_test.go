package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// target is a server in whose database there is something to hit.
type target struct {
	*bare
	words []string // ids, and names of fields and headers
}

func newTarget(t testing.TB) *target {
	b := newBare(t, server.Options{MaxBodyBytes: 10_000})
	b.EndStreams() // every stream ends at once
	if err := b.engine.PutPolicy(t.Context(), "a", []byte(approvalPolicy)); err != nil {
		t.Fatal(err)
	}
	x := &target{bare: b}
	id := b.create()
	x.words = []string{
		id.String(), b.create().String(), strings.ToUpper(id.String()), strings.Repeat("0", 64), "a", "b", "", "..", "%2e", "\x00", "é",
		kernel.DispatchID{}.String(), "1", "0", "-1", "99999999999999999999", "pending", "all", "terminal", "env:prod", "signal:x",
	}
	return x
}

// try makes one request and wants an answer that is no failure.
func (x *target) try(t testing.TB, method, path, query string, header http.Header, body string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", strings.NewReader(body))
	r.Method, r.URL, r.Header = method, &url.URL{Path: path, RawQuery: query}, header
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	if w.Code >= http.StatusInternalServerError {
		t.Fatalf("%s %q ?%s %v %q: status %d: %s", method, path, query, header, body, w.Code, w.Body)
	}
	if w.Header().Get(wire.HeaderRequestID) == "" {
		t.Fatalf("%s %q: no request id", method, path)
	}
	var e wire.ErrorEnvelope
	if w.Code >= http.StatusBadRequest && (json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Code.Status() != w.Code) {
		t.Fatalf("%s %q: status %d: %s", method, path, w.Code, w.Body)
	}
}

// FuzzServer throws anything at the handler.
func FuzzServer(f *testing.F) {
	x := newTarget(f)
	id := x.words[0]
	f.Add("GET", "/v0/executions", "limit=1&cursor=x", "", "", "")
	f.Add("POST", "/v0/executions", "", "Idempotency-Key", "k", `{"agent_id":"a","input":[1e999],"labels":{"a":"b"},"timeout_seconds":1}`)
	f.Add("POST", "/v0/executions/"+id+"/steps", "", "Service-Dispatch-Id", id, `{"kind":"local","target":"x","args":{}}`)
	f.Add("POST", "/v0/executions/"+id+"/signal", "", "Content-Type", "application/json;", `{"signal_type":"s","payload":"\ud83d\ude00"}`)
	f.Add("GET", "/v0/executions/"+id+"/events", "after_seq=-1", "Accept", "text/event-stream", "")
	f.Add("POST", "/v0/agents", "", "", "", `{"id":"a","webhook_url":"http://[::1","secret":"s"}`)
	f.Add("POST", "/v0/policies/a", "", "", "", `{"bundle":"rules:\n - &a {id: x}\n - *a"}`)
	f.Add("POST", "/v0/policies/a/test", "", "", "", `{"cases":[{"target":"x","args":{"a":[1]}}],"bundle":"rules: []"}`)
	f.Add("DELETE", "/v0/agents/a", "", "Service-Agent-Id", "a", "")
	f.Add("\x00", "*", "%zz;&=", "\n", "\r\n", "{")
	f.Fuzz(func(t *testing.T, method, path, query, name, value, body string) {
		x.try(t, method, path, query, http.Header{http.CanonicalHeaderKey(name): {value}}, body)
	})
}

// TestNonsense draws requests that are nearly right: real routes and fields,
// with values of the wrong kind, in all combinations.
func TestNonsense(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	fields := []string{
		"agent_id", "input", "labels", "deadline_at", "timeout_seconds", "kind", "target", "args", "idempotency", "result", "error", "output", "seq", "data",
		"signal_type", "payload", "id", "webhook_url", "secret", "lease_timeout_seconds", "bundle", "cases", "execution_id", "decided_by", "rationale", "x",
	}
	values := []string{
		`null`, `true`, `0`, `-1`, `1.5`, `1e400`, `99999999999999999999`, `""`, `"a"`, `"tool_call"`, `"local"`, `"signal:x"`, `"at_most_once"`, `"\u0000"`, `"é\n"`, `[]`, `{}`,
		`[[[]]]`, `{"a":"b"}`, `{"a":1}`, `"2099-01-01T00:00:00Z"`, `"http://127.0.0.1:9/"`, `"rules: []"`, `[{"target":"x"}]`, `[null]`, `"` + strings.Repeat("x", 300) + `"`,
	}
	headers := []string{
		wire.HeaderAgentID, wire.HeaderSignature, wire.HeaderDispatchID, wire.HeaderDispatchAttempt, wire.HeaderIdempotencyKey, wire.HeaderRequestID,
		wire.HeaderLastEventID, "Accept", "Content-Type", "Authorization",
	}
	routes := x.Routes()
	rapid.Check(t, func(rt *rapid.T) {
		r := rapid.SampledFrom(routes).Draw(rt, "route")
		word := func(name string) string { return rapid.SampledFrom(x.words).Draw(rt, name) }
		path := strings.NewReplacer("{id}", word("id"), "{step_id}", word("step"), "{agent_id}", word("agent")).Replace(r.Pattern)
		var query, members []string
		for range rapid.IntRange(0, 3).Draw(rt, "parameters") {
			name := rapid.SampledFrom([]string{"limit", "cursor", "status", "label", "agent_id", "execution_id", "after_seq", "type", "catalogue"}).Draw(rt, "parameter")
			query = append(query, name+"="+url.QueryEscape(word("value")))
		}
		for range rapid.IntRange(0, 5).Draw(rt, "fields") {
			members = append(members, `"`+rapid.SampledFrom(fields).Draw(rt, "field")+`":`+rapid.SampledFrom(values).Draw(rt, "value"))
		}
		header := http.Header{}
		for range rapid.IntRange(0, 3).Draw(rt, "headers") {
			header.Add(rapid.SampledFrom(headers).Draw(rt, "header"), word("value"))
		}
		x.try(t, r.Method, path, strings.Join(query, "&"), header, "{"+strings.Join(members, ",")+"}")
	})
}
