package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// testDueDispatches pages through what waits to be claimed, soonest first.
func testDueDispatches(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	var want []*model
	for i := range 9 { // three at each of three moments, the later ones first
		w.advance(-time.Duration(i/3) * time.Second)
		want = append(want, w.create(creation{}))
	}
	failed := w.create(creation{}) // waits out its backoff
	w.do(failed, &kernel.RecordDelivery{Attempt: w.claim(failed), Error: "refused", MaxAttempts: maxAttempts, Jitter: 0.999})
	w.start(w.create(creation{})) // waits for nothing
	want = append(want, failed)
	slices.SortStableFunc(want, func(a, b *model) int { return int(a.lease.NotBefore - b.lease.NotBefore) })
	for _, limit := range []int{1, 2, 4, 100} {
		var got []kernel.ExecutionID
		var place store.QueuePlace
		for {
			page, err := w.store.DueDispatches(context.Background(), place, limit)
			if err != nil {
				t.Fatalf("DueDispatches: %v", err)
			}
			for _, due := range page {
				got = append(got, due.Execution)
				place = store.QueuePlace{NotBefore: due.NotBefore, No: due.No}
			}
			if len(page) < limit {
				break
			}
		}
		if ids := idsOf(want); !slices.Equal(got, ids) {
			t.Errorf("DueDispatches in pages of %d:\n got %v\nwant %v", limit, got, ids)
		}
	}
	w.check()
}

func idsOf(models []*model) []kernel.ExecutionID {
	ids := make([]kernel.ExecutionID, len(models))
	for i, m := range models {
		ids[i] = m.id
	}
	return ids
}

// testInFlight tells of attempts in flight what the rows know: when their
// leases end, and whether their memory outlived the process.
func testInFlight(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.running(5)
	w.create(creation{})
	flying := func(limit int) []store.InFlight {
		t.Helper()
		var all []store.InFlight
		after := int64(0)
		for {
			page, err := w.store.InFlight(context.Background(), after, limit)
			if err != nil {
				t.Fatalf("InFlight: %v", err)
			}
			all = append(all, page...)
			if len(page) < limit {
				return all
			}
			after = page[len(page)-1].No
		}
	}
	for _, limit := range []int{1, 2, 10} {
		var ids []kernel.ExecutionID
		for _, f := range flying(limit) {
			ids = append(ids, f.Execution)
			if f.Stored || !f.Acked {
				t.Errorf("InFlight: %+v; want it acked, and its memory here", f)
			}
		}
		if !slices.Equal(ids, idsOf(m)) {
			t.Errorf("InFlight in pages of %d: %v, want %v", limit, ids, idsOf(m))
		}
	}
	w.advance(time.Minute)
	for _, x := range m {
		w.do(x, &kernel.Heartbeat{Caller: x.lease.Holder})
	}
	stopped := kernel.At(time.Now())
	w.restart()
	for i, f := range flying(10) {
		end := m[i].lease.ExpiresAt
		late := kernel.At(time.Now()).Sub(stopped)
		if !f.Stored || f.ExpiresAt < end || f.ExpiresAt > end.Add(late) {
			t.Errorf("InFlight after a restart: %+v; want it stored, to end at %s or up to %s later", f, end, late)
		}
	}
	w.submit(m[0], submission{caller: m[0].lease.Holder}) // is held in memory again
	w.kill()
	for i, f := range flying(10) {
		if f.Stored != (i > 0) {
			t.Errorf("InFlight after a kill: attempt %d is stored: %t", i, f.Stored)
		}
	}
	w.check()
}

// testTimers lists what is due, soonest first, and when the next thing is.
func testTimers(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.resting()
	var all []store.Timer
	for _, m := range w.models {
		all = append(all, m.timers(w)...)
	}
	slices.SortFunc(all, func(a, b store.Timer) int { return int(a.At - b.At) })
	kinds := map[store.TimerKind]bool{}
	for i, timer := range all {
		kinds[timer.Kind] = true
		due, next, err := w.store.Timers(context.Background(), timer.At, len(all))
		if err != nil {
			t.Fatalf("Timers: %v", err)
		}
		later := slices.IndexFunc(all, func(o store.Timer) bool { return o.At > timer.At })
		var want kernel.Instant
		if later < 0 {
			later = len(all)
		} else {
			want = all[later].At
		}
		if len(due) != later || next != want {
			t.Errorf("Timers(%s): %d due, next at %s; want %d, %s", timer.At, len(due), next, later, want)
		}
		if !slices.IsSortedFunc(due, func(a, b store.Timer) int { return int(a.At - b.At) }) {
			t.Errorf("Timers(%s) are in no order: %v", timer.At, due)
		}
		due, _, err = w.store.Timers(context.Background(), timer.At-1, len(all))
		if err != nil || len(due) > i {
			t.Errorf("Timers(just before %s): %d due, %v; want at most %d", timer.At, len(due), err, i)
		}
		due, _, err = w.store.Timers(context.Background(), all[len(all)-1].At, i+1)
		if err != nil || len(due) != i+1 || due[0].At != all[0].At {
			t.Errorf("Timers(limit %d): %v, %v", i+1, due, err)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("kinds of timer: %v, want all four", kinds)
	}
}
