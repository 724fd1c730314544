package timer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// diskFull is SQLite's error for it.
type diskFull struct{}

func (diskFull) Error() string { return "the disk is full" }
func (diskFull) Code() int     { return 13 }

// TestFullDisk lets everything fall due while nothing can be written.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.start()
		runs, before := make(map[string]*run), make(map[string]int)
		for kind, k := range kinds {
			runs[kind] = k.set(w)
			before[kind] = len(w.news(runs[kind].id, 0))
		}
		after(term - time.Second)
		w.failing(func(int) error { return diskFull{} })
		after(20 * time.Second)
		for kind, r := range runs {
			if got := w.news(r.id, before[kind]); len(got) > 0 {
				t.Fatalf("%s: %v on a full disk", kind, types(got))
			}
		}
		w.failing(nil)
		after(precision)
		for kind, k := range kinds {
			if diff := cmp.Diff(k.want, types(w.news(runs[kind].id, before[kind]))); diff != "" {
				t.Errorf("%s: a second after there was room again (-want +got):\n%s", kind, diff)
			}
		}
	})
}

// TestOverload lets far more fall due than the writer's queue takes.
func TestOverload(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.queue = 2
		w.start()
		runs := make([]*run, 80)
		for i := range runs {
			runs[i] = w.create(0).claim()
			if i%2 == 0 {
				runs[i].ack()
				runs[i].wait(term)
			}
		}
		after(term + 20*time.Second)
		for i, r := range runs {
			before, want := 2, lapsed
			if i%2 == 0 {
				before, want = len(w.news(r.id, 0))-3, kinds["wait"].want
			}
			if diff := cmp.Diff(want, types(w.news(r.id, before))); diff != "" {
				t.Errorf("execution %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

// flaky fails to read while it is told to.
type flaky struct {
	store.Queue
	broken *atomic.Int64 // so many reads still fail
}

var errFlaky = errors.New("the test lets no one read")

func (f flaky) InFlight(ctx context.Context, after int64, limit int) ([]store.InFlight, error) {
	if f.broken.Add(-1) >= 0 {
		return nil, errFlaky
	}
	return f.Queue.InFlight(ctx, after, limit)
}

func (f flaky) Timers(ctx context.Context, by kernel.Instant, limit int) ([]store.Timer, kernel.Instant, error) {
	if f.broken.Add(-1) >= 0 {
		return nil, 0, errFlaky
	}
	return f.Queue.Timers(ctx, by, limit)
}

// TestReadsThatFail cannot see for a while what is due.
func TestReadsThatFail(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var broken atomic.Int64
		w.wrap = func(q store.Queue) store.Queue { return flaky{q, &broken} }
		w.start()
		r := w.create(term)
		after(term - time.Millisecond)
		broken.Store(10)
		after(10 * time.Second)
		if diff := cmp.Diff(kinds["deadline of one that never started"].want, types(w.news(r.id, 2))); diff != "" {
			t.Errorf("when reads went well again (-want +got):\n%s", diff)
		}
	})
}

// TestTroubleAtTheStart finds a store that cannot read, or not write, at first:
// the timers neither end nor forget the attempts that they found.
func TestTroubleAtTheStart(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(w *world, broken *atomic.Int64){
		"reads fail": func(_ *world, broken *atomic.Int64) { broken.Store(5) },
		"disk full": func(w *world, _ *atomic.Int64) {
			left := 10
			w.failing(func(int) error {
				if left--; left >= 0 {
					return diskFull{}
				}
				return nil
			})
		},
		"overload": func(w *world, _ *atomic.Int64) { w.queue = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				var broken atomic.Int64
				w.wrap = func(q store.Queue) store.Queue { return flaky{q, &broken} }
				w.start()
				runs := make([]*run, 30)
				for i := range runs {
					if runs[i] = w.create(0).claim(); i%2 == 0 {
						runs[i].ack()
					}
				}
				w.kill()
				trouble(w, &broken)
				w.start()
				after(time.Minute)
				for i := 1; i < len(runs); i += 2 {
					if diff := cmp.Diff(lapsed, types(w.news(runs[i].id, 2))); diff != "" {
						t.Fatalf("attempt %d that was cut off (-want +got):\n%s", i, diff)
					}
				}
				after(term)
				for i := 0; i < len(runs); i += 2 {
					if diff := cmp.Diff(lapsed, types(w.news(runs[i].id, 4))); diff != "" {
						t.Fatalf("attempt %d after its lease (-want +got):\n%s", i, diff)
					}
				}
			})
		})
	}
}
