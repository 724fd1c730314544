package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

const (
	leaseTimeout    = 2 * time.Minute
	approvalTimeout = 15 * time.Minute
	maxAttempts     = 3
)

// putAgent registers an agent.
func (w *world) putAgent(id kernel.AgentID) {
	w.t.Helper()
	spec := store.AgentSpec{ID: id, WebhookURL: "http://127.0.0.1/" + string(id), Secret: "secret of " + string(id)}
	if err := w.update(func(tx store.Tx) error { return tx.PutAgent(spec, w.now) }); err != nil {
		w.t.Fatalf("PutAgent(%s): %v", id, err)
	}
	w.agents[id] = &store.Agent{AgentSpec: spec, RegisteredAt: w.now, UpdatedAt: w.now}
}

func (w *world) update(fn func(tx store.Tx) error, bodies ...store.Body) error {
	return w.store.Update(context.Background(), fn, bodies...)
}

// creation is an execution to be.
type creation struct {
	agent    kernel.AgentID // "": mailer
	labels   map[string]string
	deadline kernel.Instant
	input    string // JSON; "" for {}
	key      string
}

// create starts an execution; nil when a fault of the test prevents it.
func (w *world) create(n creation) *model {
	w.t.Helper()
	op := w.planCreate(n)
	if err := w.update(op.closeCreate(n), store.BodyOf(kernel.ExecutionID{}, op.c)); err != nil {
		if w.tolerates(err) {
			return nil
		}
		w.t.Fatalf("create: %v", err)
	}
	w.settle(op)
	w.models = append(w.models, op.m)
	return op.m
}

func (w *world) planCreate(n creation) *operation {
	if n.agent == "" {
		n.agent = "mailer"
	}
	if n.input == "" {
		n.input = "{}"
	}
	c := &kernel.CreateExecution{Agent: n.agent, Labels: n.labels, Deadline: n.deadline, Input: kernel.NewBody([]byte(n.input))}
	m := &model{}
	mint := kernel.NewMint(w.now, w.seed())
	m.id = kernel.ExecutionID{UUID: mint.UUID()}
	m.state.ID = m.id
	return w.plan(m, c)
}

// closeCreate is the closure of a create.
func (op *operation) closeCreate(n creation) func(store.Tx) error {
	return func(tx store.Tx) error {
		s, l := &kernel.State{ID: op.m.id}, &kernel.Lease{}
		kernel.Stamp(op.c, op.at, op.seed)
		plan, err := kernel.Decide(s, l, op.c)
		op.got = outcome{Answer: plan.Answer, Events: plan.Events, Refusal: refusal(err)}
		if err := tx.Save(s, l, op.c, &plan); err != nil {
			return err
		}
		if n.key == "" {
			return nil
		}
		return tx.PutCreateKey(n.key, sha256.Sum256([]byte(n.input)), s)
	}
}

// claim hands the due dispatch to the agent and returns the attempt.
func (w *world) claim(m *model) kernel.Holder {
	w.t.Helper()
	out := w.do(m, &kernel.ClaimDispatch{Dispatch: m.lease.ID, Timeout: leaseTimeout})
	if out.Answer.Claimed == nil {
		w.t.Fatalf("execution %s: nothing to claim: %+v", m.id, m.lease)
	}
	return out.Answer.Claimed.Attempt
}

// start claims and acknowledges.
func (w *world) start(m *model) kernel.Holder {
	w.t.Helper()
	h := w.claim(m)
	w.do(m, &kernel.RecordDelivery{Attempt: h, Acked: true, MaxAttempts: maxAttempts})
	return h
}

// submission is a submit as an agent sends it, and what the policy says to it.
type submission struct {
	caller  kernel.Holder
	kind    kernel.StepKind // 0: tool_call
	target  string          // "": search
	args    string          // JSON; "" for null
	mode    kernel.Idempotency
	key     string
	ruling  kernel.Ruling // zero: allowed
	signal  string        // a wait for this type
	timeout time.Duration // of the wait
}

func (w *world) submit(m *model, s submission) outcome {
	w.t.Helper()
	return w.do(m, w.submitCommand(m, s))
}

func (w *world) submitCommand(m *model, s submission) *kernel.SubmitStep {
	if s.signal != "" {
		s.kind, s.target, s.args, s.mode = kernel.Local, kernel.SignalTarget(s.signal), "", kernel.SafeToRetry
	}
	if s.kind == 0 {
		s.kind = kernel.ToolCall
	}
	if s.target == "" {
		s.target = "search"
	}
	if s.args == "" {
		s.args = "null"
	}
	if s.mode == 0 {
		s.mode = kernel.SafeToRetry
	}
	if s.ruling.Action == 0 {
		s.ruling.Action, s.ruling.Rule = kernel.Allow, kernel.RulePermissive
	}
	hash := kernel.Digest(canonjson.Digest([]byte(s.args)))
	c := &kernel.SubmitStep{
		Caller: s.caller, Kind: s.kind, Target: s.target, Idempotency: s.mode, Args: kernel.NewBody([]byte(s.args)), ArgsHash: hash,
		FirstID: kernel.DeriveStepID(m.id, s.kind, s.target, hash, 0),
		Request: kernel.Sum([]byte(s.kind.String() + "\n" + s.target + "\n" + s.mode.String() + "\n" + hash.String())),
		Ruling:  s.ruling, Approval: approvalTimeout,
	}
	if s.key != "" {
		c.Key = kernel.Sum([]byte(s.key))
	}
	if s.signal != "" {
		c.Wait = &kernel.Wait{SignalType: s.signal}
		if s.timeout > 0 {
			c.Wait.TimeoutAt = w.at(m).Add(s.timeout)
		}
	}
	return c
}

// finish reports the outcome of a step: a result, or an error.
func (w *world) finish(m *model, h kernel.Holder, step kernel.StepID, ok bool, outcome string) {
	w.t.Helper()
	w.do(m, &kernel.FinishStep{Caller: h, Step: step, Succeeded: ok, Outcome: kernel.NewBody([]byte(outcome))})
}

// complete ends an execution well.
func (w *world) complete(m *model, h kernel.Holder, output string) {
	w.t.Helper()
	w.do(m, &kernel.FinishExecution{
		Caller: h, Succeeded: true, Output: kernel.NewBody([]byte(output)), Canonical: canonjson.Digest([]byte(output)),
	})
}

// decide grants or denies the newest approval of the execution.
func (w *world) decide(m *model, verdict kernel.ApprovalStatus, by, rationale string) outcome {
	w.t.Helper()
	for i := len(w.approvals) - 1; i >= 0; i-- {
		if a := w.approvals[i]; a.Execution == m.id {
			return w.do(m, &kernel.DecideApproval{
				Approval: kernel.ApprovalFacts{ID: a.ID}, Verdict: verdict, DecidedBy: by, Rationale: rationale,
			})
		}
	}
	w.t.Fatalf("execution %s has no approval", m.id)
	return outcome{}
}

func (w *world) signal(m *model, signalType, payload, key string) outcome {
	w.t.Helper()
	return w.do(m, &kernel.SendSignal{SignalType: signalType, Payload: kernel.NewBody([]byte(payload)), Key: key})
}

// signalOnce is signal, unless the key has delivered one before, as a shell
// has to do it.
func (w *world) signalOnce(m *model, signalType, payload, key string) {
	w.t.Helper()
	if key != "" && !m.erased {
		var known kernel.SignalID
		var asked store.SignalRequest
		err := w.update(func(tx store.Tx) error {
			s, _, err := tx.Load(m.id)
			if err != nil {
				return err
			}
			known, asked, err = tx.SignalByKey(s, key)
			return err
		})
		want, wantAsked, delivered := m.delivered(key)
		switch {
		case err != nil && w.tolerates(err):
			return
		case delivered && (err != nil || known != want || asked != wantAsked):
			w.t.Fatalf("SignalByKey(%q) = %s, %+v, %v; want %s, %+v", key, known, asked, err, want, wantAsked)
		case !delivered && !errors.Is(err, store.ErrNotFound):
			w.t.Fatalf("SignalByKey(%q): %v, want %v", key, err, store.ErrNotFound)
		case delivered:
			return
		}
	}
	w.signal(m, signalType, payload, key)
}

// delivered finds a signal in the log by its key.
func (m *model) delivered(key string) (kernel.SignalID, store.SignalRequest, bool) {
	for _, r := range m.log {
		if d, ok := r.Event.Data.(*kernel.SignalReceived); ok && d.Key == key {
			return d.Signal, store.SignalRequest{Type: d.SignalType, Payload: r.Event.Digest}, true
		}
	}
	return kernel.SignalID{}, store.SignalRequest{}, false
}
