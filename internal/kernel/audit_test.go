package kernel_test

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// audit holds what must be true after every command, whatever it was. It keeps
// a model of its own, made of the answers and the log, never of the lease.
type audit struct {
	newest   kernel.Holder            // the newest attempt that was claimed
	live     map[kernel.Holder]bool   // claimed, and ended by nothing yet
	started  map[kernel.Holder]string // step.executing by attempt and step
	runs     map[kernel.StepID]int    // step.executing by step
	finished map[kernel.StepID]kernel.Step
	modes    map[kernel.StepID]kernel.Idempotency
	known    map[kernel.EventID]bool
	slots    map[*kernel.Bucket][]kernel.Instant
	shadow   kernel.State // folded from what a reader of the log gets
	settled  *kernel.Lease
}

func newAudit() *audit {
	return &audit{
		live: map[kernel.Holder]bool{}, started: map[kernel.Holder]string{}, runs: map[kernel.StepID]int{},
		finished: map[kernel.StepID]kernel.Step{}, modes: map[kernel.StepID]kernel.Idempotency{},
		known: map[kernel.EventID]bool{}, slots: map[*kernel.Bucket][]kernel.Instant{},
	}
}

func (a *audit) clone() *audit {
	c := *a
	c.live, c.started, c.runs = maps.Clone(a.live), maps.Clone(a.started), maps.Clone(a.runs)
	c.finished, c.modes, c.known, c.slots = maps.Clone(a.finished), maps.Clone(a.modes), maps.Clone(a.known), maps.Clone(a.slots)
	c.shadow = *cloneState(&a.shadow)
	return &c
}

// pure: Decide changes neither the state nor the lease.
func (a *audit) pure(w *world, c kernel.Command, state *kernel.State, lease *kernel.Lease) {
	w.t.Helper()
	if diff := diff(state, &w.state); diff != "" {
		w.t.Fatalf("%T: Decide changed the state (-before +after):\n%s", c, diff)
	}
	if diff := diff(lease, &w.lease); diff != "" {
		w.t.Fatalf("%T: Decide changed the lease (-before +after):\n%s", c, diff)
	}
	a.settled = lease
}

// unsettled: Unsettle takes back what Settle did.
func (a *audit) unsettled(w *world) {
	w.t.Helper()
	if diff := cmp.Diff(a.settled, &w.lease, cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("Unsettle after Settle (-before +after):\n%s", diff)
	}
}

func (a *audit) command(w *world, c kernel.Command, before *kernel.State, lease *kernel.Lease, plan *kernel.Plan, err *kernel.Rejection) {
	w.t.Helper()
	a.refusal(w, c, lease, plan, err)
	a.sequence(w, c, plan)
	a.callers(w, c, before, plan, err)
	a.answer(w, c, plan, err)
	a.events(w, before, plan)
	a.attempts(w, c, lease, plan)
	a.limits(w, c, plan)
	a.state(w, before)
	a.dispatch(w)
}

// refusal: a plan that comes with an error is empty, but for two cases.
func (a *audit) refusal(w *world, c kernel.Command, lease *kernel.Lease, plan *kernel.Plan, err *kernel.Rejection) {
	w.t.Helper()
	if err == nil {
		return
	}
	types := typesOf(plan.Events)
	_, submit := c.(*kernel.SubmitStep)
	_, decide := c.(*kernel.DecideApproval)
	switch {
	case submit && err.Code == kernel.LeaseSuperseded && types == "dispatch.failed dispatch.queued" && lease.Lost():
	case decide && err.Code == kernel.Conflict && err.Status == kernel.ApprovalStatusExpired &&
		types == "approval.expired step.denied execution.resumed dispatch.queued":
	case types != "" || plan.Slot || !reflect.ValueOf(plan.Answer).IsZero() || plan.Lease.Dispatch != lease.Dispatch ||
		plan.Lease.ExpiresAt != lease.ExpiresAt || plan.Lease.Memory != w.lease.Memory:
		w.t.Fatalf("%T was refused (%v) with a plan that does something: %s %+v", c, err, types, plan)
	}
	if err.Message == "" {
		w.t.Fatalf("%T: a refusal (%s) without a message", c, err.Code)
	}
}

// proof may precede what a write of the newest attempt does.
const proof = `(dispatch\.acked( execution\.started)?)?`

// sequences are all that a command may write, in this order and no other.
var sequences = map[string]*regexp.Regexp{
	"CreateExecution": sequence(``, `execution.created dispatch.queued`),
	"ClaimDispatch":   sequence(``),
	"RecordDelivery":  sequence(``, `dispatch.acked`, `dispatch.acked execution.started`, `dispatch.failed`, `dispatch.failed execution.failed`),
	"SubmitStep": written(``, `step.executing`, `step.failed`, `step.proposed step.denied`, `step.proposed step.rate_limited`,
		`step.proposed step.allowed step.executing`, `step.proposed step.awaiting_approval approval.requested execution.blocked`,
		`step.proposed step.allowed step.executing step.succeeded`, `step.proposed step.allowed step.executing execution.blocked`,
		`step.executing step.succeeded`, `step.executing execution.blocked`, `dispatch.failed dispatch.queued`),
	"FinishStep":      written(``, `step.succeeded`, `step.failed`),
	"FinishExecution": written(``, `execution.completed`, `execution.failed`),
	"CancelExecution": regexp.MustCompile(`^(step\.cancelled )*execution\.cancelled( dispatch\.discarded)?$|^$`),
	"DecideApproval": sequence(``, `approval.granted step.allowed execution.resumed dispatch.queued`,
		`approval.denied step.denied execution.resumed dispatch.queued`, `approval.expired step.denied execution.resumed dispatch.queued`),
	"SendSignal":      sequence(``, `signal.received`, `signal.received step.succeeded execution.resumed dispatch.queued`),
	"ExpireWait":      sequence(``, `step.failed execution.resumed dispatch.queued`),
	"Unpark":          sequence(``, `dispatch.queued`),
	"LapseLease":      sequence(``, `dispatch.failed dispatch.queued`, `dispatch.failed execution.failed`),
	"RestartDispatch": sequence(``, `dispatch.failed dispatch.queued`),
	"Heartbeat":       written(``),
	"PublishDelta":    written(``),
}

func sequence(lines ...string) *regexp.Regexp {
	for i := range lines {
		lines[i] = regexp.QuoteMeta(lines[i])
	}
	return regexp.MustCompile(`^(` + strings.Join(lines, "|") + `)$`)
}

func written(lines ...string) *regexp.Regexp {
	for i := range lines {
		lines[i] = regexp.QuoteMeta(lines[i])
	}
	return regexp.MustCompile(`^` + proof + ` ?(` + strings.Join(lines, "|") + `)$`)
}

func typesOf(events []kernel.Event) string {
	names := make([]string, len(events))
	for i := range events {
		names[i] = events[i].Type().String()
	}
	return strings.Join(names, " ")
}

func (a *audit) sequence(w *world, c kernel.Command, plan *kernel.Plan) {
	w.t.Helper()
	name := strings.TrimPrefix(reflect.TypeOf(c).String(), "*kernel.")
	if types := typesOf(plan.Events); !sequences[name].MatchString(types) {
		w.t.Fatalf("%s wrote %q, want %s", name, types, sequences[name])
	}
}

// callerOf is who gives the command, if it is an agent that says so.
func callerOf(c kernel.Command) (kernel.Holder, bool) {
	switch c := c.(type) {
	case *kernel.SubmitStep:
		return c.Caller, true
	case *kernel.FinishStep:
		return c.Caller, true
	case *kernel.FinishExecution:
		return c.Caller, true
	case *kernel.Heartbeat:
		return c.Caller, c.Caller != kernel.Holder{}
	case *kernel.PublishDelta:
		return c.Caller, c.Caller != kernel.Holder{}
	}
	return kernel.Holder{}, false
}

// callers: an attempt that is not the newest one claimed is refused and writes nothing.
func (a *audit) callers(w *world, c kernel.Command, before *kernel.State, plan *kernel.Plan, err *kernel.Rejection) {
	w.t.Helper()
	caller, fenced := callerOf(c)
	if !fenced || before.Status == 0 || caller == a.newest && caller.Attempt > 0 {
		return
	}
	if len(plan.Events) > 0 {
		w.t.Fatalf("%T by %v, which is not the newest attempt %v, wrote %s", c, caller, a.newest, typesOf(plan.Events))
	}
	if _, submit := c.(*kernel.SubmitStep); submit && before.Status.Terminal() {
		return
	}
	if err == nil || err.Code != kernel.LeaseSuperseded {
		w.t.Fatalf("%T by %v, which is not the newest attempt %v: got %v, want lease_superseded", c, caller, a.newest, err)
	}
}

// answer: a decision has what its kind must have.
func (a *audit) answer(w *world, c kernel.Command, plan *kernel.Plan, err *kernel.Rejection) {
	w.t.Helper()
	submit, ok := c.(*kernel.SubmitStep)
	if !ok || err != nil {
		return
	}
	ans := &plan.Answer
	if (ans.Step == kernel.StepID{}) != (ans.Decision == kernel.ExecutionTerminal) {
		w.t.Fatalf("the decision %s has step id %s", ans.Decision, ans.Step)
	}
	step := w.state.Steps[ans.Step]
	good := true
	switch ans.Decision {
	case kernel.Proceed:
		repeat := !submit.Key.IsZero() // then the step may have ended meanwhile
		good = step != nil && (repeat || step.Status == kernel.StepStatusExecuting && step.Dispatch == submit.Caller.Dispatch && step.Attempt == submit.Caller.Attempt)
	case kernel.Replay:
		good = step != nil && (step.Status == kernel.StepStatusFailed && ans.Failed || step.Status == kernel.StepStatusSucceeded && !ans.Failed) &&
			(ans.BodyPos > 0) != (ans.Body != nil)
	case kernel.Denied:
		good = step != nil && step.Status == kernel.StepStatusDenied && ans.Reason != "" && ans.Rule != "" && ans.Reason == step.Reason
	case kernel.BlockedByPolicy:
		good = ans.RetryAfter >= 0 && (ans.RetryAfter == 0 || ans.Approval.IsZero())
	case kernel.RateLimited:
		good = ans.Reason == kernel.ReasonRateLimited && ans.Rule != "" && ans.RetryAfter > 0
	case kernel.ExecutionBlockedDecision, kernel.ExecutionTerminal:
	default:
		good = false
	}
	if !good {
		w.t.Fatalf("the decision is %+v for step %+v", ans, step)
	}
}

// events: sequence numbers have no gap, ids grow, causes exist, what is
// recorded of a step can be read back, and the chain is the documented one.
func (a *audit) events(w *world, before *kernel.State, plan *kernel.Plan) {
	w.t.Helper()
	for i := range plan.Events {
		e := &plan.Events[i]
		if want := before.LastSeq + int64(i) + 1; e.Seq != want {
			w.t.Fatalf("%s has event_seq %d, want %d", e.Type(), e.Seq, want)
		}
		if a.known[e.ID] || i > 0 && string(e.ID.UUID[:]) <= string(plan.Events[i-1].ID.UUID[:]) {
			w.t.Fatalf("%s has id %s, which does not come after the one before", e.Type(), e.ID)
		}
		if !e.Cause.IsZero() && !a.known[e.Cause] {
			w.t.Fatalf("%s was caused by %s, which is no event", e.Type(), e.Cause)
		}
		if i > 0 && e.Cause.IsZero() {
			w.t.Fatalf("%s follows %s and has no cause", e.Type(), plan.Events[0].Type())
		}
		a.known[e.ID] = true
		if (e.Body == nil) != e.Digest.IsZero() || e.Body != nil && kernel.Sum(e.Body) != e.Digest {
			w.t.Fatalf("%s: digest %s of body %s", e.Type(), e.Digest, e.Body)
		}
		a.step(w, e)
		a.read(w, e)
	}
	if diff := diff(&w.state, &a.shadow); diff != "" {
		w.t.Fatalf("state folded from the log as it is read back (-live +read):\n%s", diff)
	}
}

// read folds the event as a reader of the log gets it: decoded, without its
// body, chained by the formula of the documentation.
func (a *audit) read(w *world, e *kernel.Event) {
	w.t.Helper()
	record := w.log[e.Seq-1]
	data, err := kernel.DecodePayload(e.Type(), []byte(record.Payload))
	if err != nil {
		w.t.Fatalf("decode %s %s: %v", e.Type(), record.Payload, err)
	}
	if diff := cmp.Diff(e.Data, data); diff != "" {
		w.t.Fatalf("decode(encode(%s)) (-written +read):\n%s", e.Type(), diff)
	}
	copied := *e
	copied.Data, copied.Body = data, nil
	a.shadow.Head = documentedHash(a.shadow.Head, w.state.ID, &copied, record.Payload)
	a.shadow.Fold(&copied)
}

// documentedHash is the chain as its documentation describes it, written anew.
func documentedHash(prev kernel.Digest, execution kernel.ExecutionID, e *kernel.Event, payload string) kernel.Digest {
	h := sha256.New()
	number := func(n uint64) { _ = binary.Write(h, binary.BigEndian, n) }
	h.Write(prev[:])
	h.Write(execution.UUID[:])
	number(uint64(e.Seq))
	h.Write(e.ID.UUID[:])
	h.Write(e.Cause.UUID[:])
	number(uint64(e.At))
	number(kernel.SchemaVersion)
	h.Write([]byte{byte(len(e.Type().String()))})
	h.Write([]byte(e.Type().String()))
	h.Write(e.Ruled[:])
	h.Write(e.Digest[:])
	h.Write([]byte(payload))
	return kernel.Digest(h.Sum(nil))
}

// step: no at_most_once step starts twice, nothing starts twice in one attempt,
// and an unknown outcome is remembered.
func (a *audit) step(w *world, e *kernel.Event) {
	w.t.Helper()
	switch d := e.Data.(type) {
	case *kernel.StepProposed:
		a.modes[d.Step] = d.Idempotency
	case *kernel.StepExecuting:
		if a.runs[d.Step]++; a.runs[d.Step] > 1 && a.modes[d.Step] != kernel.SafeToRetry {
			w.t.Fatalf("%s step %s started %d times", a.modes[d.Step], d.Step, a.runs[d.Step])
		}
		by := kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt}
		if strings.Contains(a.started[by], d.Step.String()) {
			w.t.Fatalf("step %s started twice in attempt %v", d.Step, by)
		}
		a.started[by] += d.Step.String() + " "
	case *kernel.StepFailed:
		if step := w.state.Steps[d.Step]; step.Indeterminate != d.Indeterminate {
			w.t.Fatalf("%+v folded to %+v", d, step)
		}
	}
}

// attempts: one at a time.
func (a *audit) attempts(w *world, cmd kernel.Command, lease *kernel.Lease, plan *kernel.Plan) {
	w.t.Helper()
	for i := range plan.Events {
		switch d := plan.Events[i].Data.(type) {
		case *kernel.DeliveryFailed:
			delete(a.live, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
		case *kernel.ExecutionBlocked, *kernel.ExecutionCompleted, *kernel.ExecutionFailed, *kernel.ExecutionCancelled:
			clear(a.live)
		case *kernel.StepRateLimited:
			if d.Parked {
				clear(a.live)
			}
		case *kernel.DeliveryDiscarded:
			a.newest = kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt}
		}
	}
	if c := plan.Answer.Claimed; c != nil {
		claim, ok := cmd.(*kernel.ClaimDispatch)
		if !ok || claim.Dispatch != c.Attempt.Dispatch || lease.NotBefore > claim.At || !lease.Status.Waiting() {
			w.t.Fatalf("%+v claimed %v of %+v", cmd, c.Attempt, lease)
		}
		if len(a.live) > 0 {
			w.t.Fatalf("%v was claimed while %v is live", c.Attempt, a.live)
		}
		if c.Attempt.Dispatch == a.newest.Dispatch && c.Attempt.Attempt <= a.newest.Attempt || c.Attempt.Attempt < 1 {
			w.t.Fatalf("%v was claimed after %v", c.Attempt, a.newest)
		}
		a.newest, a.live[c.Attempt] = c.Attempt, true
	}
	if w.lease.Live() != (len(a.live) == 1) || w.lease.Live() && !a.live[w.lease.Holder] {
		w.t.Fatalf("the lease says live = %v, holder %v; the log says %v", w.lease.Live(), w.lease.Holder, a.live)
	}
}

// limits: at most MaxCalls in any window.
func (a *audit) limits(w *world, c kernel.Command, plan *kernel.Plan) {
	w.t.Helper()
	submit, ok := c.(*kernel.SubmitStep)
	if !ok || !plan.Slot {
		return
	}
	limit, times := submit.Ruling.Limit, append(a.slots[submit.Bucket], submit.At)
	slices.Sort(times)
	a.slots[submit.Bucket] = times
	for i := limit.MaxCalls; i < len(times); i++ {
		if first, last := times[i-limit.MaxCalls], times[i]; last.Sub(first) < limit.Window {
			w.t.Fatalf("%d calls within %s, which is less than %s: %v", limit.MaxCalls+1, last.Sub(first), limit.Window, times)
		}
	}
}

// state: what ended stays, and a block has something to wait for.
func (a *audit) state(w *world, before *kernel.State) {
	w.t.Helper()
	s := &w.state
	if before.Status.Terminal() && s.LastSeq != before.LastSeq {
		w.t.Fatalf("a %s execution got %s", before.Status, w.log[len(w.log)-1].Event.Type())
	}
	for id, was := range a.finished {
		if is := s.Steps[id]; is == nil || !reflect.DeepEqual(*is, was) {
			w.t.Fatalf("the finished step %s changed: %s", id, cmp.Diff(&was, is))
		}
	}
	awaiting, waiting, tokens := 0, 0, int64(0)
	for id, step := range s.Steps {
		if step.Usage != nil {
			tokens += step.Usage.InputTokens + step.Usage.OutputTokens
		}
		switch {
		case step.Status.Terminal():
			a.finished[id] = *clonePtr(step)
		case step.Status == kernel.StepStatusAwaitingApproval:
			awaiting++
		case step.Wait:
			waiting++
		case step.Status == kernel.StepStatusProposed:
			w.t.Fatalf("step %s rests undecided", id)
		}
	}
	if tokens != s.Tokens {
		w.t.Fatalf("the steps used %d tokens, the state says %d", tokens, s.Tokens)
	}
	blocked := s.Status == kernel.StatusBlocked
	if blocked != (s.Block != nil) {
		w.t.Fatalf("status %s with block %+v", s.Status, s.Block)
	}
	if s.Status.Terminal() {
		return
	}
	onApproval := s.Block.Waits() == kernel.BlockedOnApproval
	onSignal := s.Block.Waits() == kernel.BlockedOnSignal
	if (awaiting == 1) != onApproval || (waiting == 1) != onSignal || awaiting > 1 || waiting > 1 {
		w.t.Fatalf("%d steps await approval and %d a signal, the block is %+v", awaiting, waiting, s.Block)
	}
	if onApproval && (s.Steps[s.Block.Step].Approval != s.Block.Approval || w.approval(s.Block.Approval).Status != kernel.ApprovalStatusPending) {
		w.t.Fatalf("blocked on an approval that nobody can give: %+v", s.Block)
	}
	for i := range s.Signals {
		if onSignal && s.Signals[i].Type == s.Block.Signal {
			w.t.Fatalf("blocked on signal %q, which has come", s.Block.Signal)
		}
	}
}

// dispatch: nothing is ever stuck, and nothing runs that should not.
func (a *audit) dispatch(w *world) {
	w.t.Helper()
	s, l := &w.state, &w.lease
	if s.Status == 0 {
		return
	}
	if s.Park != nil && (s.Status != kernel.StatusRunning || s.Steps[s.Park.Step] != nil) {
		w.t.Fatalf("parked while %s, step %+v", s.Status, s.Steps[s.Park.Step])
	}
	if l.Memory != nil && l.Status.Waiting() {
		w.t.Fatalf("a dispatch that is %s remembers submits", l.Status)
	}
	moving := l.Status.Waiting() || l.Live()
	if held := s.Status.Terminal() || s.Block != nil || s.Park != nil; held == moving {
		w.t.Fatalf("a %s execution (block %+v, park %+v) has a dispatch that is %s", s.Status, s.Block, s.Park, l.Status)
	}
}

// diff is cmp.Diff, and quick when there is none.
func diff[T any](x, y T) string {
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return cmp.Diff(x, y)
}
