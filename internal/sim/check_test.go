package sim_test

import (
	"cmp"
	"database/sql"
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
	gone       map[kernel.Holder]kernel.Instant // attempts that were given up on, and when
	acked      map[kernel.Holder]kernel.Instant
	unknown    map[kernel.StepID]bool // families of at_most_once steps whose outcome is unknown
	retryAt    kernel.Instant         // of the step that was parked last
	timeoutAt  kernel.Instant         // of what the execution was blocked on last
	terminal   bool
	ended      kernel.Instant
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

// slots are what the log tells of each bucket of a rate limit.
type slots map[string]*bucketLog

type bucketLog struct {
	rule          string
	used, refused []slotUse
}

type slotUse struct {
	pos int64
	at  kernel.Instant
}

// of is the log of the bucket that counts for a rule in an execution.
func (s slots) of(x *store.Execution, rule string) *bucketLog {
	name := store.BucketName(limits[rule].scope, x.No, x.Agent, rule)
	if limits[rule].scope == kernel.PerExecution {
		name = x.ID.String() + rule
	}
	if s[name] == nil {
		s[name] = &bucketLog{rule: rule}
	}
	return s[name]
}

func (w *world) events(id kernel.ExecutionID) []store.Event {
	l := w.current()
	h, err := l.engine.Header(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("header: %v", err)
	}
	var all []store.Event
	for {
		page, err := l.db.Events(w.t.Context(), h.No, id, int64(len(all)), 1000, nil)
		if err != nil {
			w.t.Fatalf("events: %v", err)
		}
		if all = append(all, page...); len(page) < 1000 {
			return all
		}
	}
}

// place is where the file has an event: in the order of all commits, and in its log.
type place struct{ pos, seq int64 }

// readPlaces takes them from the rows themselves: reads count, and show no positions.
func (w *world) readPlaces() {
	db, err := sql.Open("sqlite", "file:"+w.path+"?mode=ro")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(w.t.Context(), "SELECT id,pos,seq FROM events")
	if err != nil {
		w.t.Fatalf("places: %v", err)
	}
	defer func() { _ = rows.Close() }()
	w.places = make(map[kernel.EventID]place)
	for rows.Next() {
		var id []byte
		var p place
		if err := rows.Scan(&id, &p.pos, &p.seq); err != nil {
			w.t.Fatalf("places: %v", err)
		}
		w.places[kernel.EventID{UUID: kernel.UUID(id)}] = p
	}
	if err := rows.Err(); err != nil {
		w.t.Fatalf("places: %v", err)
	}
}

// check holds what is stored against the history.
func (w *world) check() {
	w.readPlaces()
	used := make(slots)
	logs := make(map[kernel.ExecutionID]*logged)
	for _, x := range w.executions() {
		l := &logged{w: w, x: x, dispatches: make(map[kernel.DispatchID]int), steps: make(map[kernel.StepID]*loggedStep), unknown: make(map[kernel.StepID]bool), gone: make(map[kernel.Holder]kernel.Instant), acked: make(map[kernel.Holder]kernel.Instant)}
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
		if e.Seq != int64(i+1) || l.w.places[e.ID].seq != e.Seq {
			l.errorf(e, "comes at place %d", i+1)
		}
		if i > 0 && (l.w.places[e.ID].pos <= l.w.places[all[i-1].ID].pos || e.At < all[i-1].At) {
			l.errorf(e, "is before the event that precedes it")
		}
		if l.terminal && e.Type != kernel.TypeDispatchDiscarded {
			l.errorf(e, "comes after the end")
		}
		if e.Type.Terminal() {
			l.terminal, l.ended = true, e.At
		}
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
		l.leaves(e, d.Dispatch)
		if d.Reason == kernel.ReasonRateLimit {
			l.noticed(e, l.retryAt)
		}
	case *kernel.DispatchAcked:
		l.acked[kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt}] = e.At
		l.by(e, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
	case *kernel.DeliveryFailed:
		holder := kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt}
		l.by(e, holder)
		l.gone[holder] = e.At
		if d.Error == kernel.ReasonLeaseLapsed {
			l.lapsed(e, holder)
		}
		if d.Error == kernel.ReasonRestarted {
			l.restarted(e, holder)
		}
	case *kernel.StepProposed:
		l.begins(e, kernel.Holder{Dispatch: d.Dispatch, Attempt: d.Attempt})
		if before := kernel.DeriveStepID(l.x.ID, d.Kind, d.Target, d.ArgsHash, max(1, d.Occurrence)-1); d.Occurrence > 0 && l.steps[before] == nil {
			l.errorf(e, "is occurrence %d, and there is none before it", d.Occurrence)
		}
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
	case *kernel.StepRateLimited:
		b := used.of(&l.x, d.Rule)
		b.refused = append(b.refused, slotUse{l.w.places[e.ID].pos, e.At})
		l.retryAt = d.RetryAt
	case *kernel.ApprovalRequested:
		l.timeoutAt = d.TimeoutAt
	case *kernel.ApprovalExpired:
		l.noticed(e, l.timeoutAt)
	case *kernel.ExecutionBlocked:
		if d.Reason == kernel.BlockedOnSignal {
			l.timeoutAt = d.TimeoutAt
		}
	case *kernel.ExecutionResumed:
		if d.Reason == kernel.ReasonWaitTimedOut {
			l.noticed(e, l.timeoutAt)
		}
	case *kernel.ExecutionCancelled:
		if d.Reason == kernel.ReasonDeadline {
			l.noticed(e, l.x.Deadline)
		}
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

// begins holds the start of something against the fence: an attempt that was
// given up on may only report.
func (l *logged) begins(e *store.Event, h kernel.Holder) {
	l.by(e, h)
	if at, gone := l.gone[h]; gone {
		l.errorf(e, "is by attempt %v, which was given up on at %s", h, at)
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
	if _, ok := limits[rule]; !ok || step.proposed != e.At || len(step.started) > 0 {
		return
	}
	step.proposed = 0 // a grant at the same moment uses no second slot
	b := used.of(&l.x, rule)
	b.used = append(b.used, slotUse{l.w.places[e.ID].pos, e.At})
}

func (l *logged) executing(e *store.Event, ref kernel.StepRef) {
	h := kernel.Holder{Dispatch: ref.Dispatch, Attempt: ref.Attempt}
	l.begins(e, h)
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
	lease, took := l.w.h.deliveries[key].lease, e.At.Time().Sub(began)
	if took < lease-time.Millisecond {
		l.errorf(e, "%s after the attempt's last write, which has a lease of %s", took, lease)
	}
	for _, t := range l.w.h.tried[key] { // of which the attempt heard nothing, perhaps
		if t.ended.After(began) && !t.ended.Add(lease).After(e.At.Time().Add(time.Microsecond)) {
			began = t.ended
		}
	}
	l.noticed(e, kernel.At(began).Add(lease))
	// An attempt whose webhook a crash cut off is replaced at the start, and not
	// when its lease lapses; unless it had left memory before.
	if d := l.w.h.deliveries[key]; l.acked[h].IsZero() && l.w.shape.resident == 0 && !d.at.IsZero() && l.w.h.crashedWith(d.at, e.At.Time()) {
		l.errorf(e, "although the service crashed while attempt %v was delivered", h)
	}
}

// restarted holds the replacement of an attempt against the ends of the service:
// only an unclean one costs an attempt what it remembers.
func (l *logged) restarted(e *store.Event, h kernel.Holder) {
	d, ok := l.w.h.deliveries[attemptKey{l.x.ID, h}]
	if ok && !l.w.h.crashedBetween(d.at, e.At.Time()) || !ok && !l.w.h.unclean {
		l.errorf(e, "although attempt %v lived through clean stops only", h)
	}
}

// noticed holds what fell due against the second in which a service that
// nothing befell notices it.
func (l *logged) noticed(e *store.Event, due kernel.Instant) {
	switch {
	case due.IsZero():
	case e.At < due-1:
		l.errorf(e, "is not due before %s", due)
	case l.w.shape.steady() && e.At > due.Add(time.Second):
		l.errorf(e, "was due at %s", due)
	}
}

// leaves expects the delivery of what was queued without delay.
func (l *logged) leaves(e *store.Event, id kernel.DispatchID) {
	s := &l.w.shape
	if !s.steady() || s.slow > 0 || s.linger > 0 || s.undelivered > 0 {
		return
	}
	first := time.Time{}
	for key, d := range l.w.h.deliveries {
		if key.holder.Dispatch == id && !d.at.Before(e.At.Time()) && (first.IsZero() || d.at.Before(first)) {
			first = d.at
		}
	}
	if first.Sub(e.At.Time()) > 10*time.Millisecond || first.IsZero() && !l.x.Status.Terminal() {
		l.errorf(e, "was delivered at %s", first)
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
		// An outcome is welcome late, and a submit may be asked again by an attempt
		// that was released.
		if by := w.h.leasedUntil(wr, l.acked[wr.holder]); (wr.what == "finish" || wr.what == "heartbeat") && wr.began.After(by) && !l.over(wr.began) {
			w.t.Errorf("%s: a %s was accepted at %s, and the lease lapsed at %s at the latest", wr.attemptKey, wr.what, wr.began, by)
		}
		if at, gone := l.gone[wr.holder]; gone && wr.what != "outcome" && at.Time().Before(wr.began) {
			w.t.Errorf("%s: a %s was accepted at %s, after the attempt was given up on at %s", wr.attemptKey, wr.what, wr.began, at)
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

// over reports whether the execution had ended: its last words may be repeated.
func (l *logged) over(at time.Time) bool { return l.terminal && !l.ended.Time().After(at) }

// leasedUntil is the latest that the lease of an attempt can have lasted before
// a write: since its delivery or the ack of that, its last call or the start of
// the service.
func (h *history) leasedUntil(wr *write, acked kernel.Instant) time.Time {
	last := h.deliveries[wr.attemptKey].at
	if at := acked.Time(); !acked.IsZero() && at.After(last) {
		last = at
	}
	for _, t := range h.tried[wr.attemptKey] {
		if t.began.Before(wr.began) && t.ended.After(last) {
			last = t.ended
		}
	}
	for _, life := range h.lives {
		if life.from.Before(wr.began) && life.from.After(last) {
			last = life.from
		}
	}
	return last.Add(wr.lease)
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

// checkLimits looks at every window that ends with a call, and at every refusal.
func (w *world) checkLimits(buckets slots) {
	for name, b := range buckets {
		limit := limits[b.rule]
		slices.SortFunc(b.used, func(a, b slotUse) int { return cmp.Compare(a.pos, b.pos) })
		for i := limit.calls; i < len(b.used); i++ {
			if from, to := b.used[i-limit.calls].at, b.used[i].at; to.Sub(from) < limit.window {
				w.t.Errorf("bucket %s: %d calls from %s to %s, want at most %d in %s", name, limit.calls+1, from, to, limit.calls, limit.window)
			}
		}
		for _, refusal := range b.refused {
			n := 0
			for _, u := range b.used {
				if u.pos < refusal.pos && refusal.at.Sub(u.at) < limit.window {
					n++
				}
			}
			if n < limit.calls {
				w.t.Errorf("bucket %s: a call was refused at %s after %d calls in %s, want %d", name, refusal.at, n, limit.window, limit.calls)
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
