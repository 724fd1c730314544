package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// limited is a submit under a limit of so many calls a minute.
func limited(m *model, target string, scope kernel.LimitScope, calls int) submission {
	return submission{caller: m.lease.Holder, target: target, ruling: kernel.Ruling{
		Rule: "limited", Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: calls, Window: time.Minute, Scope: scope},
	}}
}

// slots are the moments that the store remembers of a bucket.
func (w *world) slots(name string) []kernel.Instant {
	w.t.Helper()
	var calls []kernel.Instant
	err := w.update(func(tx store.Tx) error {
		b, err := tx.Bucket(name, &kernel.RateLimit{MaxCalls: 1, Window: time.Minute})
		if err == nil {
			calls = slices.Clone(b.Calls)
		}
		return err
	})
	if err != nil {
		w.t.Fatalf("Bucket(%s): %v", name, err)
	}
	return calls
}

// testLimits counts what executions, agents and the whole service used, before
// and after the store was opened again.
func testLimits(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.putAgent("other")
	a, b, c := w.create(creation{}), w.create(creation{}), w.create(creation{agent: "other"})
	for _, m := range []*model{a, b, c} {
		w.start(m)
	}
	expect := func(m *model, s submission, want kernel.Decision) {
		t.Helper()
		if got := w.submit(m, s).Answer.Decision; got != want {
			t.Errorf("%s: %s, want %s", s.target, got, want)
		}
	}
	expect(a, limited(a, "a1", kernel.PerExecution, 1), kernel.Proceed)
	expect(a, limited(a, "a2", kernel.PerExecution, 1), kernel.RateLimited)
	expect(b, limited(b, "b1", kernel.PerExecution, 1), kernel.Proceed) // has a bucket of its own
	expect(a, limited(a, "a3", kernel.PerAgent, 1), kernel.Proceed)
	w.restart()
	expect(a, limited(a, "a4", kernel.PerExecution, 1), kernel.RateLimited)
	expect(b, limited(b, "b2", kernel.PerAgent, 1), kernel.RateLimited) // of the same agent
	expect(c, limited(c, "c1", kernel.PerAgent, 1), kernel.Proceed)
	expect(c, limited(c, "c2", kernel.PerService, 2), kernel.Proceed)
	expect(a, limited(a, "a5", kernel.PerService, 2), kernel.Proceed)
	w.kill()
	for _, m := range []*model{a, b, c} { // a kill took their counters
		w.submit(m, submission{caller: m.lease.Holder})
		w.start(m)
	}
	expect(b, limited(b, "b3", kernel.PerService, 2), kernel.RateLimited)
	w.advance(time.Minute)
	expect(b, limited(b, "b3", kernel.PerService, 2), kernel.Proceed)
	expect(a, limited(a, "a6", kernel.PerExecution, 1), kernel.Proceed)
	w.check()
}

// testSlotsOfFailures uses a slot in an operation that cannot be stored.
func testSlotsOfFailures(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	m := w.create(creation{})
	w.start(m)
	name := store.BucketName(kernel.PerAgent, m.state.No, "mailer", "limited")
	w.submit(m, limited(m, "a", kernel.PerAgent, 10))
	want := w.slots(name)
	w.fail(always(BeforeCommit, d.Faults.Full))
	if _, err := w.try(m, w.submitCommand(m, limited(m, "b", kernel.PerAgent, 10))); err == nil {
		t.Fatal("a full disk takes a submit")
	}
	w.fail(nil)
	if got := w.slots(name); !slices.Equal(got, want) || len(got) != 1 {
		t.Errorf("slots after a submit that failed: %v, want %v", got, want)
	}
	w.restart()
	if got := w.slots(name); !slices.Equal(got, want) {
		t.Errorf("slots in the rows: %v, want %v", got, want)
	}
}

// testWindowsOfOneBucket has rules of one id that look back differently far:
// the shorter one must not throw away what the longer one needs.
func testWindowsOfOneBucket(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	name := store.BucketName(kernel.PerService, 0, "", "shared")
	use := func(window time.Duration) {
		t.Helper()
		err := w.update(func(tx store.Tx) error {
			return tx.UseSlot(name, &kernel.RateLimit{MaxCalls: 10, Window: window, Scope: kernel.PerService}, w.now)
		})
		if err != nil {
			t.Fatalf("UseSlot: %v", err)
		}
	}
	use(time.Hour)
	w.advance(2 * time.Minute)
	w.restart()
	use(time.Minute)
	use(time.Minute)
	if got := w.slots(name); len(got) != 3 {
		t.Errorf("%d slots, want all three: the first is still in its own window", len(got))
	}
	w.advance(2 * time.Hour)
	use(time.Minute)
	w.restart()
	if got := w.slots(name); len(got) != 1 {
		t.Errorf("%d slots, want one: the others are out of every window", len(got))
	}
}
