package dispatch

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// model is what a queue is held to: every dispatch is somewhere, and it can be
// said which one may leave.
type model struct {
	queue  *queue
	now    kernel.Instant
	minted byte

	waiting map[kernel.DispatchID]store.DueDispatch
	flying  []store.DueDispatch
	turned  map[kernel.DispatchID]bool // away, for want of room
}

func (m *model) busy(agent kernel.AgentID) (n int) {
	for _, d := range m.flying {
		if d.Agent == agent {
			n++
		}
	}
	return n
}

// due counts the due dispatches of each agent.
func (m *model) due() map[kernel.AgentID]int {
	due := map[kernel.AgentID]int{}
	for _, d := range m.waiting {
		if d.NotBefore <= m.now {
			due[d.Agent]++
		}
	}
	return due
}

// may reports whether an agent may have another delivery, given who else waits.
func (m *model) may(agent kernel.AgentID, due map[kernel.AgentID]int) bool {
	others := len(due)
	if due[agent] > 0 {
		others--
	}
	return others == 0 || m.busy(agent) < max(1, m.queue.places/4)
}

func (m *model) add(t *rapid.T) {
	d := store.DueDispatch{
		Agent:     kernel.AgentID(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "agent")),
		NotBefore: m.now + kernel.Instant(rapid.IntRange(-3, 5).Draw(t, "delay")),
	}
	m.minted++
	d.Dispatch.UUID[0] = m.minted
	full := len(m.waiting) >= m.queue.limit
	if m.queue.add(d, m.now); full {
		m.turned[d.Dispatch] = true
		return
	}
	m.waiting[d.Dispatch] = d
}

func (m *model) addAgain(t *rapid.T) {
	for _, d := range m.waiting {
		d.NotBefore = 0
		m.queue.add(d, m.now) // what is known stays as it is
		return
	}
	t.Skip("nothing waits")
}

func (m *model) next(t *rapid.T) {
	due := m.due()
	d, ok := m.queue.next(m.now)
	if !ok {
		if len(m.flying) >= m.queue.places {
			return
		}
		for agent := range due {
			if m.may(agent, due) {
				t.Fatalf("nothing leaves, although %s may: due %v, %d of %d places taken", agent, due, len(m.flying), m.queue.places)
			}
		}
		return
	}
	known, waits := m.waiting[d.Dispatch]
	switch {
	case !waits:
		t.Fatalf("%v leaves and does not wait", d)
	case known.NotBefore > m.now:
		t.Fatalf("%v leaves at %d, before it is due", d, m.now)
	case len(m.flying) >= m.queue.places:
		t.Fatalf("%v leaves, and all %d places are taken", d, m.queue.places)
	case !m.may(d.Agent, due):
		t.Fatalf("%v leaves: %s has %d of %d places while others wait: %v", d, d.Agent, m.busy(d.Agent), m.queue.places, due)
	}
	delete(m.waiting, d.Dispatch)
	m.flying = append(m.flying, d)
}

func (m *model) done(t *rapid.T) {
	if len(m.flying) == 0 {
		t.Skip("nothing is under way")
	}
	i := rapid.IntRange(0, len(m.flying)-1).Draw(t, "which")
	m.queue.done(m.flying[i].Agent)
	m.flying = append(m.flying[:i], m.flying[i+1:]...)
}

// rest ends all that is under way.
func (m *model) rest() {
	for _, d := range m.flying {
		m.queue.done(d.Agent)
	}
	m.flying = nil
}

func (m *model) check(t *rapid.T) {
	if got := len(m.queue.known); got != len(m.waiting) {
		t.Fatalf("%d wait, want %d", got, len(m.waiting))
	}
	if m.queue.overflow != (len(m.turned) > 0) {
		t.Fatalf("overflow %v, %d were turned away", m.queue.overflow, len(m.turned))
	}
	if at := m.queue.wake(); !at.IsZero() {
		found := false
		for _, d := range m.waiting {
			found = found || d.NotBefore == at
		}
		if !found {
			t.Fatalf("wakes at %d, when nothing falls due", at)
		}
	}
}

// TestQueue: whatever comes in whatever order, one agent has at most a quarter
// of the places (at least one) while others wait, all of them when it is alone;
// nothing leaves before it is due or twice; nothing stays that may leave; and
// nothing is lost.
func TestQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			queue: newQueue(rapid.IntRange(1, 9).Draw(t, "places"), rapid.IntRange(1, 30).Draw(t, "room")), now: 10,
			waiting: map[kernel.DispatchID]store.DueDispatch{}, turned: map[kernel.DispatchID]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":       m.add,
			"add again": m.addAgain,
			"next":      m.next,
			"done":      m.done,
			"time":      func(*rapid.T) { m.now++ },
			"":          m.check,
		})
		m.now += 100
		for len(m.waiting) > 0 {
			before := len(m.waiting)
			m.rest()
			m.next(t)
			if len(m.waiting) == before {
				t.Fatalf("%d stay for ever", before)
			}
		}
		m.rest()
		if len(m.queue.lines) != 0 || len(m.queue.turn) != 0 || m.queue.busy != 0 {
			t.Fatalf("something is left: %+v", m.queue)
		}
	})
}

// TestQueueTakesTurns: agents that wait are served one after the other.
func TestQueueTakesTurns(t *testing.T) {
	t.Parallel()
	q := newQueue(8, 100)
	id := byte(0)
	for _, agent := range []kernel.AgentID{"a", "a", "a", "b", "c", "c"} {
		id++
		q.add(store.DueDispatch{Agent: agent, Dispatch: kernel.DispatchID{UUID: kernel.UUID{id}}}, 1)
	}
	var order string
	for d, ok := q.next(1); ok; d, ok = q.next(1) {
		order += string(d.Agent)
	}
	if order != "abcaca" {
		t.Errorf("order %s, want abcaca", order)
	}
}
