package sqlite

import (
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// Executions without steps fill the memory, too: each is worth four steps.
func TestExecutionsWeigh(t *testing.T) {
	t.Parallel()
	var c cache
	c.init(10)
	var in []*resident
	for i := range 3 {
		if c.surplus() != nil {
			t.Fatalf("%d executions without steps are too much already", i)
		}
		r := &resident{state: kernel.State{ID: kernel.ExecutionID{UUID: kernel.UUID{byte(i)}}, Status: kernel.StatusRunning}}
		c.put(r)
		in = append(in, r)
	}
	if got := c.surplus(); got != in[0] {
		t.Fatalf("three executions without steps weigh %d, and what is to leave is %v; want 12 and the first", c.weight, got)
	}
	c.drop(in[0])
	if got := c.surplus(); got != nil {
		t.Fatalf("two weigh %d, and %v is to leave; want none", c.weight, got)
	}
	in[1].state.Steps = map[kernel.StepID]*kernel.Step{{1}: {}, {2}: {}, {3}: {}}
	c.weigh(in[1])
	if got := c.surplus(); got != in[1] {
		t.Fatalf("two and three steps weigh %d, and what is to leave is %v; want 11 and the least recently used", c.weight, got)
	}
}
