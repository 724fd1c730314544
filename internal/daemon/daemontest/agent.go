package daemontest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Agent is a registered agent whose webhook notes what it gets. Its logic is
// the test.
type Agent struct {
	ID     string
	Secret wire.Secret
	URL    string
	// Deliveries are the webhooks that arrived, signature verified.
	Deliveries <-chan Delivery

	t       testing.TB
	service *Service
}

// Delivery is one webhook.
type Delivery struct {
	wire.Webhook
	Header http.Header
	Raw    string
}

// Agent registers an agent that answers every webhook with 200.
func (s *Service) Agent(id string) *Agent { s.t.Helper(); return s.AgentThat(id, nil) }

// AgentThat registers an agent that answers webhooks as answer does, after they
// were noted; nil answers 200.
func (s *Service) AgentThat(id string, answer http.HandlerFunc) *Agent {
	s.t.Helper()
	const roomy = 1024 // no test gets as many: a webhook never waits for its test
	deliveries := make(chan Delivery, roomy)
	a := &Agent{ID: id, Secret: wire.Secret("secret of " + id), Deliveries: deliveries, t: s.t, service: s}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok := a.receive(r)
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		deliveries <- d
		if answer != nil {
			answer(w, r)
		}
	}))
	s.t.Cleanup(web.Close)
	a.URL = web.URL
	a.Register()
	return a
}

// Register registers the agent, or registers it again.
func (a *Agent) Register() {
	a.t.Helper()
	a.service.Admin(http.MethodPost, "/v0/agents", JSON(wire.RegisterAgent{ID: a.ID, WebhookURL: a.URL, Secret: a.Secret}), http.StatusCreated, nil)
}

func (a *Agent) receive(r *http.Request) (d Delivery, ok bool) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Errorf("agent %s: read webhook: %v", a.ID, err)
		return d, false
	}
	if !wire.Verify(a.Secret, raw, r.Header.Get(wire.HeaderSignature)) {
		a.t.Errorf("agent %s: webhook with a wrong signature: %s", a.ID, raw)
		return d, false
	}
	d = Delivery{Header: r.Header.Clone(), Raw: string(raw)}
	dec := json.NewDecoder(strings.NewReader(d.Raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d.Webhook); err != nil {
		a.t.Errorf("agent %s: webhook %s: %v", a.ID, raw, err)
		return d, false
	}
	return d, true
}

// On is the agent in the eyes of another service on the same database.
func (a *Agent) On(s *Service) *Agent {
	other := *a
	other.service = s
	return &other
}

// Next waits for a webhook.
func (a *Agent) Next() *Run {
	a.t.Helper()
	select {
	case d := <-a.Deliveries:
		return &Run{Delivery: d, agent: a}
	case <-time.After(Patience):
		a.t.Fatalf("agent %s: no webhook came", a.ID)
		return nil
	}
}

// Policy loads a bundle.
func (a *Agent) Policy(bundle string) {
	a.t.Helper()
	a.service.Admin(http.MethodPost, "/v0/policies/"+a.ID, JSON(wire.LoadPolicy{Bundle: bundle}), http.StatusNoContent, nil)
}

// Create creates an execution for the agent; body is what the request has
// beside agent_id, such as `"input":{}`.
func (a *Agent) Create(body string, opts ...Option) wire.Execution {
	a.t.Helper()
	if body != "" {
		body = "," + body
	}
	var x wire.Execution
	a.service.Admin(http.MethodPost, "/v0/executions", `{"agent_id":"`+a.ID+`"`+body+`}`, http.StatusCreated, &x, opts...)
	return x
}

// Start creates an execution and waits for its first webhook.
func (a *Agent) Start(body string) *Run {
	a.t.Helper()
	x := a.Create(body)
	r := a.Next()
	if r.ExecutionID != x.ID {
		a.t.Fatalf("agent %s: a webhook for %s, want one for %s", a.ID, r.ExecutionID, x.ID)
	}
	return r
}

// Signed signs as this agent.
func (a *Agent) Signed() Option { return Signed(a.ID, a.Secret) }
