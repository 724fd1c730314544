package sim_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// history is what the service answered, and what was done because of it.
// What can be judged at once is.
type history struct {
	t         *testing.T
	unclean   bool // a life ended without storing its leases; chaos writes it
	lives     []span
	decisions atomic.Int64

	met *tally

	mu         sync.Mutex
	order      int64 // of what happens here
	numbers    map[kernel.ExecutionID]int
	inputs     map[int]string
	ids        map[int]kernel.ExecutionID
	deliveries map[attemptKey]delivered
	tried      map[attemptKey][]try
	counts     map[kernel.ExecutionID]int // of deliveries
	writes     []write
	effects    map[stepKey][]effect
	reported   map[stepKey][]outcome
	outcomes   map[stepKey]outcome // that were acknowledged or replayed
	answers    map[submitKey]kernel.Answer
	endings    map[kernel.ExecutionID]ending
	verdicts   map[kernel.ApprovalID]verdict
	sent       map[kernel.SignalID]sentSignal
	keys       map[string]kernel.SignalID
	seqs       map[kernel.ExecutionID]int64
}

type (
	attemptKey struct {
		execution kernel.ExecutionID
		holder    kernel.Holder
	}
	stepKey struct {
		execution kernel.ExecutionID
		step      kernel.StepID
	}
	submitKey struct {
		attemptKey
		key string
	}
	// span is a life of the service.
	span struct {
		from, to time.Time // to is zero while it lasts
		unclean  bool
	}
	delivered struct {
		order int64
		at    time.Time
		lease time.Duration
	}
	// write is a call of an attempt that was accepted.
	write struct {
		attemptKey
		what         string
		began, ended time.Time
		order        int64 // before the call was made, at the earliest
		lease        time.Duration
		step         kernel.StepID
		answer       kernel.Answer
	}
	// try is a call of an attempt, whatever became of it.
	try    struct{ began, ended time.Time }
	effect struct {
		holder kernel.Holder
		mode   kernel.Idempotency
	}
	outcome struct {
		failed bool
		body   string
	}
	ending struct {
		status          kernel.Status
		output, failure string
	}
	verdict struct {
		status kernel.ApprovalStatus
		by     string
	}
	sentSignal struct {
		execution kernel.ExecutionID
		key       string
	}
)

func newHistory(t *testing.T, met *tally) *history {
	return &history{
		t: t, met: met, numbers: make(map[kernel.ExecutionID]int), inputs: make(map[int]string), ids: make(map[int]kernel.ExecutionID),
		deliveries: make(map[attemptKey]delivered), tried: make(map[attemptKey][]try), counts: make(map[kernel.ExecutionID]int),
		effects: make(map[stepKey][]effect), reported: make(map[stepKey][]outcome), outcomes: make(map[stepKey]outcome),
		answers: make(map[submitKey]kernel.Answer), endings: make(map[kernel.ExecutionID]ending),
		verdicts: make(map[kernel.ApprovalID]verdict), sent: make(map[kernel.SignalID]sentSignal), keys: make(map[string]kernel.SignalID),
		seqs: make(map[kernel.ExecutionID]int64),
	}
}

func (h *history) lock() func() {
	h.mu.Lock()
	h.order++
	return h.mu.Unlock
}

func (h *history) created(n int, id kernel.ExecutionID, in string) {
	defer h.lock()()
	if before, ok := h.ids[n]; ok && before != id {
		h.t.Errorf("creation %d made %s, and then %s", n, before, id)
	}
	h.ids[n], h.numbers[id], h.inputs[n] = id, n, in
}

func (h *history) allCreated(n int) bool {
	defer h.lock()()
	return len(h.ids) >= n
}

// number is which client created the execution; -1 when that is unknown still.
func (h *history) number(id kernel.ExecutionID) int {
	defer h.lock()()
	if n, ok := h.numbers[id]; ok {
		return n
	}
	return -1
}

// deliver notes a webhook and says which one of its execution it is.
func (h *history) deliver(job engine.Delivery) int {
	defer h.lock()()
	key := attemptKey{job.Execution, job.Attempt}
	if _, twice := h.deliveries[key]; twice {
		h.t.Errorf("%s: attempt %d of dispatch %s was delivered twice", job.Execution, job.Attempt.Attempt, job.Attempt.Dispatch)
	}
	h.deliveries[key] = delivered{h.order, time.Now(), job.Lease}
	h.counts[job.Execution]++
	return h.counts[job.Execution]
}

// begins and ends tell of the lives of the service; chaos does.
func (h *history) begins() {
	defer h.lock()()
	h.lives = append(h.lives, span{from: time.Now()})
}

func (h *history) ends(unclean bool) {
	defer h.lock()()
	l := &h.lives[len(h.lives)-1]
	l.to, l.unclean = time.Now(), unclean
	h.unclean = h.unclean || unclean
}

// crashedBetween reports whether the service ended uncleanly in a time.
func (h *history) crashedBetween(from, to time.Time) bool {
	return slices.ContainsFunc(h.lives, func(l span) bool {
		return l.unclean && !l.to.Before(from) && !l.to.After(to)
	})
}

// crashedWith reports whether the life in which something happened ended
// uncleanly by a later moment.
func (h *history) crashedWith(at, by time.Time) bool {
	return slices.ContainsFunc(h.lives, func(l span) bool {
		return l.unclean && !at.Before(l.from) && !at.After(l.to) && l.to.Before(by)
	})
}

// tries notes a call of an attempt, which may have renewed its lease.
func (h *history) tries(job engine.Delivery, began time.Time) {
	defer h.lock()()
	key := attemptKey{job.Execution, job.Attempt}
	h.tried[key] = append(h.tried[key], try{began, time.Now()})
}

func (h *history) accepted(job engine.Delivery, what string, began time.Time) {
	defer h.lock()()
	h.accept(job, write{what: what, began: began})
}

func (h *history) accept(job engine.Delivery, w write) {
	w.attemptKey, w.lease, w.ended, w.order = attemptKey{job.Execution, job.Attempt}, job.Lease, time.Now(), h.order
	h.writes = append(h.writes, w)
}

// submitted notes a decision.
func (h *history) submitted(job engine.Delivery, n int, req engine.Submit, a kernel.Answer, began time.Time) {
	defer h.lock()()
	if a.Decision == kernel.ExecutionTerminal {
		return // this is told to anyone
	}
	key := attemptKey{job.Execution, job.Attempt}
	if req.Key != "" {
		before, again := h.answers[submitKey{key, req.Key}]
		if again && (before.Decision != a.Decision || before.Step != a.Step || before.Reason != a.Reason || before.Approval != a.Approval) {
			h.t.Errorf("%s: submit %d was answered %+v, and under the same key %+v", job.Execution, n, before, a)
		}
		h.answers[submitKey{key, req.Key}] = a
	}
	if a.Decision == kernel.Replay {
		h.acknowledge(stepKey{job.Execution, a.Step}, outcome{a.Failed, string(a.Body)})
	}
	h.met.add("submit " + a.Decision.String())
	h.accept(job, write{what: "submit", began: began, step: a.Step, answer: a})
}

// effect notes that something is done in the world.
func (h *history) effect(job engine.Delivery, step kernel.StepID, o op) {
	defer h.lock()()
	key := stepKey{job.Execution, step}
	for _, before := range h.effects[key] {
		h.met.add("effect again")
		switch {
		case o.mode == kernel.AtMostOnce:
			h.t.Errorf("%s: the effect of step %s ran twice, which is at_most_once", job.Execution, step)
		case before.holder == job.Attempt:
			h.t.Errorf("%s: the effect of step %s ran twice in attempt %v", job.Execution, step, job.Attempt)
		}
	}
	h.effects[key] = append(h.effects[key], effect{job.Attempt, o.mode})
}

// outcome notes what is about to be reported.
func (h *history) outcome(job engine.Delivery, step kernel.StepID, succeeded bool, body []byte) {
	defer h.lock()()
	key := stepKey{job.Execution, step}
	h.reported[key] = append(h.reported[key], outcome{!succeeded, string(body)})
}

func (h *history) finished(job engine.Delivery, step kernel.StepID, succeeded bool, body []byte, a kernel.Answer, began time.Time) {
	defer h.lock()()
	key := stepKey{job.Execution, step}
	h.met.add("outcome " + a.Decision.String())
	switch a.Decision {
	case kernel.Recorded:
		h.acknowledge(key, outcome{!succeeded, string(body)})
	case kernel.Replay:
		h.acknowledge(key, outcome{a.Failed, string(a.Body)})
	case kernel.ExecutionTerminal:
		return // nothing was written
	default:
		h.t.Errorf("%s: the outcome of step %s was answered %+v", job.Execution, step, a)
	}
	h.accept(job, write{what: "outcome", began: began, step: step, answer: a})
}

// acknowledge notes what a step came to, which never changes.
func (h *history) acknowledge(key stepKey, o outcome) {
	if before, ok := h.outcomes[key]; ok && before != o {
		h.t.Errorf("%s: step %s came to %+v, and then to %+v", key.execution, key.step, before, o)
	}
	h.outcomes[key] = o
}

// ended notes how an execution ended, which never changes.
func (h *history) ended(id kernel.ExecutionID, e ending) {
	defer h.lock()()
	h.end(id, e)
}

func (h *history) end(id kernel.ExecutionID, e ending) {
	if before, ok := h.endings[id]; ok && before != e {
		h.t.Errorf("%s ended as %+v, and then as %+v", id, before, e)
	}
	h.endings[id] = e
}

func (h *history) decided(id kernel.ApprovalID, status kernel.ApprovalStatus, by string) {
	defer h.lock()()
	now := verdict{status, by}
	if before, ok := h.verdicts[id]; ok && before != now {
		h.t.Errorf("approval %s was decided by two: %+v and %+v", id, before, now)
	}
	h.verdicts[id] = now
}

func (h *history) signalled(id kernel.ExecutionID, key string, got kernel.SignalID) {
	defer h.lock()()
	if before, ok := h.keys[key]; ok && before != got {
		h.t.Errorf("%s: signal %s became %s, and then %s", id, key, before, got)
	}
	h.keys[key] = got
	h.sent[got] = sentSignal{id, key}
}

// saw holds a read against what is known.
func (h *history) saw(x *store.Execution) {
	defer h.lock()()
	if x.LastSeq < h.seqs[x.ID] {
		h.t.Errorf("%s had event %d, and then only %d", x.ID, h.seqs[x.ID], x.LastSeq)
	}
	h.seqs[x.ID] = x.LastSeq
	if x.Status.Terminal() {
		h.end(x.ID, endingOf(x))
	}
}

func endingOf(x *store.Execution) ending {
	return ending{x.Status, string(x.Output), x.Failure}
}

func (h *history) sawSteps(id kernel.ExecutionID, steps []store.Step) {
	defer h.lock()()
	for i := range steps {
		if s := &steps[i]; s.Status == kernel.StepStatusSucceeded || s.Status == kernel.StepStatusFailed {
			h.acknowledge(stepKey{id, s.ID}, outcome{s.Status == kernel.StepStatusFailed, string(s.Outcome)})
		}
	}
}

func (k attemptKey) String() string {
	return fmt.Sprintf("%s, attempt %d of %s", k.execution, k.holder.Attempt, k.holder.Dispatch)
}
