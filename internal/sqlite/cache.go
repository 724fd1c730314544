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
	weight   int // executions and their steps
	resident map[kernel.ExecutionID]*resident
	recent   list.List // of *resident, the most recently used first
}

// resident is one execution in memory.
type resident struct {
	state   kernel.State
	lease   kernel.Lease
	weight  int
	element *list.Element
	touched uint64 // the batch that changed it last
}

func (c *cache) init(limit int) {
	c.limit, c.resident = limit, make(map[kernel.ExecutionID]*resident)
	c.recent.Init()
}

func (c *cache) get(id kernel.ExecutionID) *resident {
	r := c.resident[id]
	if r != nil {
		c.recent.MoveToFront(r.element)
	}
	return r
}

func (c *cache) put(r *resident) {
	c.resident[r.state.ID] = r
	r.element = c.recent.PushFront(r)
	c.weigh(r)
}

// weigh brings the weight up to date after r changed.
func (c *cache) weigh(r *resident) {
	w := 1 + len(r.state.Steps)
	c.weight += w - r.weight
	r.weight = w
}

func (c *cache) drop(r *resident) {
	if c.resident[r.state.ID] != r {
		return
	}
	delete(c.resident, r.state.ID)
	c.recent.Remove(r.element)
	c.weight -= r.weight
}

// surplus is the least recently used execution while there is too much.
func (c *cache) surplus() *resident {
	if c.weight <= c.limit || c.recent.Len() < 2 {
		return nil
	}
	return c.recent.Back().Value.(*resident)
}
