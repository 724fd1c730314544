//go:build !race

package policy_test

import "testing"

// TestNoAllocations holds what the hot path relies on. Not under the race
// detector, which takes machines out of the pool of package regexp at random.
func TestNoAllocations(t *testing.T) {
	bundle := policy20(t)
	for _, c := range calls {
		if got := testing.AllocsPerRun(200, func() { bundle.Evaluate(c.call) }); got != 0 {
			t.Errorf("%s: %v allocations, want none", c.name, got)
		}
	}
}
