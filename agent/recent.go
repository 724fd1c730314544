package agent

// maxSeen is how many deliveries an agent remembers. A repeat comes within
// seconds of the first, and the kernel refuses the writes of any that comes
// later than this memory reaches.
const maxSeen = 8192

// recent is a set that forgets its oldest member when it is full.
type recent struct {
	members map[delivery]struct{}
	ring    []delivery
	next    int
}

func newRecent(size int) *recent {
	return &recent{members: make(map[delivery]struct{}), ring: make([]delivery, 0, size)}
}

func (s *recent) has(d delivery) bool {
	_, ok := s.members[d]
	return ok
}

// add enters a delivery that is not a member.
func (s *recent) add(d delivery) {
	s.members[d] = struct{}{}
	if len(s.ring) < cap(s.ring) {
		s.ring = append(s.ring, d)
		return
	}
	delete(s.members, s.ring[s.next])
	s.ring[s.next] = d
	s.next = (s.next + 1) % len(s.ring)
}
