package sim_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// tally counts what was met, for a simulation that meets nothing proves nothing.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: make(map[string]int)} }

func (m *tally) add(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n[what]++
}

// So many seeds meet everything that is common, or everything.
const (
	some   = 24
	enough = 200
)

// report shows the counts, and names what was never met.
func (m *tally) report(t *testing.T, seeds uint64) {
	for _, what := range slices.Sorted(maps.Keys(m.n)) {
		t.Logf("%7d %s", m.n[what], what)
	}
	if seeds < some {
		return
	}
	want := []string{
		"stop", "disk full", "failed", "refused conflict", "refused lease_superseded",
		"submit proceed", "submit replay", "submit denied", "submit blocked", "submit rate_limited", "outcome recorded",
		"queued created", "queued approval_granted", "queued approval_denied", "queued approval_expired", "queued rate_limit",
		"queued signal", "queued lease_lapsed",
	}
	if seeds >= enough {
		want = append(want,
			"crash at point 0", "crash at point 1", "crash at point 2", "effect again",
			"refused forbidden", "refused execution_terminal", "submit execution_blocked",
			"outcome replay", "outcome execution_terminal", "queued wait_timed_out", "queued restart",
		)
	}
	for _, event := range kernel.EventTypes() {
		if seeds >= enough || event != kernel.TypeDispatchDiscarded {
			want = append(want, event.String())
		}
	}
	for _, what := range want {
		if m.n[what] == 0 {
			t.Errorf("never met: %s", what)
		}
	}
}
