package stream

import (
	"sync"
	"sync/atomic"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// What may wait for one subscriber. Room that is not used costs nothing: there
// can be many who wait for little.
const (
	deltaRoom = 256
	eventRoom = 256
	feedRoom  = 4096
)

// Delta is a chunk of live output.
type Delta struct {
	Step kernel.StepID
	Seq  int64
	Data string
}

// FeedEvent is an event of any execution, with what a filter needs.
type FeedEvent struct {
	store.Event
	Agent kernel.AgentID
}

// Subscription receives until it is closed.
type Subscription[T any] struct {
	// Ready has a token when there is something to take.
	Ready <-chan struct{}
	ready chan struct{}
	room  int
	close func()

	mu   sync.Mutex
	next Taken[T]
}

// Taken is what came for a subscriber, in order.
type Taken[T any] struct {
	Values []T
	Lost   bool          // more came after Values than there was room for
	Ended  kernel.Status // with which the execution ended after Values; zero: it has not
}

// Take takes everything that came since it was called last.
func (s *Subscription[T]) Take() Taken[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.next
	s.next = Taken[T]{}
	return taken
}

// Close ends the subscription; nothing is sent afterwards.
func (s *Subscription[T]) Close() { s.close() }

func (s *Subscription[T]) offer(v T) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok = len(s.next.Values) < s.room && !s.next.Lost; ok {
		s.next.Values = append(s.next.Values, v)
	} else {
		s.next.Lost = true
	}
	s.wake()
	return ok
}

func (s *Subscription[T]) end(status kernel.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next.Ended = status
	s.wake()
}

func (s *Subscription[T]) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// topics are the subscribers of each execution.
type topics[T any] struct {
	mu  sync.RWMutex
	all map[kernel.ExecutionID]map[*Subscription[T]]struct{}
	n   atomic.Int64
}

func (t *topics[T]) subscribe(id kernel.ExecutionID, room int) *Subscription[T] {
	s := &Subscription[T]{ready: make(chan struct{}, 1), room: room}
	s.Ready = s.ready
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[kernel.ExecutionID]map[*Subscription[T]]struct{})
	}
	if t.all[id] == nil {
		t.all[id] = make(map[*Subscription[T]]struct{}, 1)
	}
	t.all[id][s] = struct{}{}
	t.n.Add(1)
	s.close = sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.n.Add(-1)
		if delete(t.all[id], s); len(t.all[id]) == 0 {
			delete(t.all, id)
		}
	})
	return s
}

// each calls fn for the subscribers of id.
func (t *topics[T]) each(id kernel.ExecutionID, fn func(*Subscription[T])) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for s := range t.all[id] {
		fn(s)
	}
}

// Hub connects publishers and subscribers.
type Hub struct {
	deltas  topics[Delta]
	events  topics[store.Event]
	feed    topics[FeedEvent] // all under the zero id
	dropped atomic.Int64
}

// NewHub is an empty hub.
func NewHub() *Hub { return &Hub{} }

// Deltas subscribes to the live output of an execution.
func (h *Hub) Deltas(id kernel.ExecutionID) *Subscription[Delta] {
	return h.deltas.subscribe(id, deltaRoom)
}

// Events subscribes to the events of an execution that are committed from now on.
func (h *Hub) Events(id kernel.ExecutionID) *Subscription[store.Event] {
	return h.events.subscribe(id, eventRoom)
}

// Feed subscribes to the events of all executions.
func (h *Hub) Feed() *Subscription[FeedEvent] {
	return h.feed.subscribe(kernel.ExecutionID{}, feedRoom)
}

// Publish sends a delta to whoever listens to the execution.
func (h *Hub) Publish(id kernel.ExecutionID, d Delta) {
	h.deltas.each(id, func(s *Subscription[Delta]) {
		if !s.offer(d) {
			h.dropped.Add(1)
		}
	})
}

// Subscribers is how many listen, to whatever.
func (h *Hub) Subscribers() int64 { return h.deltas.n.Load() + h.events.n.Load() + h.feed.n.Load() }

// Dropped is how many deltas were lost by slow subscribers.
func (h *Hub) Dropped() int64 { return h.dropped.Load() }

// Committed tells the hub what was stored, in commit order.
func (h *Hub) Committed(batch []store.Committed) {
	if h.Subscribers() == 0 {
		return
	}
	for i := range batch {
		c := &batch[i]
		for _, r := range c.Records {
			e := asEvent(c.Execution, r)
			h.events.each(c.Execution, func(s *Subscription[store.Event]) { s.offer(e) })
			h.feed.each(kernel.ExecutionID{}, func(s *Subscription[FeedEvent]) { s.offer(FeedEvent{Event: e, Agent: c.Agent}) })
			if r.Event.Type().Terminal() {
				h.deltas.each(c.Execution, func(s *Subscription[Delta]) { s.end(c.Status) })
			}
		}
	}
}

func asEvent(id kernel.ExecutionID, r kernel.Record) store.Event {
	e := store.Event{
		Execution: id, Seq: r.Event.Seq, ID: r.Event.ID, Cause: r.Event.Cause,
		Type: r.Event.Type(), At: r.Event.At, Payload: r.Payload,
	}
	if e.Type.BodyField() != "" {
		e.Body = r.Event.Body
	}
	return e
}
