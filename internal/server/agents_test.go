package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	with := func(field, value string) string {
		fields := map[string]string{"id": `"a"`, "webhook_url": `"http://127.0.0.1:9/"`, "secret": `"s"`}
		if value == "" {
			delete(fields, field)
		} else {
			fields[field] = value
		}
		var all []string
		for k, v := range fields {
			all = append(all, `"`+k+`":`+v)
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	tests := map[string][]string{
		"id":                    {"", `null`, `""`, `1`, `"a b"`, `"a/b"`, `"ä"`, `"` + strings.Repeat("a", 129) + `"`},
		"webhook_url":           {"", `null`, `""`, `1`, `"/hook"`, `"//host/hook"`, `"ftp://host/"`, `"http://"`, `"http:///x"`, `"http://u:p@host/"`, `"http://u@host/"`, `"http://host/#f"`, `"http://host:0/"`, `"http://host:99999/"`, `"http://ho st/"`, `"javascript:alert(1)"`, `"http://host/%zz"`, `"http://host/\n"`},
		"secret":                {"", `null`, `""`, `1`},
		"lease_timeout_seconds": {`-1`, `-9223372036854775808`, `1.5`, `"30"`, `1e3`, `99999999999999999999`, `true`},
	}
	for field, values := range tests {
		for _, v := range values {
			wantProblem(t, field+" "+v, s.Send(http.MethodPost, "/v0/agents", with(field, v), daemontest.Bearer(daemontest.Token)), field)
		}
	}
	var agents []wire.Agent
	if s.Admin(http.MethodGet, "/v0/agents", "", http.StatusOK, &agents); len(agents) != 0 {
		t.Errorf("agents: %v, want none", agents)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	const secret = "very-secret-indeed"
	register := func(id, url, more string) (a wire.Agent) {
		s.Admin(http.MethodPost, "/v0/agents", `{"id":"`+id+`","webhook_url":"`+url+`","secret":"`+secret+`"`+more+`}`, http.StatusCreated, &a)
		return a
	}
	long := strings.Repeat("A.z_0-", 21) + "ab"
	for more, lease := range map[string]int64{
		"": 0, `,"lease_timeout_seconds":null`: 0, `,"lease_timeout_seconds":0`: 0, `,"lease_timeout_seconds":9`: 0,
		`,"lease_timeout_seconds":10`: 10, `,"lease_timeout_seconds":3600`: 3600,
	} {
		if a := register("a", "http://127.0.0.1:9/hook?x=1&y=<2>", more); a.LeaseTimeoutSeconds != lease || a.WebhookURL != "http://127.0.0.1:9/hook?x=1&y=<2>" {
			t.Errorf("%s: %s, want a lease of %d", more, daemontest.JSON(a), lease)
		}
	}
	first := register("b", "https://agent.example/", "")
	register(long, "http://[::1]:8080/", "")
	s.Admin(http.MethodPost, "/v0/policies/b", `{"bundle":"default_action: allow\n"}`, http.StatusNoContent, nil)
	again := register("b", "https://other.example/", `,"lease_timeout_seconds":60`)
	want := first
	want.WebhookURL, want.LeaseTimeoutSeconds, want.PolicyBundle, want.UpdatedAt = "https://other.example/", 60, "default_action: allow\n", again.UpdatedAt
	if diff := cmp.Diff(want, again); diff != "" || !again.UpdatedAt.After(first.UpdatedAt.Time) {
		t.Errorf("registered again (-want +got):\n%s", diff)
	}
	var read wire.Agent
	if s.Admin(http.MethodGet, "/v0/agents/b", "", http.StatusOK, &read); cmp.Diff(again, read) != "" {
		t.Errorf("read %s, registered %s", daemontest.JSON(read), daemontest.JSON(again))
	}
	var agents []wire.Agent
	a := s.Admin(http.MethodGet, "/v0/agents", "", http.StatusOK, &agents)
	var ids []string
	for _, agent := range agents {
		ids = append(ids, agent.ID)
	}
	if diff := cmp.Diff([]string{long, "a", "b"}, ids); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if strings.Contains(a.Body, secret) {
		t.Errorf("a secret is shown: %s", a.Body)
	}
	s.Admin(http.MethodDelete, "/v0/agents/b", "", http.StatusNoContent, nil)
	if got := s.Send(http.MethodGet, "/v0/agents/b", "", daemontest.Bearer(daemontest.Token)); got.Status != http.StatusNotFound {
		t.Errorf("a deleted agent: status %d", got.Status)
	}
	// Who comes back under the name is somebody else.
	if fresh := register("b", "https://new.example/", ""); fresh.PolicyBundle != "" || !fresh.RegisteredAt.After(first.RegisteredAt.Time) {
		t.Errorf("registered after deletion: %s", daemontest.JSON(fresh))
	}
}

// TestAgentWithWorkStays until its executions have ended; they can still be
// read when it has gone, and its signature counts no more.
func TestAgentWithWorkStays(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	run := owner.Start("")
	if a := s.Send(http.MethodDelete, "/v0/agents/owner", "", daemontest.Bearer(daemontest.Token)); a.Code() != wire.CodeConflict {
		t.Errorf("delete an agent at work: status %d: %s", a.Status, a.Body)
	}
	run.Must("/heartbeat", "", http.StatusNoContent)
	run.Complete(`1`)
	s.Admin(http.MethodDelete, "/v0/agents/owner", "", http.StatusNoContent, nil)
	if x := run.Execution(); x.Status != wire.ExecutionCompleted || x.AgentID != "owner" {
		t.Errorf("after its agent: %s", daemontest.JSON(x))
	}
	if ids, _ := list(s, "agent_id=owner"); len(ids) != 1 {
		t.Errorf("%d executions, want 1", len(ids))
	}
	if a := s.Send(http.MethodGet, run.Path(""), "", owner.Signed()); a.Status != http.StatusUnauthorized {
		t.Errorf("a deleted agent reads: status %d", a.Status)
	}
	// A namesake has another secret.
	s.Admin(http.MethodPost, "/v0/agents", `{"id":"owner","webhook_url":"http://127.0.0.1:9/","secret":"other"}`, http.StatusCreated, nil)
	if a := s.Send(http.MethodGet, run.Path(""), "", owner.Signed()); a.Status != http.StatusUnauthorized {
		t.Errorf("a deleted agent's secret: status %d", a.Status)
	}
}

// TestSecretChangesAtOnce: from the answer on the new secret counts.
func TestSecretChangesAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	run := owner.Start("")
	old := owner.Signed()
	owner.Secret = "another one"
	owner.Register()
	if a := s.Send(http.MethodGet, run.Path(""), "", old); a.Status != http.StatusUnauthorized {
		t.Errorf("the old secret: status %d", a.Status)
	}
	run.Must("/heartbeat", "", http.StatusNoContent)
}
