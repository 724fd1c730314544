package iostreams

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// The pace of the spinner: it shows up only when something takes long.
const (
	spinAfter = 400 * time.Millisecond
	spinEvery = 120 * time.Millisecond
)

// spinner is a line on stderr that says what is being waited for.
type spinner struct {
	text  string
	shown bool
	frame int
}

// clear removes the line of a shown spinner. The caller holds the lock.
func (p *spinner) clear(w io.Writer) {
	if p != nil && p.shown {
		_, _ = fmt.Fprint(w, "\r\x1b[K")
		p.shown = false
	}
}

// Spin shows what is being waited for, once it takes long and stderr is a
// terminal. Stop removes it, and may be called more than once.
func (s *Streams) Spin(text string) (stop func()) {
	if !s.ErrTTY || s.Quiet || s.CI() || s.Dumb() {
		return func() {}
	}
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.turn(text, done)
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-finished
	})
}

func (s *Streams) turn(text string, done <-chan struct{}) {
	wait := time.NewTimer(spinAfter)
	defer wait.Stop()
	select {
	case <-done:
		return
	case <-wait.C:
	}
	if s.Accessible {
		s.Warnf("%s", text)
		return
	}
	p := &spinner{text: text}
	tick := time.NewTicker(spinEvery)
	defer tick.Stop()
	for {
		s.draw(p)
		select {
		case <-tick.C:
		case <-done:
			s.mu.Lock()
			p.clear(s.Err)
			s.spin = nil
			s.mu.Unlock()
			return
		}
	}
}

func (s *Streams) draw(p *spinner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.Err, "\r\x1b[K%c %s", `|/-\`[p.frame%4], p.text)
	p.frame++
	p.shown, s.spin = true, p
}
