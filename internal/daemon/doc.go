// Package daemon builds the server out of its parts and owns their life: it is
// the only place that starts goroutines for them, and it stops them in order.
// Streams end and nothing new leaves; requests and deliveries under way get the
// grace period; then the clock stops, and the store last.
package daemon
