package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// walk writes down calls and their answers, byte for byte but for ids and times.
type walk struct {
	t     *testing.T
	s     *daemontest.Service
	names *symbols
	urls  map[string]string
	out   strings.Builder
	seen  map[string]bool // operations
}

func (w *walk) call(method, path, body string, opts ...daemontest.Option) daemontest.Answer {
	a := w.s.Send(method, path, body, opts...)
	answer := w.text(a.Body) // the first to name what it creates
	fmt.Fprintf(&w.out, "%s %s\n", method, w.path(path))
	if body != "" {
		fmt.Fprintf(&w.out, "> %s\n", w.text(body))
	}
	fmt.Fprintf(&w.out, "< %d", a.Status)
	for _, name := range []string{"Location", "Content-Type", "Cache-Control"} {
		if v := a.Header.Get(name); v != "" {
			fmt.Fprintf(&w.out, " %s: %s", name, w.path(v))
		}
	}
	w.out.WriteByte('\n')
	if a.Body != "" && a.Header.Get("Content-Type") != "application/yaml" {
		fmt.Fprintf(&w.out, "< %s\n", strings.TrimSuffix(answer, "\n\n"))
	}
	w.out.WriteByte('\n')
	if op := loadAPI(w.t).find(method, strings.SplitN(path, "?", 2)[0]); op != nil {
		w.seen[op.name] = true
	}
	return a
}

var seconds = regexp.MustCompile(`"retry_after_seconds":[0-9.]+`)

func (w *walk) text(s string) string {
	for url, name := range w.urls {
		s = strings.ReplaceAll(s, url, name)
	}
	return seconds.ReplaceAllString(w.names.apply(s), `"retry_after_seconds":<seconds>`)
}

// path names the ids in a path.
func (w *walk) path(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if name := w.names.names[s]; name != "" {
			segments[i] = name
		}
	}
	return strings.Join(segments, "/")
}

// TestWalk is every route, used as it is meant, written down in testdata/walk.txt.
func TestWalk(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{Version: wire.Version{Version: "1.2.3", Commit: "abc", Go: "go1.26", Features: []string{wire.FeatureLabels}}})
	w := &walk{t: t, s: s, names: newSymbols(), seen: map[string]bool{}}
	bearer := daemontest.Bearer(daemontest.Token)
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete

	for _, path := range []string{"/v0/health", "/v0/ready", "/v0/version", "/v0/openapi.yaml"} {
		w.call(get, path, "")
	}
	agent := s.Agent("mailer")
	w.urls = map[string]string{agent.URL: "<webhook>"}
	w.call(post, "/v0/agents", `{"id":"other","webhook_url":"http://127.0.0.1:9/hook","secret":"s","lease_timeout_seconds":60}`, bearer)
	w.call(get, "/v0/agents/other", "", bearer)
	w.call(post, "/v0/policies/other", `{"bundle":"default_action: allow\n"}`, bearer)
	w.call(get, "/v0/policies/other", "", bearer)
	w.call(get, "/v0/agents", "", bearer)
	w.call(post, "/v0/policies/mailer", daemontest.JSON(wire.LoadPolicy{Bundle: approvalPolicy}), bearer)
	w.call(post, "/v0/policies/mailer/test", `{"cases":[{"name":"a look","target":"ask","expect":"require_approval","expect_rule":"ask"}]}`, bearer)

	var x wire.Execution
	if err := w.call(post, "/v0/executions", `{"agent_id":"mailer","input":{"task":"mail"},"labels":{"env":"prod"}}`, bearer, daemontest.Key("k")).Into(&x); err != nil {
		t.Fatal(err)
	}
	run := agent.Next()
	s.Await(x.ID, wire.EventExecutionStarted)
	w.names.name("dispatch", run.DispatchID)
	signed := []daemontest.Option{agent.Signed(), run.Fenced()}
	w.call(get, run.Path(""), "", agent.Signed())
	submit := func(body string) (d wire.Decision) {
		if err := w.call(post, run.Path("/steps"), body, signed...).Into(&d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	step := submit(`{"kind":"tool_call","target":"t","args":{"to": "a@b"},"idempotency":"at_most_once"}`).StepID
	w.call(post, run.Path("/steps/"+step+"/stream"), `{"seq":0,"data":"so far"}`, signed...)
	w.call(post, run.Path("/heartbeat"), "", signed...)
	w.call(post, run.Path("/steps/"+step+"/complete"), `{"result":{"id":7}}`, signed...)
	w.call(get, run.Path("/steps/"+step), "", agent.Signed())
	failing := submit(`{"kind":"llm_call","target":"m"}`).StepID
	w.call(post, run.Path("/steps/"+failing+"/fail"), `{"error":{"message":"overloaded"}}`, signed...)
	submit(`{"kind":"tool_call","target":"no"}`)
	submit(`{"kind":"tool_call","target":"seldom"}`)
	submit(`{"kind":"tool_call","target":"seldom"}`)
	approval := submit(`{"kind":"tool_call","target":"ask","args":["ceo@example.com"]}`).ApprovalID
	submit(`{"kind":"tool_call","target":"t","args":"new"}`)
	w.call(get, "/v0/executions?status=blocked", "", bearer)
	w.call(get, "/v0/approvals", "", bearer)
	w.call(post, "/v0/approvals/"+approval+"/grant", `{"decided_by":"eve"}`, bearer)
	w.call(post, "/v0/approvals/"+approval+"/grant", `{"decided_by":"alice","rationale":"fine"}`, bearer)
	w.call(post, "/v0/approvals/"+approval+"/deny", `{"decided_by":"bob"}`, bearer)
	w.call(get, "/v0/approvals/"+approval, "", bearer)

	stale := signed
	run = agent.Next()
	s.Await(x.ID, wire.EventDispatchAcked, 2)
	w.names.name("dispatch", run.DispatchID)
	w.call(post, run.Path("/heartbeat"), "", stale...)
	signed = []daemontest.Option{agent.Signed(), run.Fenced()}
	submit(`{"kind":"tool_call","target":"t","args":{"to":"a@b"},"idempotency":"at_most_once"}`)
	submit(`{"kind":"llm_call","target":"m"}`)
	submit(`{"kind":"tool_call","target":"ask","args":["ceo@example.com"]}`)
	w.call(post, run.Path("/signal"), `{"signal_type":"go","payload":{"n":1}}`, bearer)
	w.call(post, run.Path("/wait"), `{"signal_type":"go"}`, signed...)
	w.call(get, run.Path("/steps?status=terminal"), "", bearer)
	w.call(post, run.Path("/complete"), `{"output":{"sent": true}}`, signed...)
	w.call(post, run.Path("/complete"), `{"output":{"sent":true}}`, signed...)
	w.call(post, run.Path("/fail"), `{"error":"no"}`, signed...)
	w.call(post, run.Path("/cancel"), "", bearer)
	submit(`{"kind":"local","target":"late"}`)
	w.call(get, run.Path(""), "", bearer)
	w.call(get, run.Path("/events?after_seq=1&limit=3"), "", bearer)
	w.call(get, run.Path("/stream"), "", bearer)

	refused := agent.Start("")
	w.names.name("execution", refused.ExecutionID)
	w.call(post, refused.Path("/fail"), `{"error":"it broke"}`, agent.Signed(), refused.Fenced())
	dropped := agent.Start("")
	w.names.name("execution", dropped.ExecutionID)
	w.call(post, dropped.Path("/cancel"), "", bearer)
	w.call(del, "/v0/policies/other", "", bearer)
	w.call(del, "/v0/agents/other", "", bearer)
	golden(t, "walk.txt", w.out.String())

	for _, r := range routesOf(s) {
		// The feed never ends, and nobody knows the numbers of the metrics.
		if name := r.Method + " " + r.Pattern; !w.seen[name] && name != "GET /v0/events" && name != "GET /metrics" {
			t.Errorf("the walk leaves out %s", name)
		}
	}
}
