package torture

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// digest stands for bytes that were sent or read.
type digest [sha256.Size]byte

func digestOf(b []byte) digest { return sha256.Sum256(b) }

// outcome is what a step came to.
type outcome struct {
	status wire.StepStatus
	body   digest
}

// ending is what an execution came to.
type ending struct {
	status wire.ExecutionStatus
	output digest
	reason string
}

func completed(output []byte) ending {
	return ending{status: wire.ExecutionCompleted, output: digestOf(output)}
}

func failed(reason string) ending {
	return ending{status: wire.ExecutionFailed, output: digestOf([]byte("null")), reason: reason}
}

func cancelled() ending {
	return ending{status: wire.ExecutionCancelled, output: digestOf([]byte("null")), reason: wire.ReasonClientCancelled}
}

// verdict is what became of an approval.
type verdict struct {
	status wire.ApprovalStatus
	by     string
}

// stepFacts are what is known of a step.
type stepFacts struct {
	args     digest
	mode     wire.Idempotency
	wait     bool
	allowed  bool                    // it was answered that its effect may begin
	denied   bool                    // it was answered that it is denied
	effects  map[client.Dispatch]int // that began
	reported []outcome               // by agents, acknowledged or not
	outcome  *outcome                // that was acknowledged, or read
}

// facts are what is known of an execution: every answer of the service that
// promised something, and every read, which promises it as well.
type facts struct {
	id, key   string
	input     digest
	alive     time.Time // it had not ended then
	mayEnd    bool      // somebody asked for its end, or it can end by itself
	end       *ending
	steps     map[string]*stepFacts
	approvals map[string]verdict
	signals   map[string]bool
	delivered map[client.Dispatch]bool
	seq       int64 // the highest last_event_seq that was read
	fresh     bool  // nothing of it was learned since it was last audited
}

// ledger is what the service acknowledged. It notes at once what contradicts
// what it has.
type ledger struct {
	mu         sync.Mutex
	lives      []life
	executions map[string]*facts
	keys       map[string]string // of creates, to the execution
	writes     int64             // acknowledged
	steps      int64             // outcomes among them
	refused    int64             // with 503
	wrong      []string
	found      int
}

func newLedger() *ledger {
	return &ledger{executions: make(map[string]*facts), keys: make(map[string]string)}
}

// maxWrong is how many problems are kept in words.
const maxWrong = 20

func (l *ledger) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrongf(format, args...)
}

func (l *ledger) wrongf(format string, args ...any) {
	if l.found++; len(l.wrong) < maxWrong {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// problems are what was found so far, and how many there are in all.
func (l *ledger) problems() ([]string, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.wrong), l.found
}

// broken reports whether anything was found.
func (l *ledger) broken() bool {
	_, found := l.problems()
	return found > 0
}

// of is the facts about an execution. Who asks holds the lock.
func (l *ledger) of(id string) *facts {
	f := l.executions[id]
	if f == nil { // read, or dispatched, before its creation was answered
		f = &facts{
			id: id, steps: make(map[string]*stepFacts), approvals: make(map[string]verdict),
			signals: make(map[string]bool), delivered: make(map[client.Dispatch]bool),
		}
		l.executions[id] = f
	}
	f.fresh = false
	return f
}

func (f *facts) step(id string) *stepFacts {
	s := f.steps[id]
	if s == nil {
		s = &stepFacts{effects: make(map[client.Dispatch]int)}
		f.steps[id] = s
	}
	return s
}

func (f *facts) wasAlive(at time.Time) {
	if at.After(f.alive) {
		f.alive = at
	}
}

func (l *ledger) refusal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused++
}

// refusals is how often the service refused with 503.
func (l *ledger) refusals() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// acknowledged is how many writes were, and how many of them were outcomes of steps.
func (l *ledger) acknowledged() (writes, steps int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes, l.steps
}

// live is how many executions are not known to have ended.
func (l *ledger) live() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, f := range l.executions {
		if f.end == nil {
			n++
		}
	}
	return n
}

// begins notes that a server starts, and returns what is to be called when it
// has ended.
func (l *ledger) begins(retention time.Duration) (ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.lives)
	l.lives = append(l.lives, life{from: time.Now(), retention: retention})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lives[n].to = time.Now()
	}
}

// mayBeGone reports whether retention may have removed an execution by now. Who
// asks holds the lock.
func (l *ledger) mayBeGone(id string) bool {
	f := l.executions[id]
	return f == nil || f.mayEnd && mayBeGone(f.alive, l.lives, time.Now())
}

// created notes the answer to a create. Began is when it was first sent.
func (l *ledger) created(key string, input []byte, p *program, x *wire.Execution, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.keys[key]; ok && before != x.ID && !l.mayBeGone(before) {
		l.wrongf("create %s made execution %s, and then %s", key, before, x.ID)
	}
	l.writes++
	l.keys[key] = x.ID
	f := l.of(x.ID)
	f.key, f.input = key, digestOf(input)
	f.mayEnd = f.mayEnd || p.timeout > 0
	f.wasAlive(began)
}

// delivered notes a webhook: none comes twice.
func (l *ledger) delivered(id string, d client.Dispatch, maxAttempts int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.of(id)
	if f.delivered[d] {
		l.wrongf("execution %s: attempt %d of dispatch %s was delivered twice", id, d.Attempt, d.ID)
	}
	f.delivered[d] = true
	f.mayEnd = f.mayEnd || d.Attempt >= maxAttempts
}

// decided notes the answer to a submit.
func (l *ledger) decided(id string, o *op, a *wire.Decision, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.of(id)
	if a.Decision == wire.DecisionExecutionTerminal {
		f.mayEnd = true // by its deadline, a cancel or another attempt
		return
	}
	f.wasAlive(began)
	if !records(o, a) {
		return
	}
	l.writes++
	s := f.step(a.StepID)
	s.mode, s.wait, s.args = o.mode, o.waits > 0, digestOf(o.args)
	s.allowed = s.allowed || a.Decision == wire.DecisionProceed
	s.denied = s.denied || a.Decision == wire.DecisionDenied
	if a.Decision == wire.DecisionReplay {
		l.settle(f, a.StepID, replayed(a))
	}
	if _, known := f.approvals[a.ApprovalID]; a.ApprovalID != "" && !known {
		f.approvals[a.ApprovalID] = verdict{}
	}
}

// records reports whether an answer promises a record of the step: not one that
// was refused, or that is parked.
func records(o *op, a *wire.Decision) bool {
	switch a.Decision {
	case wire.DecisionProceed, wire.DecisionDenied, wire.DecisionReplay:
		return true
	case wire.DecisionBlocked:
		return a.ApprovalID != "" || o.waits > 0
	case wire.DecisionExecutionBlocked, wire.DecisionRateLimited, wire.DecisionExecutionTerminal, wire.DecisionRecorded:
	}
	return false
}

// replayed is the outcome that a replay tells.
func replayed(a *wire.Decision) outcome {
	if a.Error != nil {
		return outcome{wire.StepFailed, digestOf(a.Error)}
	}
	return outcome{wire.StepSucceeded, digestOf(a.Result)}
}

// settle notes what a step came to, which never changes.
func (l *ledger) settle(f *facts, step string, o outcome) {
	s := f.step(step)
	if s.outcome != nil && *s.outcome != o {
		l.wrongf("execution %s: step %s came to %s, and then to %s", f.id, step, s.outcome, o)
	}
	s.outcome = &o
}

func (o outcome) String() string { return fmt.Sprintf("%s with %x", o.status, o.body[:4]) }

func (e ending) String() string {
	return fmt.Sprintf("%s with output %x and reason %q", e.status, e.output[:4], e.reason)
}

// effect notes that an effect begins.
func (l *ledger) effect(id, step string, d client.Dispatch, mode wire.Idempotency) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(id).step(step)
	switch {
	case mode == wire.AtMostOnce && len(s.effects) > 0:
		l.wrongf("execution %s: the effect of step %s, which is at_most_once, was let begin twice: in %v and in %v", id, step, s.effects, d)
	case s.effects[d] > 0:
		l.wrongf("execution %s: the effect of step %s was let begin twice in %v", id, step, d)
	}
	s.effects[d]++
}

// reports notes what is about to be reported of a step.
func (l *ledger) reports(id, step string, o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(id).step(step)
	s.reported = append(s.reported, o)
}

// reported notes the answer to a report.
func (l *ledger) reported(id, step string, o outcome, a *wire.Decision, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.of(id)
	switch a.Decision {
	case wire.DecisionRecorded:
		l.writes++
		l.steps++
		l.settle(f, step, o)
		f.wasAlive(began)
	case wire.DecisionReplay:
		l.settle(f, step, replayed(a))
	case wire.DecisionExecutionTerminal:
		f.mayEnd = true
	case wire.DecisionProceed, wire.DecisionDenied, wire.DecisionBlocked, wire.DecisionExecutionBlocked, wire.DecisionRateLimited:
		l.wrongf("execution %s: the report of step %s was answered %q", id, step, a.Decision)
	}
}

// ends notes that somebody is about to ask for the end of an execution.
func (l *ledger) ends(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(id).mayEnd = true
}

// ended notes that the end of an execution was acknowledged.
func (l *ledger) ended(id string, e ending, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	f := l.of(id)
	f.wasAlive(began)
	l.finish(f, e)
}

func (l *ledger) finish(f *facts, e ending) {
	if f.end != nil && *f.end != e {
		l.wrongf("execution %s ended as %s, and then as %s", f.id, f.end, e)
	}
	f.end = &e
}

// judged notes that a decision of a person was acknowledged.
func (l *ledger) judged(id, approval string, v verdict, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	f := l.of(id)
	if before := f.approvals[approval]; before.by != "" && before != v {
		l.wrongf("execution %s: approval %s was %s by %s, and then %s by %s", id, approval, before.status, before.by, v.status, v.by)
	}
	f.approvals[approval] = v
	f.wasAlive(began)
}

// signalled notes that a signal was taken.
func (l *ledger) signalled(id, signal string, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	f := l.of(id)
	f.signals[signal] = true
	f.wasAlive(began)
}

// saw notes a read of an execution and its steps, which promises what it shows.
func (l *ledger) saw(x *wire.Execution, steps []wire.Step, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.of(x.ID)
	f.seq = max(f.seq, x.LastEventSeq)
	if x.Status.Terminal() {
		f.mayEnd = true
		l.finish(f, endingOf(x))
	} else {
		f.wasAlive(began)
	}
	for i := range steps {
		o, ok := outcomeOf(&steps[i])
		if !ok {
			continue
		}
		id := steps[i].StepID
		if s := f.step(id); !s.wait && s.mode != "" && !slices.Contains(s.reported, o) && !indeterminate(&steps[i]) {
			l.wrongf("execution %s: step %s came to %s, which nobody reported", f.id, id, o)
		}
		l.settle(f, id, o)
	}
}

func endingOf(x *wire.Execution) ending {
	return ending{status: x.Status, output: digestOf(x.Output), reason: x.FailureReason}
}

// outcomeOf is the outcome in a record; false when it has none that a replay would tell.
func outcomeOf(s *wire.Step) (outcome, bool) {
	switch s.Status {
	case wire.StepSucceeded:
		return outcome{s.Status, digestOf(s.Result)}, true
	case wire.StepFailed:
		return outcome{s.Status, digestOf(s.Error)}, true
	case wire.StepProposed, wire.StepAllowed, wire.StepDenied, wire.StepAwaitingApproval, wire.StepExecuting, wire.StepCancelled:
	}
	return outcome{}, false
}

// indeterminate reports whether the service ended the step, because it cannot
// know whether the effect ran.
func indeterminate(s *wire.Step) bool {
	var reason struct {
		Reason string `json:"reason"`
	}
	return s.Status == wire.StepFailed && json.Unmarshal(s.Error, &reason) == nil && reason.Reason == "indeterminate"
}
