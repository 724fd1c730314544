package timer_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// precision is how late a timer may be.
const precision = time.Second

// kinds are the timers. Each sets one that falls due after term, and says what
// that writes.
var kinds = map[string]struct {
	set  func(w *world) *run
	want []kernel.EventType
}{
	"approval": {
		set: func(w *world) *run {
			r := w.begin(0)
			r.submit("ask", `{}`, kernel.BlockedByPolicy)
			return r
		},
		want: []kernel.EventType{kernel.TypeApprovalExpired, kernel.TypeStepDenied, kernel.TypeExecutionResumed, kernel.TypeDispatchQueued},
	},
	"wait": {
		set: func(w *world) *run {
			r := w.begin(0)
			r.wait(term)
			return r
		},
		want: []kernel.EventType{kernel.TypeStepFailed, kernel.TypeExecutionResumed, kernel.TypeDispatchQueued},
	},
	"deadline": {
		set: func(w *world) *run {
			r := w.begin(term)
			r.wait(0)
			return r
		},
		want: []kernel.EventType{kernel.TypeStepCancelled, kernel.TypeExecutionCancelled},
	},
	"deadline of one that never started": {
		set:  func(w *world) *run { return w.create(term) },
		want: []kernel.EventType{kernel.TypeExecutionCancelled, kernel.TypeDispatchDiscarded},
	},
	"parked step": {
		set: func(w *world) *run {
			r := w.begin(0)
			r.submit("slow", `{"n":1}`, kernel.Proceed)
			r.submit("slow", `{"n":2}`, kernel.BlockedByPolicy)
			return r
		},
		want: []kernel.EventType{kernel.TypeDispatchQueued},
	},
	"lease": {
		set:  func(w *world) *run { return w.begin(0) },
		want: lapsed,
	},
}

var lapsed = []kernel.EventType{kernel.TypeDispatchFailed, kernel.TypeDispatchQueued}

// outages are what may happen between setting the timers and their moment.
var outages = map[string]struct {
	end        func(w *world) // nil: nothing
	left, away time.Duration  // how long before the moment it happens, for how long
	renewed    bool           // an attempt in flight has its whole lease again
}{
	"none":                      {},
	"stopped, back in time":     {end: (*world).stop, left: 20 * time.Second, away: 15 * time.Second},
	"stopped, back too late":    {end: (*world).stop, left: 20 * time.Second, away: time.Hour},
	"stopped just before it":    {end: (*world).stop, left: 100 * time.Millisecond, away: 50 * time.Millisecond},
	"killed, back in time":      {end: (*world).kill, left: 20 * time.Second, away: 15 * time.Second, renewed: true},
	"killed, back too late":     {end: (*world).kill, left: 20 * time.Second, away: time.Hour, renewed: true},
	"killed for a second at it": {end: (*world).kill, left: 500 * time.Millisecond, away: time.Second, renewed: true},
}

// TestFires sets a timer of each kind and holds what it writes to its moment.
func TestFires(t *testing.T) {
	t.Parallel()
	for outage, o := range outages {
		t.Run(outage, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.start()
				runs, before := make(map[string]*run), make(map[string]int)
				for kind, k := range kinds {
					runs[kind] = k.set(w)
					before[kind] = len(w.news(runs[kind].id, 0))
				}
				due := time.Now().Add(term)
				lease := due
				if o.end != nil {
					after(term - o.left)
					o.end(w)
					after(o.away)
					w.start()
					if lease = due.Add(o.away); o.renewed { // while it was away, nobody could renew
						lease = time.Now().Add(term)
					}
					if now := time.Now(); now.After(due) {
						due = now // what passed in the outage is noticed at the start
					}
				}
				after(2 * term)
				for kind, k := range kinds {
					got, moment := w.news(runs[kind].id, before[kind]), due
					if kind == "lease" {
						moment = lease
					}
					if diff := cmp.Diff(k.want, types(got)); diff != "" {
						t.Errorf("%s: written (-want +got):\n%s", kind, diff)
					}
					for _, e := range got {
						if late := e.At.Time().Sub(moment); late < 0 || late > precision {
							t.Errorf("%s: %v is of %s after its moment, want at most %s", kind, e.Type(), late, precision)
						}
					}
				}
			})
		})
	}
}

// TestManyAtOnce lets more leases and more deadlines than one look takes fall
// due together.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.start()
		runs := make([]*run, 300)
		for i := range runs {
			runs[i] = w.create(2 * term).claim()
		}
		after(term + precision)
		for _, r := range runs {
			if diff := cmp.Diff(lapsed, types(w.news(r.id, 2))); diff != "" {
				t.Fatalf("after the lease (-want +got):\n%s", diff)
			}
		}
		after(term)
		for _, r := range runs {
			if diff := cmp.Diff([]kernel.EventType{kernel.TypeExecutionCancelled, kernel.TypeDispatchDiscarded}, types(w.news(r.id, 4))); diff != "" {
				t.Fatalf("after the deadline (-want +got):\n%s", diff)
			}
		}
	})
}

// TestNothingFires lets the cause of each timer go away first.
func TestNothingFires(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world) *run{
		"an approval that was granted": func(w *world) *run {
			r := w.begin(0)
			a := r.submit("ask", `{}`, kernel.BlockedByPolicy)
			r.must(w.engine.Decide(w.Context(), a.Approval, kernel.ApprovalStatusGranted, "alice", ""))
			return r
		},
		"a wait whose signal came": func(w *world) *run {
			r := w.begin(0)
			r.wait(term)
			_, err := w.engine.Signal(w.Context(), r.id, "go", []byte(`1`), "")
			r.must(err)
			return r
		},
		"a deadline and a lease of what completed": func(w *world) *run {
			r := w.begin(term)
			r.must(w.engine.Complete(w.Context(), r.id, r.holder, []byte(`1`)))
			return r
		},
		"a slot of what was cancelled": func(w *world) *run {
			r := kinds["parked step"].set(w)
			r.must(w.engine.Cancel(w.Context(), r.id))
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.start()
				r := end(w)
				before := len(w.news(r.id, 0))
				after(2 * term)
				if got := w.news(r.id, before); len(got) > 0 {
					t.Errorf("%v came of nothing", types(got))
				}
			})
		})
	}
}

// TestLeaseIsKept renews a lease by each kind of write until long after its end.
func TestLeaseIsKept(t *testing.T) {
	t.Parallel()
	for name, renew := range map[string]func(r *run, n int){
		"heartbeats": func(r *run, _ int) { r.heartbeat() },
		"heartbeats of whoever holds it": func(r *run, _ int) {
			r.must(r.w.engine.Heartbeat(r.w.Context(), r.id, kernel.Holder{}))
		},
		"submits":        func(r *run, n int) { r.submit("act", string(rune('0'+n)), kernel.Proceed) },
		"the same again": func(r *run, _ int) { r.submit("act", `{}`, kernel.Proceed) },
		"results": func(r *run, n int) {
			if a := r.submit("act", string(rune('0'+n)), kernel.Proceed); n%2 == 0 {
				_, err := r.w.engine.FinishStep(r.w.Context(), r.id, r.holder, a.Step, true, []byte(`1`))
				r.must(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.start()
				r := w.begin(0)
				for n := range 8 {
					after(term - time.Millisecond)
					renew(r, n)
				}
				last, before := time.Now(), len(w.news(r.id, 0))
				for _, e := range w.news(r.id, 0) {
					if e.Type() == kernel.TypeDispatchFailed {
						t.Fatalf("the lease lapsed at %s although it was renewed", e.At)
					}
				}
				after(term - time.Millisecond)
				if early := w.news(r.id, before); len(early) > 0 {
					t.Fatalf("%v came before the lease was over", types(early))
				}
				after(precision)
				got := w.news(r.id, before)
				if diff := cmp.Diff(lapsed, types(got)); diff != "" {
					t.Fatalf("after the lease (-want +got):\n%s", diff)
				}
				if late := got[0].At.Time().Sub(last.Add(term)); late > precision {
					t.Errorf("the lapse was noticed %s late", late)
				}
			})
		})
	}
}
