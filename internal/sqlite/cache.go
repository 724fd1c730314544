package sqlite

import (
	"container/list"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// cache holds the executions that are folded in memory. Its owner is the
// writer, so what is in it is what the database says, the open transaction
// included.
type cache struct {
	limit    int
	weight   int // in steps; an execution is worth some
	resident map[kernel.ExecutionID]*resident
	recent   list.List // of *resident that go on, the most recently used first
	ended    list.List // of *resident that have ended: hardly anyone asks for them again
}

// executionWeight is how many steps' memory an execution takes without any: a
// step is about 380 bytes of heap, an execution with its lease about 1,500.
const executionWeight = 4

// maxEnded is how many executions that have ended stay in memory, for agents
// that repeat their last words.
const maxEnded = 256

// resident is one execution in memory.
type resident struct {
	state   kernel.State
	lease   kernel.Lease
	weight  int
	list    *list.List
	element *list.Element
	touched uint64 // the batch that changed it last
}

func (c *cache) init(limit int) {
	c.limit, c.resident = limit, make(map[kernel.ExecutionID]*resident)
	c.recent.Init()
	c.ended.Init()
}

func (c *cache) get(id kernel.ExecutionID) *resident {
	r := c.resident[id]
	if r != nil {
		r.list.MoveToFront(r.element)
	}
	return r
}

func (c *cache) put(r *resident) {
	c.resident[r.state.ID] = r
	c.weigh(r)
}

// weigh brings the weight of r, and the list it is in, up to date after it changed.
func (c *cache) weigh(r *resident) {
	in := &c.recent
	if r.state.Status.Terminal() {
		in = &c.ended
	}
	if r.list != in {
		if r.list != nil {
			r.list.Remove(r.element)
		}
		r.list, r.element = in, in.PushFront(r)
	}
	w := executionWeight + len(r.state.Steps)
	c.weight += w - r.weight
	r.weight = w
}

func (c *cache) drop(r *resident) {
	if c.resident[r.state.ID] != r {
		return
	}
	delete(c.resident, r.state.ID)
	r.list.Remove(r.element)
	c.weight -= r.weight
}

// surplus is what is to leave next while there is too much: what has ended
// before what goes on, the least recently used first.
func (c *cache) surplus() *resident {
	switch {
	case c.ended.Len() > maxEnded:
		return last(&c.ended)
	case c.weight <= c.limit:
		return nil
	case c.ended.Len() > 1:
		return last(&c.ended)
	case c.recent.Len() > 1:
		return last(&c.recent)
	}
	return nil
}

func last(l *list.List) *resident {
	r, _ := l.Back().Value.(*resident) // the lists hold nothing else
	return r
}
