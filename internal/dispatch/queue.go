package dispatch

import (
	"github.com/agentkernel/kernelctl/internal/heap"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// queue decides what is delivered next. It is pure: time is an argument. One
// agent gets at most a quarter of the places while others wait, and the agents
// take turns.
type queue struct {
	places   int // deliveries that may be under way
	limit    int // dispatches kept in memory
	known    map[kernel.DispatchID]struct{}
	later    *heap.Heap[store.DueDispatch] // not due yet
	lines    map[kernel.AgentID]*line
	turn     []kernel.AgentID // agents with a line, in order of their turn
	busy     int
	overflow bool // something was not taken for want of room
}

// line is what one agent's due dispatches wait in.
type line struct {
	due  []store.DueDispatch
	busy int // its deliveries under way
}

func newQueue(places, limit int) *queue {
	return &queue{
		places: places, limit: limit, known: make(map[kernel.DispatchID]struct{}), lines: make(map[kernel.AgentID]*line),
		later: heap.New(func(a, b store.DueDispatch) bool { return a.NotBefore < b.NotBefore }),
	}
}

// add takes a dispatch, unless it is known already or there is no room.
func (q *queue) add(d store.DueDispatch, now kernel.Instant) {
	if _, ok := q.known[d.Dispatch]; ok {
		return
	}
	if len(q.known) >= q.limit {
		q.overflow = true
		return
	}
	q.known[d.Dispatch] = struct{}{}
	if d.NotBefore > now {
		q.later.Push(d)
		return
	}
	q.enqueue(d)
}

func (q *queue) enqueue(d store.DueDispatch) {
	l := q.lines[d.Agent]
	if l == nil {
		l = &line{}
		q.lines[d.Agent] = l
	}
	if len(l.due) == 0 {
		q.turn = append(q.turn, d.Agent)
	}
	l.due = append(l.due, d)
}

// next takes the dispatch whose turn it is, if there is a free place for it.
// The caller says done when its delivery has ended.
func (q *queue) next(now kernel.Instant) (d store.DueDispatch, ok bool) {
	for q.later.Len() > 0 && q.later.Top().NotBefore <= now {
		q.enqueue(q.later.Pop())
	}
	if q.busy >= q.places {
		return d, false
	}
	for range len(q.turn) {
		agent := q.turn[0]
		q.turn = q.turn[1:]
		l := q.lines[agent]
		if len(q.turn) > 0 && l.busy >= q.share() { // others wait: the share holds
			q.turn = append(q.turn, agent)
			continue
		}
		d, l.due = l.due[0], l.due[1:]
		if len(l.due) > 0 {
			q.turn = append(q.turn, agent)
		}
		l.busy++
		q.busy++
		delete(q.known, d.Dispatch)
		return d, true
	}
	return d, false
}

func (q *queue) share() int { return max(1, q.places/4) }

func (q *queue) done(agent kernel.AgentID) {
	q.busy--
	l := q.lines[agent]
	if l.busy--; l.busy == 0 && len(l.due) == 0 {
		delete(q.lines, agent)
	}
}

// wake is when the next dispatch that is not due yet falls due; zero: none.
func (q *queue) wake() kernel.Instant {
	if q.later.Len() == 0 {
		return 0
	}
	return q.later.Top().NotBefore
}

// starved reports whether there is room again for what was not taken.
func (q *queue) starved() bool { return q.overflow && len(q.known) < q.limit/2 }
