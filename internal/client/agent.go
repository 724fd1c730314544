package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Agent speaks the routes of an agent: signed, and under a dispatch. It is the
// bare protocol, one request a method; agents are written with package agent.
type Agent struct {
	c      *Client
	id     string
	secret wire.Secret
}

// As is the agent with that id and secret.
func (c *Client) As(id string, secret wire.Secret) *Agent {
	return &Agent{c: c, id: id, secret: secret}
}

// Dispatch names the attempt that an agent writes under.
type Dispatch struct {
	ID      string
	Attempt int64
}

// GetExecution reads the execution that was dispatched.
func (a *Agent) GetExecution(ctx context.Context, id string) (x wire.Execution, err error) {
	err = a.get(ctx, route("/v0/executions/%s", id), &x)
	return x, err
}

// ListSteps reads the steps that are recorded.
func (a *Agent) ListSteps(ctx context.Context, id string) (steps []wire.Step, err error) {
	err = a.get(ctx, route("/v0/executions/%s/steps", id), &steps)
	return steps, err
}

// GetStep reads one step.
func (a *Agent) GetStep(ctx context.Context, id, stepID string) (s wire.Step, err error) {
	err = a.get(ctx, route("/v0/executions/%s/steps/%s", id, stepID), &s)
	return s, err
}

// SubmitStep asks for leave to do an effect. With a key it is safe to repeat.
func (a *Agent) SubmitStep(ctx context.Context, d Dispatch, id string, s wire.SubmitStep, key string) (wire.Decision, error) {
	k := call{path: route("/v0/executions/%s/steps", id), header: idempotencyKey(key), body: s, safe: key != ""}
	return a.decide(ctx, d, k)
}

// CompleteStep reports that an effect succeeded; the first report counts, so
// it is safe to repeat.
func (a *Agent) CompleteStep(ctx context.Context, d Dispatch, id, stepID string, r wire.CompleteStep) (wire.Decision, error) {
	k := call{path: route("/v0/executions/%s/steps/%s/complete", id, stepID), body: r, safe: true}
	return a.decide(ctx, d, k)
}

// FailStep reports that an effect failed; the first report counts, so it is
// safe to repeat.
func (a *Agent) FailStep(ctx context.Context, d Dispatch, id, stepID string, r wire.FailStep) (wire.Decision, error) {
	k := call{path: route("/v0/executions/%s/steps/%s/fail", id, stepID), body: r, safe: true}
	return a.decide(ctx, d, k)
}

// Wait waits for a signal.
func (a *Agent) Wait(ctx context.Context, d Dispatch, id string, w wire.Wait) (wire.Decision, error) {
	return a.decide(ctx, d, call{path: route("/v0/executions/%s/wait", id), body: w})
}

// PublishDelta publishes live output of a step. The zero dispatch means the
// current attempt, whichever it is.
func (a *Agent) PublishDelta(ctx context.Context, d Dispatch, id, stepID string, p wire.PublishDelta) error {
	return a.post(ctx, d, call{path: route("/v0/executions/%s/steps/%s/stream", id, stepID), body: p})
}

// Heartbeat renews the lease. The zero dispatch means the current attempt.
func (a *Agent) Heartbeat(ctx context.Context, d Dispatch, id string) error {
	return a.post(ctx, d, call{path: route("/v0/executions/%s/heartbeat", id), safe: true})
}

// CompleteExecution ends the execution well; the same attempt may repeat it.
func (a *Agent) CompleteExecution(ctx context.Context, d Dispatch, id string, r wire.CompleteExecution) error {
	return a.post(ctx, d, call{path: route("/v0/executions/%s/complete", id), body: r, safe: true})
}

// FailExecution ends the execution badly; the same attempt may repeat it.
func (a *Agent) FailExecution(ctx context.Context, d Dispatch, id string, r wire.FailExecution) error {
	return a.post(ctx, d, call{path: route("/v0/executions/%s/fail", id), body: r, safe: true})
}

func (a *Agent) get(ctx context.Context, path string, out any) error {
	_, err := a.c.do(ctx, call{method: http.MethodGet, path: path, out: out, safe: true, sign: a.sign})
	return err
}

func (a *Agent) post(ctx context.Context, d Dispatch, k call) error {
	k.method, k.sign = http.MethodPost, a.sign
	if d != (Dispatch{}) {
		if k.header == nil {
			k.header = http.Header{}
		}
		k.header.Set(wire.HeaderDispatchID, d.ID)
		k.header.Set(wire.HeaderDispatchAttempt, strconv.FormatInt(d.Attempt, 10))
	}
	_, err := a.c.do(ctx, k)
	return err
}

func (a *Agent) decide(ctx context.Context, d Dispatch, k call) (decision wire.Decision, err error) {
	k.out = &decision
	err = a.post(ctx, d, k)
	return decision, err
}

func (a *Agent) sign(h http.Header, body []byte) {
	h.Set(wire.HeaderAgentID, a.id)
	h.Set(wire.HeaderSignature, wire.Sign(a.secret, body))
}
