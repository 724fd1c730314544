package timer

import (
	"github.com/agentkernel/kernelctl/internal/heap"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// leases knows when each attempt in flight may lapse. Renewals stay with the
// lease: an end that comes is looked up again, so a heartbeat costs nothing here.
type leases struct {
	ends map[kernel.ExecutionID]kernel.Instant
	heap *heap.Heap[leaseEnd]
}

type leaseEnd struct {
	at kernel.Instant
	id kernel.ExecutionID
}

func newLeases() *leases {
	return &leases{
		ends: make(map[kernel.ExecutionID]kernel.Instant),
		heap: heap.New(sooner),
	}
}

func sooner(a, b leaseEnd) bool { return a.at < b.at }

// set notes when the lease of id ends as far as is known.
func (l *leases) set(id kernel.ExecutionID, at kernel.Instant) {
	if known, ok := l.ends[id]; ok && known <= at {
		return // it is looked at before that anyway
	}
	l.ends[id] = at
	l.heap.Push(leaseEnd{at, id})
	if l.heap.Len() > 2*len(l.ends)+slack {
		l.sweep()
	}
}

// slack is how many entries of attempts that are over do not matter.
const slack = 64

// sweep drops the entries of attempts that are over. Left alone they would stay
// until their lease ends, and an agent may ask for one of a day.
func (l *leases) sweep() {
	l.heap = heap.New(sooner)
	for id, at := range l.ends {
		l.heap.Push(leaseEnd{at, id})
	}
}

// clear forgets id: nothing of it is in flight.
func (l *leases) clear(id kernel.ExecutionID) { delete(l.ends, id) }

// due takes those whose end has come, up to limit.
func (l *leases) due(now kernel.Instant, limit int) []kernel.ExecutionID {
	var due []kernel.ExecutionID
	for l.heap.Len() > 0 && len(due) < limit {
		top := l.heap.Top()
		if known, ok := l.ends[top.id]; !ok || known != top.at { // renewed or over
			l.heap.Pop()
			continue
		}
		if top.at > now {
			break
		}
		l.heap.Pop()
		delete(l.ends, top.id)
		due = append(due, top.id)
	}
	return due
}

// next is the earliest end; zero: none.
func (l *leases) next() kernel.Instant {
	for l.heap.Len() > 0 {
		top := l.heap.Top()
		if known, ok := l.ends[top.id]; ok && known == top.at {
			return top.at
		}
		l.heap.Pop()
	}
	return 0
}
