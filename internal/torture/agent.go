package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const (
	secret       = "torture-secret"
	leaseSeconds = wire.MinLeaseTimeoutSeconds // the shortest there is, so that leases lapse within a run
	maxAttempts  = 4
)

// agentIDs are the agents: with several, no one of them holds the deliveries up.
var agentIDs = []string{"torture-a", "torture-b", "torture-c"}

func agentOf(n int) string { return agentIDs[n%len(agentIDs)] }

// fleet is the agents, behind one loopback address.
type fleet struct {
	seed   uint64
	ledger *ledger
	agents map[string]*client.Agent
	url    string // of the webhooks

	ctx  context.Context //nolint:containedctx // of the attempts, which outlive their webhooks
	web  *http.Server
	runs sync.WaitGroup
}

// newFleet listens; ctx ends what its agents do.
func newFleet(ctx context.Context, c *client.Client, seed uint64, l *ledger) (*fleet, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	f := &fleet{seed: seed, ledger: l, agents: make(map[string]*client.Agent), ctx: ctx, url: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	for _, id := range agentIDs {
		f.agents[id] = c.As(id, secret)
		mux.HandleFunc("POST /"+id, func(w http.ResponseWriter, r *http.Request) { f.webhook(w, r, id) })
	}
	f.web = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	f.runs.Go(func() { _ = f.web.Serve(listener) }) // until close
	return f, nil
}

// close waits for every attempt; their context has ended.
func (f *fleet) close() {
	_ = f.web.Close()
	f.runs.Wait()
}

// register makes the agents known, over and over until that is acknowledged.
func (f *fleet) register(ctx context.Context, c *client.Client) error {
	lease := int64(leaseSeconds)
	for _, id := range agentIDs {
		if err := insist(ctx, func() error {
			_, err := c.RegisterAgent(ctx, wire.RegisterAgent{ID: id, WebhookURL: f.url + "/" + id, Secret: secret, LeaseTimeoutSeconds: &lease})
			return err
		}); err != nil {
			return fmt.Errorf("register agent %s: %w", id, err)
		}
		if err := insist(ctx, func() error { return c.LoadPolicy(ctx, id, bundle) }); err != nil {
			return fmt.Errorf("load the policy of agent %s: %w", id, err)
		}
	}
	return nil
}

func (f *fleet) webhook(w http.ResponseWriter, r *http.Request, agent string) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !wire.Verify(secret, body, r.Header.Get(wire.HeaderSignature)) {
		w.WriteHeader(http.StatusUnauthorized) // cut off by a kill
		return
	}
	var hook wire.Webhook
	if err := json.Unmarshal(body, &hook); err != nil {
		f.ledger.problem("a webhook has the body %q: %v", body, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d := client.Dispatch{ID: hook.DispatchID, Attempt: hook.DispatchAttempt}
	f.ledger.delivered(hook.ExecutionID, d, maxAttempts)
	switch random := source(f.seed, "delivery", hook.ExecutionID, d); random.IntN(50) {
	case 0: // refused, and tried again later
		w.WriteHeader(http.StatusInternalServerError)
	case 1: // acknowledged, and then nothing: its lease lapses
	default:
		a := &attempt{fleet: f, agent: f.agents[agent], execution: hook.ExecutionID, dispatch: d, random: random}
		f.runs.Go(func() { a.run(f.ctx) }) // it outlives its webhook
	}
}

// attempt is an agent at work on one dispatch attempt.
type attempt struct {
	fleet     *fleet
	agent     *client.Agent
	execution string
	dispatch  client.Dispatch
	random    *rand.Rand
	submits   int
}

// input tells an agent which program to run.
type input struct {
	Program int    `json:"program"`
	Text    string `json:"text,omitempty"`
}

// run carries out the program from its beginning, as far as it is let.
func (a *attempt) run(ctx context.Context) {
	var x wire.Execution
	if a.ask(ctx, "reading an execution", func() (err error) {
		x, err = a.agent.GetExecution(ctx, a.execution)
		return err
	}) != nil {
		return
	}
	var in input
	if err := json.Unmarshal(x.Input, &in); err != nil {
		a.fleet.ledger.problem("execution %s has the input %.80q: %v", a.execution, x.Input, err)
		return
	}
	p := drawProgram(a.fleet.seed, in.Program)
	for i := range p.ops {
		if a.random.IntN(150) == 0 { // the agent dies here
			return
		}
		if !a.do(ctx, &p.ops[i]) {
			return
		}
	}
	a.end(ctx, &p)
}

// ask insists on an answer, and notes one that cannot be.
func (a *attempt) ask(ctx context.Context, what string, request func() error) error {
	return insist(ctx, func() error { return a.fleet.ledger.judge(what, request()) })
}

// do carries out one op and reports whether the program goes on.
func (a *attempt) do(ctx context.Context, o *op) bool {
	answer, err := a.submit(ctx, o)
	if err != nil {
		return false
	}
	switch answer.Decision {
	case wire.DecisionProceed:
		return a.effect(ctx, o, answer.StepID)
	case wire.DecisionReplay, wire.DecisionDenied, wire.DecisionRateLimited:
		return true // it can do without what it may not
	case wire.DecisionBlocked, wire.DecisionExecutionBlocked, wire.DecisionExecutionTerminal:
		return false
	case wire.DecisionRecorded:
	}
	a.fleet.ledger.problem("execution %s: a submit was answered %q", a.execution, answer.Decision)
	return false
}

func (a *attempt) submit(ctx context.Context, o *op) (answer wire.Decision, err error) {
	a.submits++
	key := strconv.Itoa(a.submits)
	began := time.Now()
	err = a.ask(ctx, "a submit", func() (err error) {
		if o.waits > 0 {
			answer, err = a.agent.Wait(ctx, a.dispatch, a.execution, wire.Wait{SignalType: signalType, TimeoutSeconds: &o.waits})
			return err
		}
		answer, err = a.agent.SubmitStep(ctx, a.dispatch, a.execution, wire.SubmitStep{Kind: o.kind, Target: o.target, Args: o.args, Idempotency: o.mode}, key)
		return err
	})
	if err == nil {
		a.fleet.ledger.decided(a.execution, o, &answer, began)
	}
	return answer, err
}

// effect does what was allowed, and reports it. No two attempts report the same.
func (a *attempt) effect(ctx context.Context, o *op, step string) bool {
	a.fleet.ledger.effect(a.execution, step, a.dispatch, o.mode)
	if client.Sleep(ctx, o.takes) != nil {
		return false
	}
	if a.random.IntN(20) == 0 && a.ask(ctx, "a heartbeat", func() error { return a.agent.Heartbeat(ctx, a.dispatch, a.execution) }) != nil {
		return false
	}
	body := encode(map[string]any{
		"by": fmt.Sprintf("%s/%d", a.dispatch.ID, a.dispatch.Attempt), "text": o.result,
		"usage": wire.Usage{InputTokens: 12, OutputTokens: 3},
	})
	mine := outcome{wire.StepSucceeded, digestOf(body)}
	if o.fails {
		mine.status = wire.StepFailed
	}
	a.fleet.ledger.reports(a.execution, step, mine)
	for range 1 + a.random.IntN(20)/19 { // now and then twice
		began := time.Now()
		var answer wire.Decision
		if a.ask(ctx, "a report", func() (err error) {
			if o.fails {
				answer, err = a.agent.FailStep(ctx, a.dispatch, a.execution, step, wire.FailStep{Error: body})
				return err
			}
			answer, err = a.agent.CompleteStep(ctx, a.dispatch, a.execution, step, wire.CompleteStep{Result: body})
			return err
		}) != nil {
			return false
		}
		a.fleet.ledger.reported(a.execution, step, mine, &answer, began)
		if answer.Decision == wire.DecisionExecutionTerminal {
			return false
		}
	}
	return true
}

// end ends the execution.
func (a *attempt) end(ctx context.Context, p *program) {
	a.fleet.ledger.ends(a.execution)
	began := time.Now()
	if p.fails {
		const reason = "the program says so"
		if a.ask(ctx, "failing an execution", func() error {
			return a.agent.FailExecution(ctx, a.dispatch, a.execution, wire.FailExecution{Error: reason})
		}) == nil {
			a.fleet.ledger.ended(a.execution, failed(reason), began)
		}
		return
	}
	output := encode(map[string]any{"by": a.dispatch.ID, "attempt": a.dispatch.Attempt})
	if a.ask(ctx, "completing an execution", func() error {
		return a.agent.CompleteExecution(ctx, a.dispatch, a.execution, wire.CompleteExecution{Output: output})
	}) == nil {
		a.fleet.ledger.ended(a.execution, completed(output), began)
	}
}
