package heap_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/heap"
)

// TestPopsInOrder mixes pushes and pops: each pop gives the least of what is in.
func TestPopsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := heap.New(func(a, b int) bool { return a < b })
		var model []int
		for _, v := range rapid.SliceOf(rapid.IntRange(-5, 50)).Draw(t, "values, negative: pop") {
			if v >= 0 {
				h.Push(v)
				model = append(model, v)
				slices.Sort(model)
				continue
			}
			if h.Len() == 0 {
				continue
			}
			if top, got := h.Top(), h.Pop(); top != got || got != model[0] {
				t.Fatalf("popped %d, top said %d, want %d", got, top, model[0])
			}
			model = model[1:]
		}
		got := []int{}
		for h.Len() > 0 {
			got = append(got, h.Pop())
		}
		if diff := cmp.Diff(append([]int{}, model...), got); diff != "" {
			t.Fatalf("rest (-want +got):\n%s", diff)
		}
	})
}
