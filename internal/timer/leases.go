package timer

import (
	"container/heap"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// leases knows when each attempt in flight may lapse. Renewals stay with the
// lease: an end that comes is looked up again, so a heartbeat costs nothing here.
type leases struct {
	ends map[kernel.ExecutionID]kernel.Instant
	heap leaseHeap
}

type leaseEnd struct {
	at kernel.Instant
	id kernel.ExecutionID
}

func newLeases() *leases { return &leases{ends: make(map[kernel.ExecutionID]kernel.Instant)} }

// set notes when the lease of id ends as far as is known.
func (l *leases) set(id kernel.ExecutionID, at kernel.Instant) {
	if known, ok := l.ends[id]; ok && known <= at {
		return // it is looked at before that anyway
	}
	l.ends[id] = at
	heap.Push(&l.heap, leaseEnd{at, id})
}

// clear forgets id: nothing of it is in flight.
func (l *leases) clear(id kernel.ExecutionID) { delete(l.ends, id) }

// due takes those whose end has come, up to limit.
func (l *leases) due(now kernel.Instant, limit int) []kernel.ExecutionID {
	var due []kernel.ExecutionID
	for len(l.heap) > 0 && len(due) < limit {
		top := l.heap[0]
		if known, ok := l.ends[top.id]; !ok || known != top.at { // renewed or over
			heap.Pop(&l.heap)
			continue
		}
		if top.at > now {
			break
		}
		heap.Pop(&l.heap)
		delete(l.ends, top.id)
		due = append(due, top.id)
	}
	return due
}

// next is the earliest end; zero: none.
func (l *leases) next() kernel.Instant {
	for len(l.heap) > 0 {
		top := l.heap[0]
		if known, ok := l.ends[top.id]; ok && known == top.at {
			return top.at
		}
		heap.Pop(&l.heap)
	}
	return 0
}

type leaseHeap []leaseEnd

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h leaseHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *leaseHeap) Push(x any)        { *h = append(*h, x.(leaseEnd)) }
func (h *leaseHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
