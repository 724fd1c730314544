package timer_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/timer"
)

func numbered(n int) (id kernel.ExecutionID) {
	binary.BigEndian.PutUint64(id.UUID[8:], uint64(n))
	return id
}

func sorted(ids []kernel.ExecutionID) []kernel.ExecutionID {
	slices.SortFunc(ids, func(a, b kernel.ExecutionID) int { return slices.Compare(a.UUID[:], b.UUID[:]) })
	return ids
}

// TestLeasesRemember holds the notes against a map of the earliest end that was
// heard of each: nothing is forgotten, nothing comes early, nothing comes twice.
func TestLeasesRemember(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := timer.NewLeases()
		model := make(map[kernel.ExecutionID]kernel.Instant)
		now := kernel.Instant(100)
		one := rapid.Map(rapid.IntRange(0, 5), numbered)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id, at := one.Draw(t, "id"), now+kernel.Instant(rapid.IntRange(-5, 40).Draw(t, "in"))
				if known, ok := model[id]; !ok || at < known {
					model[id] = at
				}
				l.Set(id, at)
			},
			"clear": func(t *rapid.T) {
				id := one.Draw(t, "id")
				delete(model, id)
				l.Clear(id)
			},
			"due": func(t *rapid.T) {
				now += kernel.Instant(rapid.IntRange(0, 30).Draw(t, "later"))
				limit := rapid.IntRange(1, 8).Draw(t, "limit")
				var want []kernel.Instant
				for _, at := range model {
					if at <= now {
						want = append(want, at)
					}
				}
				slices.Sort(want)
				want = want[:min(limit, len(want))]
				var got []kernel.Instant
				for _, id := range l.Due(now, limit) {
					at, ok := model[id]
					if !ok {
						t.Fatalf("%s is due, which is not known or came before", id)
					}
					got = append(got, at)
					delete(model, id)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("the ends that are due at %d, soonest first (-want +got):\n%s", now, diff)
				}
			},
			"": func(t *rapid.T) {
				var want kernel.Instant
				for _, at := range model {
					if want == 0 || at < want {
						want = at
					}
				}
				if got := l.Next(); got != want {
					t.Fatalf("the next end is %d, want %d", got, want)
				}
				if got := l.Held(); got > 2*len(model)+64 {
					t.Fatalf("%d entries are kept of %d ends", got, len(model))
				}
			},
		})
	})
}

// TestLeasesAreBounded renews, and begins and ends attempts, while one that is
// due sooner stays: neither leaves anything behind.
func TestLeasesAreBounded(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(l timer.Leases, n int){
		"renewals": func(l timer.Leases, n int) { l.Set(numbered(1+n%10), kernel.Instant(1000+n)) },
		"attempts that end": func(l timer.Leases, n int) {
			l.Set(numbered(1+n%10), kernel.Instant(1000+n))
			l.Clear(numbered(1 + n%10))
		},
		"executions": func(l timer.Leases, n int) {
			l.Set(numbered(1+n), kernel.Instant(1000+n))
			if n >= 10 {
				l.Clear(numbered(1 + n - 10))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := timer.NewLeases()
			l.Set(numbered(0), 1)
			for n := range 10_000 {
				step(l, n)
				if held := l.Held(); held > 128 {
					t.Fatalf("%d entries are kept after %d rounds of at most 11 executions", held, n+1)
				}
			}
			if diff := cmp.Diff([]kernel.ExecutionID{numbered(0)}, sorted(l.Due(999, 100))); diff != "" {
				t.Errorf("due before any of the others (-want +got):\n%s", diff)
			}
		})
	}
}
