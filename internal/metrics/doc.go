// Package metrics holds the Prometheus collectors, on a registry of their own.
// Commits feed them after the fact ([Metrics.Committed], [Metrics.Batch]);
// what a commit does not show is told by the others: the HTTP edge, the policy,
// the answers to submits. docs/metrics.md describes every metric, and a test
// holds it to the registry.
//
// It imports kernel, store and version, and starts no goroutine. Everything on
// the path of a request finds its counters resolved already: it takes no lock
// and allocates nothing.
package metrics
