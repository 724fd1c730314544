// Package heap is a binary heap of values with a type, where container/heap has
// only any. It is a leaf.
package heap

// Heap keeps the least element, by its less function, on top. Use New.
type Heap[T any] struct {
	less func(a, b T) bool
	all  []T
}

// New is an empty heap.
func New[T any](less func(a, b T) bool) *Heap[T] { return &Heap[T]{less: less} }

// Len is how many elements there are.
func (h *Heap[T]) Len() int { return len(h.all) }

// Top is the least element; the heap must not be empty.
func (h *Heap[T]) Top() T { return h.all[0] }

// Push adds an element.
func (h *Heap[T]) Push(v T) {
	h.all = append(h.all, v)
	for i := len(h.all) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(h.all[i], h.all[up]) {
			return
		}
		h.all[i], h.all[up] = h.all[up], h.all[i]
		i = up
	}
}

// Pop takes the least element; the heap must not be empty.
func (h *Heap[T]) Pop() T {
	top, last := h.all[0], len(h.all)-1
	var zero T
	h.all[0], h.all[last] = h.all[last], zero
	h.all = h.all[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && h.less(h.all[child], h.all[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		h.all[i], h.all[least] = h.all[least], h.all[i]
		i = least
	}
}
