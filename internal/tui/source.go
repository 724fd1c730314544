package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// The pace of live data: what comes within a frame is one message.
const (
	framePause = 100 * time.Millisecond
	batchLimit = 2000
)

// life is what goroutines and commands live under. [Run] ends it and waits.
type life struct {
	ctx context.Context // of the program: bubbletea's Update has no parameter for one
	wg  sync.WaitGroup
	// still is for tests that drive Update by hand: no command waits for a
	// source or for the clock.
	still bool
}

// source is one goroutine that listens to the service, and the way of its
// messages into Update.
type source struct {
	ctx    context.Context
	cancel context.CancelFunc
	out    chan tea.Msg
	still  bool
}

// sourceMsg is a message of a source. One of a source that was left is dropped.
type sourceMsg struct {
	from *source
	msg  tea.Msg
}

// failMsg is a panic that was caught.
type failMsg struct{ err error }

// open starts fn. It ends with the life, with close, or by itself.
func (l *life) open(fn func(ctx context.Context, s *source)) *source {
	s := &source{out: make(chan tea.Msg), still: l.still}
	s.ctx, s.cancel = context.WithCancel(l.ctx)
	l.wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				s.send(failMsg{fmt.Errorf("panic: %v\n%s", r, debug.Stack())})
			}
		}()
		fn(s.ctx, s)
	})
	return s
}

func (s *source) close() {
	if s != nil {
		s.cancel()
	}
}

// send gives a message to Update, unless the source was closed.
func (s *source) send(m tea.Msg) {
	select {
	case s.out <- m:
	case <-s.ctx.Done():
	}
}

// listen waits for the next message. Update asks again after each one.
func (s *source) listen() tea.Cmd {
	if s == nil || s.still {
		return nil
	}
	return func() tea.Msg {
		select {
		case m := <-s.out:
			return sourceMsg{s, m}
		case <-s.ctx.Done():
			return nil
		}
	}
}

// batch gives what comes in to emit, at once when it was quiet and otherwise
// every framePause. A full channel holds back who fills it.
func batch[T any](ctx context.Context, in <-chan T, emit func([]T)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		var items []T
		select {
		case <-ctx.Done():
			return
		case v := <-in:
			items = append(items, v)
		}
	drain:
		for len(items) < batchLimit {
			select {
			case v := <-in:
				items = append(items, v)
			default:
				break drain
			}
		}
		emit(items)
		pause.Reset(framePause)
	}
}

// put hands an item to batch.
func put[T any](ctx context.Context, in chan<- T, v T) error {
	select {
	case in <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// safely runs fn in a goroutine of the life that ends with ctx.
func (l *life) safely(s *source, fn func()) {
	l.wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				s.send(failMsg{fmt.Errorf("panic: %v\n%s", r, debug.Stack())})
			}
		}()
		fn()
	})
}

// after gives a message back when a while has passed.
func (l *life) after(d time.Duration, m tea.Msg) tea.Cmd {
	if l.still {
		return func() tea.Msg { return m }
	}
	return tea.Tick(d, func(time.Time) tea.Msg { return m })
}

// ask makes a command that talks to the service. A panic in it is a message.
func (l *life) ask(limit time.Duration, fn func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() (m tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				m = failMsg{fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
			}
		}()
		ctx, cancel := context.WithTimeout(l.ctx, limit)
		defer cancel()
		return fn(ctx)
	}
}
