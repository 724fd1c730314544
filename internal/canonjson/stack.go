package canonjson

// stack needs no allocation until it holds more than its inline elements. T
// must hold no pointers: elements that are cut off are not cleared.
//
// The inline part is used by index and never kept as a slice: a slice of it
// stored in the stack itself would move the whole stack to the heap.
type stack[T any] struct {
	n      int
	inline [32]T
	spill  []T // once not nil, all elements live here
}

func (s *stack[T]) len() int { return s.n }

func (s *stack[T]) push(v T) {
	switch {
	case s.spill != nil:
		s.spill = append(s.spill, v)
	case s.n < len(s.inline):
		s.inline[s.n] = v
	default:
		s.spill = make([]T, 0, 4*len(s.inline))
		s.spill = append(append(s.spill, s.inline[:]...), v)
	}
	s.n++
}

// last is the last element, good until the next push; there must be one.
func (s *stack[T]) last() *T {
	if s.spill != nil {
		return &s.spill[s.n-1]
	}
	return &s.inline[s.n-1]
}

// from is the elements from base on, good until the next push.
func (s *stack[T]) from(base int) []T {
	if s.spill != nil {
		return s.spill[base:s.n]
	}
	return s.inline[base:s.n]
}

// cut keeps the first n elements.
func (s *stack[T]) cut(n int) {
	s.n = n
	if s.spill != nil {
		s.spill = s.spill[:n]
	}
}
