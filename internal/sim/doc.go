// Package sim holds tests only: it runs the whole service, with a real database
// and in-process agents, in a bubble of fake time, while faults drawn from a
// seed befall everything, and holds the history against the rules.
//
//	go test ./internal/sim -sim.seeds=1000
//	go test ./internal/sim -sim.seed=17
//
// A seed decides what agents, clients and faults do and when. Which of several
// goroutines that are due at the same moment goes first is the scheduler's
// business, so a replay may have to be repeated (-count).
package sim
