package sim_test

import (
	"slices"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// logged is what one execution's log says, read without the kernel's rules.
type logged struct {
	w          *world
	x          store.Execution
	dispatches map[kernel.DispatchID]int // in order of creation
	newest     kernel.Holder
	steps      map[kernel.StepID]*loggedStep
	unknown    map[kernel.StepID]bool // families of at_most_once steps whose outcome is unknown
	terminal   bool
}

type loggedStep struct {
	mode     kernel.Idempotency
	family   kernel.StepID
	wait     bool
	ended    bool
	started  map[kernel.Holder]int
	outcome  kernel.EventType
	proposed kernel.Instant
}

// slots are the moments at which a bucket was used.
type slots map[string][]kernel.Instant

func (w *world) events(id kernel.ExecutionID) []store.Event {
	l := w.current()
	h, err := l.engine.Header(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("header: %v", err)
	}
	var all []store.Event
	for {
		page, err := l.db.Events(w.t.Context(), h.No, id, int64(len(all)), 1000)
		if err != nil {
			w.t.Fatalf("events: %v", err)
		}
		if all = append(all, page...); len(page) < 1000 {
			return all
		}
	}
}

// check holds what is stored against the history.
func (w *world) check() {
	used := make(slots)
	logs := make(map[kernel.ExecutionID]*logged)
	for _, x := range w.executions() {
		l := &logged{w: w, x: x, dispatches: make(map[kernel.DispatchID]int), steps: make(map[kernel.StepID]*loggedStep), unknown: make(map[kernel.StepID]bool)}
		l.read(used)
		logs[x.ID] = l
		if w.t.Failed() {
			w.dump(x.ID)
		}
	}
	w.checkLimits(used)
	for n, id := range w.h.ids {
		l := logs[id]
		if l == nil {
			w.t.Errorf("execution %s, which was created, is gone", id)
			continue
		}
		x, err := w.current().db.Execution(w.t.Context(), id)
		if err != nil {
			w.t.Fatalf("read: %v", err)
		}
		if string(x.Input) != w.h.inputs[n] {
			w.t.Errorf("%s has input %s, want %s", id, x.Input, w.h.inputs[n])
		}
		w.h.saw(&x)
		steps, err := w.current().db.Steps(w.t.Context(), id)
		if err != nil {
			w.t.Fatalf("read: %v", err)
		}
		w.h.sawSteps(id, steps)
		l.checkSteps(steps)
	}
	w.checkWrites(logs)
	w.checkEffects(logs)
	w.checkPeople()
}

func (l *logged) errorf(e *store.Event, format string, args ...any) {
	l.w.t.Helper()
	l.w.t.Errorf("%s, event %d, %s: "+format, append([]any{l.x.ID, e.Seq, e.Type}, args...)...)
}

// read folds the log with the few rules that no other rule may break.
func (l *logged) read(used slots) {
	all := l.w.events(l.x.ID)
	for i := range all {
		e := &all[i]
		if e.Seq != int64(i+1) {
			l.errorf(e, "comes at place %d", i+1)
		}
		if i > 0 && (e.Pos <= all[i-1].Pos || e.At < all[i-1].At) {
			l.errorf(e, "is before the event that precedes it")
		}
		if l.terminal && e.Type != kernel.TypeDispatchDiscarded {
			l.errorf(e, "comes after the end")
		}
		l.terminal = l.terminal || e.Type.Terminal()
		d, err := kernel.DecodePayload(e.Type, []byte(e.Payload))
		if err != nil {
			l.errorf(e, "payload %s: %v", e.Payload, err)
			continue
		}
		l.event(e, d, used)
		l.w.h.met.add(e.Type.String())
		if q, ok := d.(*kernel.DispatchQueued); ok {
			l.w.h.met.add("queued " + q.Reason)
		}
	}
	if int64(len(all)) != l.x.LastSeq {
		l.w.t.Errorf("%s has %d events, and says %d", l.x.ID, len(all), l.x.LastSeq)
	}
}

func (l *logged) event(e *store.Event, d kernel.Data, used slots) {
	switch d := d.(type) {
	case *kernel.DispatchQueued:
		if _, ok := l.dispatches[d.Dispatch]; !ok {
			l.dispatches[d.Dispatch] = len(l.dispatches)
		}
	case *kernel.DispatchAcked:
		l.by(e, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
	case *kernel.DeliveryFailed:
		holder := kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt}
		l.by(e, holder)
		if d.Error == kernel.ReasonLeaseLapsed {
			l.lapsed(e, holder)
		}
		if d.Error == kernel.ReasonRestarted && !l.w.h.unclean {
			l.errorf(e, "although every stop was a clean one")
		}
	case *kernel.StepProposed:
		l.by(e, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
		if l.steps[d.Step] == nil {
			family := kernel.DeriveStepID(l.x.ID, d.Kind, d.Target, d.ArgsHash, 0)
			l.steps[d.Step] = &loggedStep{
				mode: d.Idempotency, family: family, wait: kernel.ReservedTarget(d.Kind, d.Target), started: make(map[kernel.Holder]int),
			}
		}
		l.steps[d.Step].proposed = e.At
	case *kernel.StepAllowed:
		l.decided(e, d.StepRef, d.Rule, used)
	case *kernel.StepAwaitingApproval:
		l.decided(e, d.StepRef, d.Rule, used)
	case *kernel.StepDenied:
		l.decided(e, d.StepRef, d.Rule, used)
		l.finish(e, d.Step)
	case *kernel.StepExecuting:
		l.executing(e, d.StepRef)
	case *kernel.StepSucceeded:
		l.finish(e, d.Step)
		if !l.steps[d.Step].wait {
			l.by(e, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
		}
	case *kernel.StepFailed:
		l.finish(e, d.Step)
		if s := l.steps[d.Step]; !s.wait {
			l.by(e, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
			if d.Indeterminate {
				l.unknown[s.family] = true
			}
		}
	case *kernel.StepCancelled:
		l.finish(e, d.Step)
	}
}

// by holds an event that an attempt caused against the fence.
func (l *logged) by(e *store.Event, h kernel.Holder) {
	if l.older(h, l.newest) {
		l.errorf(e, "is by attempt %v, after attempt %v", h, l.newest)
	}
	l.newest = h
	if _, ok := l.w.h.deliveries[attemptKey{l.x.ID, h}]; !ok && !l.w.h.unclean {
		l.errorf(e, "is by attempt %v, which was never delivered", h)
	}
}

// older reports whether attempt a is older than b.
func (l *logged) older(a, b kernel.Holder) bool {
	if b.Attempt == 0 {
		return false
	}
	if a.Dispatch == b.Dispatch {
		return a.Attempt < b.Attempt
	}
	return l.dispatches[a.Dispatch] < l.dispatches[b.Dispatch]
}

func (l *logged) decided(e *store.Event, ref kernel.StepRef, rule string, used slots) {
	step := l.steps[ref.Step]
	limit, ok := limits[rule]
	if !ok || step.proposed != e.At || len(step.started) > 0 {
		return
	}
	step.proposed = 0 // a grant at the same moment uses no second slot
	bucket := store.BucketName(limit.scope, l.x.No, l.x.Agent, rule)
	if limit.scope == kernel.PerExecution {
		bucket = l.x.ID.String() + rule
	}
	used[bucket] = append(used[bucket], e.At)
}

func (l *logged) executing(e *store.Event, ref kernel.StepRef) {
	h := kernel.Holder{Dispatch: ref.Dispatch, Attempt: ref.Attempt}
	l.by(e, h)
	step := l.steps[ref.Step]
	if step.ended {
		l.errorf(e, "after the step ended")
	}
	if step.started[h]++; step.started[h] > 1 {
		l.errorf(e, "starts a step twice in one attempt")
	}
	if step.mode == kernel.AtMostOnce && len(step.started) > 1 {
		l.errorf(e, "starts a step twice that is at_most_once")
	}
}

func (l *logged) finish(e *store.Event, id kernel.StepID) {
	step := l.steps[id]
	if step.ended {
		l.errorf(e, "ends a step that has ended")
	}
	step.ended, step.outcome = true, e.Type
}

// lapsed holds a lapse against what the attempt did: it had its whole lease.
func (l *logged) lapsed(e *store.Event, h kernel.Holder) {
	key := attemptKey{l.x.ID, h}
	began := l.w.h.deliveries[key].at
	for i := range l.w.h.writes {
		if wr := &l.w.h.writes[i]; wr.attemptKey == key && wr.began.After(began) && !wr.ended.After(e.At.Time().Local()) {
			began = wr.began
		}
	}
	if lease := l.w.h.deliveries[key].lease; e.At.Time().Sub(began) < lease-time.Millisecond {
		l.errorf(e, "%s after the attempt's last write, which has a lease of %s", e.At.Time().Sub(began), lease)
	}
}

// checkSteps holds the records against the log.
func (l *logged) checkSteps(records []store.Step) {
	seen := make(map[kernel.StepID]bool)
	for i := range records {
		r := &records[i]
		seen[r.ID] = true
		step := l.steps[r.ID]
		if step == nil {
			l.w.t.Errorf("%s: step %s is recorded, and not logged", l.x.ID, r.ID)
			continue
		}
		want := map[kernel.EventType]kernel.StepStatus{
			kernel.TypeStepSucceeded: kernel.StepStatusSucceeded, kernel.TypeStepFailed: kernel.StepStatusFailed,
			kernel.TypeStepDenied: kernel.StepStatusDenied, kernel.TypeStepCancelled: kernel.StepStatusCancelled,
		}[step.outcome]
		if step.ended != r.Status.Terminal() || step.ended && want != r.Status {
			l.w.t.Errorf("%s: step %s is %s, and was logged as %s", l.x.ID, r.ID, r.Status, step.outcome)
		}
	}
	for id, step := range l.steps {
		if (len(step.started) > 0 || step.ended) && !seen[id] {
			l.w.t.Errorf("%s: step %s is logged, and not recorded", l.x.ID, id)
		}
	}
}

// checkWrites finds every accepted write in the log, and none of an attempt
// after a newer one was delivered.
func (w *world) checkWrites(logs map[kernel.ExecutionID]*logged) {
	for i := range w.h.writes {
		wr := &w.h.writes[i]
		l := logs[wr.execution]
		if l == nil {
			w.t.Errorf("%s: a write to an execution that is gone", wr.attemptKey)
			continue
		}
		for key, d := range w.h.deliveries {
			if key.execution == wr.execution && d.at.Before(wr.began) && l.older(wr.holder, key.holder) {
				w.t.Errorf("%s: a %s was accepted at %s, after attempt %v had been delivered", wr.attemptKey, wr.what, wr.began, key.holder)
			}
		}
		step := l.steps[wr.step]
		switch {
		case wr.what != "submit":
		case step == nil && wr.answer.Decision != kernel.ExecutionBlockedDecision:
			w.t.Errorf("%s: a submit was answered %+v, and is not in the log", wr.attemptKey, wr.answer)
		case wr.answer.Decision == kernel.Proceed && step.started[wr.holder] == 0:
			w.t.Errorf("%s: step %s was let go on, and that is not in the log", wr.attemptKey, wr.step)
		case wr.answer.Decision == kernel.Denied && step.outcome != kernel.TypeStepDenied:
			w.t.Errorf("%s: step %s was denied, and logged as %s", wr.attemptKey, wr.step, step.outcome)
		}
	}
}

// checkEffects finds the intent of every effect in the log, and the outcome
// that was acknowledged among those that were reported.
func (w *world) checkEffects(logs map[kernel.ExecutionID]*logged) {
	for key, all := range w.h.effects {
		for _, e := range all {
			if l := logs[key.execution]; l == nil || l.steps[key.step] == nil || l.steps[key.step].started[e.holder] == 0 {
				w.t.Errorf("%s: step %s ran in attempt %v, and its intent is not in the log", key.execution, key.step, e.holder)
			}
		}
	}
	for key, o := range w.h.outcomes {
		step := logs[key.execution].steps[key.step]
		if !step.ended {
			w.t.Errorf("%s: step %s came to %+v, and that is not in the log", key.execution, key.step, o)
		}
		if !step.wait && !slices.Contains(w.h.reported[key], o) && !strings.Contains(o.body, kernel.ReasonIndeterminate) {
			w.t.Errorf("%s: step %s came to %+v, which nobody reported", key.execution, key.step, o)
		}
	}
}

// checkLimits looks at every window that begins with a call.
func (w *world) checkLimits(used slots) {
	for bucket, at := range used {
		slices.Sort(at)
		for rule, limit := range limits {
			if !strings.HasSuffix(bucket, rule) {
				continue
			}
			for i := limit.calls; i < len(at); i++ {
				if at[i].Sub(at[i-limit.calls]) < limit.window {
					w.t.Errorf("bucket %s: %d calls from %s to %s, want at most %d in %s", bucket, limit.calls+1, at[i-limit.calls], at[i], limit.calls, limit.window)
				}
			}
		}
	}
}

// checkPeople finds what people were told was done.
func (w *world) checkPeople() {
	db := w.current().db
	for id, v := range w.h.verdicts {
		a, err := db.Approval(w.t.Context(), id)
		if err != nil || a.Status != v.status || a.DecidedBy != v.by {
			w.t.Errorf("approval %s was %s by %s, and is %s by %s (%v)", id, v.status, v.by, a.Status, a.DecidedBy, err)
		}
	}
	pending, err := db.Approvals(w.t.Context(), store.ApprovalQuery{Status: kernel.ApprovalStatusPending, Limit: 1000})
	if err != nil || len(pending) > 0 {
		w.t.Errorf("%d approvals are pending although all has ended (%v)", len(pending), err)
	}
	for id, s := range w.h.sent {
		found := slices.ContainsFunc(w.events(s.execution), func(e store.Event) bool {
			return e.Type == kernel.TypeSignalReceived && strings.Contains(e.Payload, id.String())
		})
		if !found {
			w.t.Errorf("%s: signal %s (%s) was taken, and is not in the log", s.execution, id, s.key)
		}
	}
}

// end stops the service and checks its file.
func (w *world) end() {
	unclean := w.h.unclean
	w.stop()
	if w.h.unclean != unclean {
		w.t.Error("the last stop was not clean")
	}
	report, err := sqlite.Verify(w.t.Context(), w.path, sqlite.VerifyOptions{})
	if err != nil || !report.OK() {
		w.t.Errorf("verify: %d problems: %v (%v)", report.Found, report.Problems, err)
	}
}
