package timer_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// TestAttemptsAtTheStart says what becomes of an attempt in flight.
func TestAttemptsAtTheStart(t *testing.T) {
	t.Parallel()
	replaced := []kernel.EventType{kernel.TypeDispatchFailed, kernel.TypeDispatchQueued}
	for name, c := range map[string]struct {
		acked bool
		end   func(*world)
		want  []kernel.EventType
	}{
		"killed before the ack":  {false, (*world).kill, replaced},
		"killed after the ack":   {true, (*world).kill, []kernel.EventType{}},
		"stopped before the ack": {false, (*world).stop, []kernel.EventType{}},
		"stopped after the ack":  {true, (*world).stop, []kernel.EventType{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.start()
				r := w.create(0).claim()
				if c.acked {
					r.ack()
				}
				before := len(w.news(r.id, 0))
				c.end(w)
				after(time.Minute)
				w.start()
				began := time.Now()
				got := w.news(r.id, before)
				if diff := cmp.Diff(c.want, types(got)); diff != "" {
					t.Fatalf("written at the start (-want +got):\n%s", diff)
				}
				if len(got) == 0 {
					return
				}
				if at := got[0].At.Time(); !at.Equal(began) {
					t.Errorf("replaced at %s, want at once, %s", at, began)
				}
				if e := got[0].Data.(*kernel.DeliveryFailed); e.Error != kernel.ReasonRestarted {
					t.Errorf("%v says %q, want %q", e.Type(), e.Error, kernel.ReasonRestarted)
				}
				if e := got[1].Data.(*kernel.DispatchQueued); e.Reason != kernel.ReasonRestart {
					t.Errorf("%v says %q, want %q", e.Type(), e.Reason, kernel.ReasonRestart)
				}
				if r.claim(); r.holder.Attempt != 2 {
					t.Errorf("the next attempt is %d, want 2", r.holder.Attempt)
				}
			})
		})
	}
}

// TestManyAttemptsAtTheStart has more attempts in flight than one page.
func TestManyAttemptsAtTheStart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.start()
		runs := make([]*run, 300)
		for i := range runs {
			if runs[i] = w.create(0).claim(); i%3 == 0 {
				runs[i].ack()
			}
		}
		w.kill()
		w.start()
		for i, r := range runs {
			before, want := 2, lapsed
			if i%3 == 0 {
				before, want = 4, []kernel.EventType{}
			}
			if diff := cmp.Diff(want, types(w.news(r.id, before))); diff != "" {
				t.Fatalf("attempt %d at the start (-want +got):\n%s", i, diff)
			}
		}
		after(term + precision)
		for i := 0; i < len(runs); i += 3 {
			if diff := cmp.Diff(lapsed, types(w.news(runs[i].id, 4))); diff != "" {
				t.Fatalf("attempt %d after its lease (-want +got):\n%s", i, diff)
			}
		}
	})
}
