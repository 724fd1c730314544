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

// enough seeds meet everything.
const enough = 24

// report shows the counts, and names what was never met.
func (m *tally) report(t *testing.T, seeds uint64) {
	for _, what := range slices.Sorted(maps.Keys(m.n)) {
		t.Logf("%7d %s", m.n[what], what)
	}
	if seeds < enough {
		return
	}
	want := []string{
		"stop", "disk full", "crash at point 0", "crash at point 1", "crash at point 2", "failed", "effect again",
		"refused conflict", "refused lease_superseded", "refused forbidden", "refused execution_terminal",
		"submit proceed", "submit replay", "submit denied", "submit blocked", "submit execution_blocked", "submit rate_limited",
		"outcome recorded", "outcome replay", "outcome execution_terminal",
		"queued created", "queued approval_granted", "queued approval_denied", "queued approval_expired", "queued rate_limit",
		"queued signal", "queued wait_timed_out", "queued lease_lapsed", "queued restart",
	}
	for _, event := range kernel.EventTypes() {
		want = append(want, event.String())
	}
	for _, what := range want {
		if m.n[what] == 0 {
			t.Errorf("never met: %s", what)
		}
	}
}
