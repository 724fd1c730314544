package timer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/store"
)

// kept reports whether the execution is still there.
func (r *run) kept() bool {
	r.w.Helper()
	_, err := r.w.engine.Reader().Execution(r.w.Context(), r.id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.w.Fatalf("read execution %s: %v", r.id, err)
	}
	return err == nil
}

// TestRetention removes what ended long enough ago, more than one slice of it,
// and nothing else; and does not forget it over a restart or a full disk.
func TestRetention(t *testing.T) {
	t.Parallel()
	const retention = 10 * time.Minute
	for name, meanwhile := range map[string]func(w *world){
		"undisturbed": func(*world) {},
		"restart": func(w *world) {
			w.stop()
			w.start()
		},
		"full disk": func(w *world) {
			w.failing(func(int) error { return diskFull{} })
			after(2*time.Minute + retention)
			w.failing(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.retention = retention
				w.start()
				open := w.create(0)
				var ended []*run
				for range 70 {
					r := w.create(0)
					r.must(w.engine.Cancel(t.Context(), r.id))
					ended = append(ended, r)
				}
				after(retention - time.Second)
				for _, r := range ended {
					if !r.kept() {
						t.Fatalf("execution %s was removed before its time", r.id)
					}
				}
				late := w.create(0)
				late.must(w.engine.Cancel(t.Context(), late.id))
				if len(w.expired) > 0 {
					t.Error("something was told to be removed before its time")
				}
				meanwhile(w)
				after(time.Minute + precision)
				for _, r := range ended {
					if r.kept() {
						t.Fatalf("execution %s is still there", r.id)
					}
				}
				if len(w.expired) == 0 {
					t.Error("nobody was told of the removal")
				}
				if !open.kept() {
					t.Error("an execution that has not ended was removed")
				}
				if name != "full disk" && !late.kept() {
					t.Error("an execution that ended later was removed with the others")
				}
				after(retention + time.Minute)
				if late.kept() {
					t.Error("the execution that ended later is still there")
				}
			})
		})
	}
}

// TestNoRetention keeps everything.
func TestNoRetention(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.start()
		r := w.create(0)
		r.must(w.engine.Cancel(t.Context(), r.id))
		after(time.Hour)
		if !r.kept() {
			t.Error("the execution was removed")
		}
	})
}
