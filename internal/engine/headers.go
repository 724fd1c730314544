package engine

import (
	"sync"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// headerGeneration bounds the cache: two generations of so many headers.
const headerGeneration = 50_000

// headerCache remembers the immutable part of executions in two generations:
// when the young one is full it becomes the old one, which is forgotten.
type headerCache struct {
	mu         sync.RWMutex
	young, old map[kernel.ExecutionID]*store.Header
}

// reset forgets everything.
func (c *headerCache) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = make(map[kernel.ExecutionID]*store.Header), nil
}

func (c *headerCache) get(id kernel.ExecutionID) *store.Header {
	c.mu.RLock()
	h, ok := c.young[id]
	if !ok {
		h = c.old[id]
	}
	c.mu.RUnlock()
	if h != nil && !ok {
		c.put(h)
	}
	return h
}

// drop forgets an execution that has ended: hardly anyone asks for it again, and
// what is remembered is what the collector walks.
func (c *headerCache) drop(id kernel.ExecutionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.young, id)
	delete(c.old, id)
}

func (c *headerCache) put(h *store.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= headerGeneration {
		c.young, c.old = make(map[kernel.ExecutionID]*store.Header), c.young
	}
	c.young[h.ID] = h
}
