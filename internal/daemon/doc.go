// Package daemon builds the server out of its parts and owns their life: it is
// the only place that starts goroutines for them, and it stops them in order —
// requests and streams first, then deliveries, then the clock, the store last.
package daemon
