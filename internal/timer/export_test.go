package timer

import "github.com/agentkernel/kernelctl/internal/kernel"

// Leases lets tests ask the notes about leases directly.
type Leases struct{ notes *leases }

// NewLeases are notes about nothing.
func NewLeases() Leases { return Leases{newLeases()} }

// Set is what a commit that leaves an attempt in flight does.
func (l Leases) Set(id kernel.ExecutionID, at kernel.Instant) { l.notes.set(id, at) }

// Clear is what a commit that leaves none in flight does.
func (l Leases) Clear(id kernel.ExecutionID) { l.notes.clear(id) }

// Due takes what is due.
func (l Leases) Due(now kernel.Instant, limit int) []kernel.ExecutionID {
	return l.notes.due(now, limit)
}

// Next is the earliest end.
func (l Leases) Next() kernel.Instant { return l.notes.next() }

// Held is how many entries are kept.
func (l Leases) Held() int { return l.notes.heap.Len() }
