package sim_test

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
)

var (
	seeds = flag.Int("sim.seeds", 24, "how many seeds to run")
	first = flag.Uint64("sim.first", 1, "the first of them")
	only  = flag.Uint64("sim.seed", 0, "the one seed to run")
)

func TestService(t *testing.T) {
	t.Parallel()
	from, n := *first, uint64(*seeds)
	if *only != 0 {
		from, n = *only, 1
	}
	met := newTally()
	t.Cleanup(func() { met.report(t, n) })
	for seed := from; seed < from+n; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				defer func() {
					if t.Failed() {
						t.Logf("to replay: go test ./internal/sim -run TestService -sim.seed=%d -count=5", seed)
					}
				}()
				newWorld(t, seed, folder, met).run()
			})
		})
	}
}
