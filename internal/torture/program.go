package torture

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// bundle is every agent's policy. The first part of a target says which rule
// is met.
const bundle = `
default_action: allow
rules:
  - id: gate
    when: {target: gate*}
    then: {decision: require_approval, approval_config: {timeout: 4s, approvers: [alice, bob]}}
  - id: never
    when: {target: never*}
    then: {decision: deny, reason: never}
  - id: few
    when: {target: few*}
    then: {decision: allow, rate_limit: {max_calls: 2, window: 3s}}
  - id: park
    when: {target: park*}
    then: {decision: allow, rate_limit: {max_calls: 40, window: 1s, per_what: agent, max_wait: 5s}}
  - id: spend
    when: {step_kind: llm_call}
    then: {decision: allow, budget: {max_tokens: 1000000}}
`

// targets are drawn from, so that what is common is met often.
var targets = []string{
	"free", "free", "free", "free", "free", "free", "free", "other", "other", "other",
	"gate", "never", "few", "few", "park", "park",
}

const signalType = "go"

// op is one thing that an agent does in an execution.
type op struct {
	kind   wire.StepKind
	target string
	args   json.RawMessage
	mode   wire.Idempotency
	result string        // text that a result carries
	takes  time.Duration // its effect
	fails  bool
	waits  int64 // seconds for a signal at most; 0: it is a step
}

// program is what an agent does in an execution, from the top in every attempt,
// and what its client does beside it.
type program struct {
	ops     []op
	fails   bool          // and then it fails the execution
	timeout int64         // deadline, in seconds; 0: none
	cancel  time.Duration // after which the client cancels it; 0: never
	signals []time.Duration
}

// source is a source of randomness of its own for each name, so that actors do
// not disturb each other.
func source(seed uint64, name ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, name...)               // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // a seed is the point
}

// upTo is a time below most, short ones more often than long ones.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	f := r.Float64()
	return time.Duration(f * f * float64(most))
}

// drawProgram is the n-th program of a seed.
func drawProgram(seed uint64, n int) program {
	r := source(seed, "program", n)
	p := program{fails: r.IntN(12) == 0}
	var messages []string // a conversation goes along with every call of a model, and grows
	for i := range 2 + r.IntN(10) {
		if r.IntN(25) == 0 {
			p.ops = append(p.ops, op{waits: int64(1 + r.IntN(3))})
			if r.IntN(3) > 0 {
				p.signals = append(p.signals, upTo(r, 3*time.Second))
			}
			continue
		}
		o := op{
			kind: wire.KindToolCall, target: targets[r.IntN(len(targets))], mode: wire.SafeToRetry,
			result: drawText(r), fails: r.IntN(10) == 0,
		}
		if r.IntN(3) == 0 {
			o.takes = upTo(r, 40*time.Millisecond)
		}
		if r.IntN(2) == 0 {
			o.mode = wire.AtMostOnce
		}
		o.args = encode(map[string]any{"n": i % 3, "text": drawText(r)})
		switch r.IntN(6) {
		case 0:
			o.kind = wire.KindLocal
		case 1:
			messages = append(messages, drawText(r))
			o.kind, o.target, o.args = wire.KindLLMCall, "model", encode(map[string]any{"messages": messages})
		}
		p.ops = append(p.ops, o)
	}
	if r.IntN(12) == 0 {
		p.timeout = int64(1 + r.IntN(4))
	}
	if r.IntN(12) == 0 {
		p.cancel = time.Millisecond + upTo(r, 2*time.Second)
	}
	return p
}

// meanSteps is how many steps an execution of a seed has on average.
func meanSteps(seed uint64) float64 {
	const sample = 200
	total := 0
	for n := range sample {
		total += len(drawProgram(seed, n).ops)
	}
	return float64(total) / sample
}

// drawText is mostly short, sometimes long, and now and then near the limit of
// what the service stores beside a row.
func drawText(r *rand.Rand) string {
	size := r.IntN(200)
	switch n := r.IntN(400); {
	case n == 0:
		size = 100<<10 + r.IntN(900<<10)
	case n < 20:
		size = 4<<10 + r.IntN(60<<10)
	}
	var b strings.Builder
	for b.Len() < size {
		if r.IntN(3) > 0 { // text repeats itself, keys and digests do not
			b.WriteString("the quick brown fox jumps over the lazy dog ")
			continue
		}
		for range 4 {
			fmt.Fprintf(&b, "%016x", r.Uint64())
		}
	}
	return b.String()[:size]
}

// encode is the JSON of a value made here, which always has one.
func encode(v any) json.RawMessage {
	b, err := wire.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}
