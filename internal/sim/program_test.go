package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// bundle is every agent's policy.
const bundle = `
default_action: allow
rules:
  - id: gate
    when: {target: gate*}
    then: {decision: require_approval, approval_config: {timeout: 2m, approvers: [alice, bob]}}
  - id: brief
    when: {target: brief*}
    then: {decision: require_approval, approval_config: {timeout: 3s, approvers: [alice, bob]}}
  - id: never
    when: {target: never*}
    then: {decision: deny, reason: never}
  - id: few
    when: {target: few*}
    then: {decision: allow, rate_limit: {max_calls: 2, window: 30s}}
  - id: park
    when: {target: park*}
    then: {decision: allow, rate_limit: {max_calls: 3, window: 45s, per_what: agent, max_wait: 2m}}
  - id: shared
    when: {target: shared*}
    then: {decision: allow, rate_limit: {max_calls: 4, window: 20s, per_what: global, max_wait: 10m}}
  - id: both
    when: {target: both*}
    then: {decision: require_approval, rate_limit: {max_calls: 1, window: 40s, max_wait: 1m}, approval_config: {timeout: 30s}}
  - id: spend
    when: {step_kind: llm_call}
    then: {decision: allow, budget: {max_tokens: 40, on_exceed: require_approval}}
`

// limits are the rate limits of the bundle: at most calls in any window.
var limits = map[string]struct {
	calls  int
	window time.Duration
	scope  kernel.LimitScope
}{
	"few":    {2, 30 * time.Second, kernel.PerExecution},
	"park":   {3, 45 * time.Second, kernel.PerAgent},
	"shared": {4, 20 * time.Second, kernel.PerService},
	"both":   {1, 40 * time.Second, kernel.PerExecution},
}

var (
	targets = []string{"free", "free", "free", "other", "gate", "brief", "never", "few", "few", "park", "park", "shared", "shared", "both"}
	signals = []string{"red", "green"}
)

// op is one thing that an agent's program does.
type op struct {
	kind   kernel.StepKind
	target string
	args   string
	mode   kernel.Idempotency
	takes  time.Duration // its effect
	fails  bool
	signal string        // it is a wait for this type
	wait   time.Duration // at most so long; 0: for ever
}

// program is what an agent does in an execution: groups of ops, the ops of one
// group at once. Every attempt runs it from the beginning.
type program struct {
	groups [][]op
	fails  bool // and then it fails the execution
}

func drawProgram(r *rand.Rand, s *shape, lease time.Duration) program {
	p := program{fails: r.IntN(6) == 0}
	var favourites []string // twins and full buckets come of doing the same again
	for range 1 + r.IntN(4) {
		favourites = append(favourites, targets[r.IntN(len(targets))])
	}
	for range 1 + r.IntN(s.steps) {
		group := []op{drawOp(r, favourites, lease)}
		if r.IntN(4) == 0 {
			for n := range 1 + r.IntN(3) {
				o := drawOp(r, favourites, lease)
				if o.signal == "" { // what runs at once is told apart by what it does
					o.args = fmt.Sprintf(`{"beside":%d}`, n)
				}
				group = append(group, o)
			}
		}
		p.groups = append(p.groups, group)
	}
	return p
}

func drawOp(r *rand.Rand, targets []string, lease time.Duration) op {
	if r.IntN(8) == 0 {
		o := op{signal: signals[r.IntN(len(signals))]}
		if r.IntN(2) == 0 {
			o.wait = time.Duration(1+r.IntN(20)) * time.Second
		}
		return o
	}
	o := op{
		kind: kernel.ToolCall, target: targets[r.IntN(len(targets))], args: fmt.Sprintf(`{"n":%d}`, r.IntN(2)),
		mode: kernel.SafeToRetry, takes: upTo(r, time.Second), fails: r.IntN(8) == 0,
	}
	if r.IntN(3) == 0 {
		o.takes = upTo(r, lease+lease/2)
	}
	switch r.IntN(5) {
	case 0:
		o.kind = kernel.LLMCall
	case 1:
		o.kind = kernel.Local
	}
	if r.IntN(2) == 0 {
		o.mode = kernel.AtMostOnce
	}
	return o
}

// provision registers the agents.
func (w *world) provision() {
	for n, lease := range w.shape.leases {
		spec := store.AgentSpec{ID: agentName(n), WebhookURL: "http://agent.invalid/", Secret: "secret", Lease: lease}
		l := w.current()
		if _, err := l.engine.RegisterAgent(w.t.Context(), spec); err != nil {
			w.t.Fatalf("register: %v", err)
		}
		if err := l.engine.PutPolicy(w.t.Context(), spec.ID, []byte(bundle)); err != nil {
			w.t.Fatalf("load the policy: %v", err)
		}
	}
}

func agentName(n int) kernel.AgentID { return kernel.AgentID(fmt.Sprintf("agent-%d", n)) }

// input tells an agent which program to run.
type input struct {
	Program int `json:"program"`
}

// load asks the service what an execution is about.
func (w *world) load(r *rand.Rand, id kernel.ExecutionID) (h *store.Header, p program, err error) {
	err = w.retry(r, func(ctx context.Context, e *engine.Engine) error {
		var err error
		if h, err = e.Header(ctx, id); err != nil {
			return err
		}
		x, err := e.Reader().Execution(ctx, id)
		if err != nil {
			return err
		}
		var in input
		if err := json.Unmarshal(x.Input, &in); err != nil {
			w.t.Errorf("execution %s has input %q: %v", id, x.Input, err)
		}
		n := in.Program
		p = drawProgram(w.rand("program", n), &w.shape, w.shape.leases[w.agentOf(n)])
		return nil
	})
	return h, p, err
}

// agentOf is who runs the n-th execution.
func (w *world) agentOf(n int) int { return n % w.shape.agents }
