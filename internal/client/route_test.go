package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// seen is a request as the server got it.
type seen struct {
	Method, URI, Body, Auth, Key string
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	const bearer = "Bearer " + token
	ctx := context.Background()
	tests := []struct {
		name   string
		call   func(*client.Client) error
		want   seen
		status int
		answer string
	}{
		{
			"create", func(c *client.Client) error {
				x, created, err := c.CreateExecution(ctx, wire.CreateExecution{AgentID: "demo", Input: []byte(`"<a&b>"`)}, "k1")
				if err == nil && (x.ID != execID || !created) {
					t.Errorf("CreateExecution = %s, created %v", x.ID, created)
				}
				return err
			},
			seen{"POST", "/v0/executions", `{"agent_id":"demo","input":"<a&b>"}`, bearer, "k1"},
			201, `{"id":"` + execID + `"}`,
		},
		{
			"create again", func(c *client.Client) error {
				_, created, err := c.CreateExecution(ctx, wire.CreateExecution{AgentID: "demo"}, "k1")
				if created {
					t.Error("created = true for status 200")
				}
				return err
			},
			seen{"POST", "/v0/executions", `{"agent_id":"demo"}`, bearer, "k1"},
			200, `{}`,
		},
		{
			"get", func(c *client.Client) error { _, err := c.GetExecution(ctx, execID); return err },
			seen{"GET", "/v0/executions/" + execID, "", bearer, ""},
			200, `{}`,
		},
		{
			"list", func(c *client.Client) error {
				_, err := c.ListExecutions(ctx, client.ExecutionFilter{
					AgentID: "a b", Status: wire.ExecutionBlocked, Cursor: "x=", Limit: 7, Labels: map[string]string{"env": "prod:1"},
				})
				return err
			},
			seen{"GET", "/v0/executions?agent_id=a+b&cursor=x%3D&label=env%3Aprod%3A1&limit=7&status=blocked", "", bearer, ""},
			200, `{"executions":[]}`,
		},
		{
			"cancel", func(c *client.Client) error { return c.CancelExecution(ctx, execID) },
			seen{"POST", "/v0/executions/" + execID + "/cancel", "", bearer, ""},
			204, "",
		},
		{
			"events", func(c *client.Client) error { _, err := c.ListEvents(ctx, execID, 41, 9); return err },
			seen{"GET", "/v0/executions/" + execID + "/events?after_seq=41&limit=9", "", bearer, ""},
			200, `[]`,
		},
		{
			"steps", func(c *client.Client) error { _, err := c.ListSteps(ctx, execID, wire.StepsTerminal); return err },
			seen{"GET", "/v0/executions/" + execID + "/steps?status=terminal", "", bearer, ""},
			200, `[]`,
		},
		{
			"step", func(c *client.Client) error { _, err := c.GetStep(ctx, execID, stepID); return err },
			seen{"GET", "/v0/executions/" + execID + "/steps/" + stepID, "", bearer, ""},
			200, `{}`,
		},
		{
			"approvals", func(c *client.Client) error {
				_, err := c.ListApprovals(ctx, client.ApprovalFilter{Status: wire.ApprovalsAll, AgentID: "a", ExecutionID: execID, Limit: 3})
				return err
			},
			seen{"GET", "/v0/approvals?agent_id=a&execution_id=" + execID + "&limit=3&status=all", "", bearer, ""},
			200, `[]`,
		},
		{
			"approval", func(c *client.Client) error { _, err := c.GetApproval(ctx, execID); return err },
			seen{"GET", "/v0/approvals/" + execID, "", bearer, ""},
			200, `{}`,
		},
		{
			"grant", func(c *client.Client) error {
				return c.GrantApproval(ctx, execID, wire.DecideApproval{DecidedBy: "alice", Rationale: "fine"})
			},
			seen{"POST", "/v0/approvals/" + execID + "/grant", `{"decided_by":"alice","rationale":"fine"}`, bearer, ""},
			204, "",
		},
		{
			"deny", func(c *client.Client) error {
				return c.DenyApproval(ctx, execID, wire.DecideApproval{DecidedBy: "bob"})
			},
			seen{"POST", "/v0/approvals/" + execID + "/deny", `{"decided_by":"bob"}`, bearer, ""},
			204, "",
		},
		{
			"register", func(c *client.Client) error {
				_, err := c.RegisterAgent(ctx, wire.RegisterAgent{ID: "demo", WebhookURL: "http://h/x", Secret: "s3cret"})
				return err
			},
			seen{"POST", "/v0/agents", `{"id":"demo","webhook_url":"http://h/x","secret":"s3cret"}`, bearer, ""},
			201, `{}`,
		},
		{
			"agents", func(c *client.Client) error { _, err := c.ListAgents(ctx); return err },
			seen{"GET", "/v0/agents", "", bearer, ""},
			200, `[]`,
		},
		{
			"agent", func(c *client.Client) error { _, err := c.GetAgent(ctx, "a/../b?"); return err },
			seen{"GET", "/v0/agents/a%2F..%2Fb%3F", "", bearer, ""},
			200, `{}`,
		},
		{
			"delete agent", func(c *client.Client) error { return c.DeleteAgent(ctx, "demo") },
			seen{"DELETE", "/v0/agents/demo", "", bearer, ""},
			204, "",
		},
		{
			"policy", func(c *client.Client) error { _, err := c.GetPolicy(ctx, "demo"); return err },
			seen{"GET", "/v0/policies/demo", "", bearer, ""},
			200, `{}`,
		},
		{
			"load policy", func(c *client.Client) error { return c.LoadPolicy(ctx, "demo", "rules: []\n") },
			seen{"POST", "/v0/policies/demo", `{"bundle":"rules: []\n"}`, bearer, ""},
			204, "",
		},
		{
			"delete policy", func(c *client.Client) error { return c.DeletePolicy(ctx, "demo") },
			seen{"DELETE", "/v0/policies/demo", "", bearer, ""},
			204, "",
		},
		{
			"test policy", func(c *client.Client) error {
				_, err := c.TestPolicy(ctx, "demo", wire.PolicyTest{ExecutionID: execID})
				return err
			},
			seen{"POST", "/v0/policies/demo/test", `{"execution_id":"` + execID + `"}`, bearer, ""},
			200, `{}`,
		},
		{
			"signal", func(c *client.Client) error {
				_, err := c.SendSignal(ctx, execID, wire.Signal{SignalType: "go", Payload: []byte(`1.50`)}, "k2")
				return err
			},
			seen{"POST", "/v0/executions/" + execID + "/signal", `{"signal_type":"go","payload":1.50}`, bearer, "k2"},
			202, `{}`,
		},
		{
			"health", func(c *client.Client) error { _, err := c.Health(ctx); return err },
			seen{"GET", "/v0/health", "", bearer, ""},
			200, `{"status":"ok"}`,
		},
		{
			"ready", func(c *client.Client) error { _, err := c.Ready(ctx); return err },
			seen{"GET", "/v0/ready", "", bearer, ""},
			200, `{"status":"ok"}`,
		},
		{
			"version", func(c *client.Client) error { _, err := c.Version(ctx); return err },
			seen{"GET", "/v0/version", "", bearer, ""},
			200, `{}`,
		},
		{
			"metrics", func(c *client.Client) error {
				b, err := c.Metrics(ctx)
				if string(b) != "up 1\n" {
					t.Errorf("Metrics = %q", b)
				}
				return err
			},
			seen{"GET", "/metrics", "", bearer, ""},
			200, "up 1\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got seen
			c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = seen{r.Method, r.RequestURI, string(body), r.Header.Get("Authorization"), r.Header.Get(wire.HeaderIdempotencyKey)}
				if ua := r.Header.Get("User-Agent"); ua != "kernelctl/test" {
					t.Errorf("user agent %q", ua)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			})
			if err := tt.call(c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgentRoutes(t *testing.T) {
	t.Parallel()
	const secret = wire.Secret("agent-secret")
	ctx := context.Background()
	d := client.Dispatch{ID: "01930c2e-0000-7000-8000-000000000001", Attempt: 3}
	base := "/v0/executions/" + execID
	tests := []struct {
		name string
		call func(*client.Agent) error
		want string // method, path, whether the dispatch headers are there
	}{
		{"get", func(a *client.Agent) error { _, err := a.GetExecution(ctx, execID); return err }, "GET " + base + " "},
		{"steps", func(a *client.Agent) error { _, err := a.ListSteps(ctx, execID); return err }, "GET " + base + "/steps "},
		{"step", func(a *client.Agent) error { _, err := a.GetStep(ctx, execID, stepID); return err }, "GET " + base + "/steps/" + stepID + " "},
		{"submit", func(a *client.Agent) error {
			_, err := a.SubmitStep(ctx, d, execID, wire.SubmitStep{Kind: wire.KindToolCall, Target: "t"}, "k")
			return err
		}, "POST " + base + "/steps 3"},
		{"complete step", func(a *client.Agent) error {
			_, err := a.CompleteStep(ctx, d, execID, stepID, wire.CompleteStep{})
			return err
		}, "POST " + base + "/steps/" + stepID + "/complete 3"},
		{"fail step", func(a *client.Agent) error {
			_, err := a.FailStep(ctx, d, execID, stepID, wire.FailStep{Error: []byte(`{}`)})
			return err
		}, "POST " + base + "/steps/" + stepID + "/fail 3"},
		{"wait", func(a *client.Agent) error {
			_, err := a.Wait(ctx, d, execID, wire.Wait{SignalType: "go"})
			return err
		}, "POST " + base + "/wait 3"},
		{"delta", func(a *client.Agent) error {
			return a.PublishDelta(ctx, client.Dispatch{}, execID, stepID, wire.PublishDelta{})
		}, "POST " + base + "/steps/" + stepID + "/stream "},
		{"heartbeat", func(a *client.Agent) error { return a.Heartbeat(ctx, d, execID) }, "POST " + base + "/heartbeat 3"},
		{"complete", func(a *client.Agent) error {
			return a.CompleteExecution(ctx, d, execID, wire.CompleteExecution{})
		}, "POST " + base + "/complete 3"},
		{"fail", func(a *client.Agent) error {
			return a.FailExecution(ctx, d, execID, wire.FailExecution{Error: "x"})
		}, "POST " + base + "/fail 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got string
			c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.Method + " " + r.URL.Path + " " + r.Header.Get(wire.HeaderDispatchAttempt)
				if (r.Header.Get(wire.HeaderDispatchID) == "") != strings.HasSuffix(got, " ") {
					t.Error("one dispatch header without the other")
				}
				if !wire.Verify(secret, body, r.Header.Get(wire.HeaderSignature)) || r.Header.Get(wire.HeaderAgentID) != "demo" {
					t.Errorf("not signed by demo: %v", r.Header)
				}
				if r.Header.Get("Authorization") != "" {
					t.Error("an agent's request carries the bearer token")
				}
				answer(w, 200, struct{}{})
			})
			err := tt.call(c.As("demo", secret))
			if err != nil && tt.name != "steps" { // the fake answers an object, not a list
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("request %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		page := wire.ExecutionList{}
		switch cursor := r.URL.Query().Get("cursor"); cursor {
		case "":
			page.Executions, page.NextCursor = wire.List[wire.Execution]{{ID: "1"}, {ID: "2"}}, "next"
		case "next":
			page.Executions = wire.List[wire.Execution]{{ID: "3"}}
		default:
			t.Errorf("cursor %q", cursor)
		}
		answer(w, 200, page)
	})
	var got []string
	for x, err := range c.Executions(context.Background(), client.ExecutionFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x.ID)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Errorf("executions (-want +got):\n%s", diff)
	}
}

func TestParseServer(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want, problem string }{
		{in: "http://127.0.0.1:8080", want: "http://127.0.0.1:8080"},
		{in: " https://k.corp:8443/v0/ ", want: "https://k.corp:8443"},
		{in: "https://k.corp/kernel", want: "https://k.corp/kernel"},
		{in: "localhost:8080", want: "http://localhost:8080"},
		{in: "[::1]:8080", want: "http://[::1]:8080"},
		{in: "127.0.0.1", want: "http://127.0.0.1"},
		{in: "k.corp:8443", problem: "say http:// or https://"},
		{in: "", problem: "empty"},
		{in: "ftp://x", problem: "scheme"},
		{in: "http://", problem: "no host"},
		{in: "http://user:hunter2@x", problem: "must not contain a user"},
		{in: "http://user:hunter2@x y", problem: "server"},
		{in: "http://x?y=1", problem: "query"},
	}
	for _, tt := range tests {
		u, err := client.ParseServer(tt.in)
		switch {
		case tt.problem != "":
			if err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("ParseServer(%q) = %v, want an error with %q and no password", tt.in, err, tt.problem)
			}
		case err != nil:
			t.Errorf("ParseServer(%q): %v", tt.in, err)
		case u.String() != tt.want:
			t.Errorf("ParseServer(%q) = %s, want %s", tt.in, u, tt.want)
		}
	}
}
