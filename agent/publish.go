package agent

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// deltaPause is the shortest time between two requests of one publisher:
	// a person sees no difference, and a fast model costs the kernel twenty
	// requests a second instead of hundreds.
	deltaPause = 50 * time.Millisecond
	// deltaGrace is how long the end of a step waits for its last deltas.
	// They would be refused once the step has its outcome.
	deltaGrace = 250 * time.Millisecond
	// deltaTimeout bounds one request.
	deltaTimeout = 5 * time.Second
)

// Publish sends text to whoever watches the execution live, as output of the
// step whose function was given ctx; with any other context it does nothing. It
// never blocks and never fails: what cannot be delivered in time is dropped,
// which the watcher sees as a gap in the sequence. Nothing of it is stored, and
// a replay publishes nothing.
func Publish(ctx context.Context, text string) {
	if e := effectFrom(ctx); e != nil {
		e.publish(ctx, text)
	}
}

// publish hands text to the effect's publisher and makes one if need be.
func (e *effect) publish(ctx context.Context, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if e.deltas == nil {
		e.deltas = startPublisher(context.WithoutCancel(ctx), e.postDelta)
	}
	e.deltas.add(text)
}

// flushDeltas delivers what was published, for as long as deltaGrace, and
// takes no more.
func (e *effect) flushDeltas() {
	if p := e.endDeltas(); p != nil {
		p.flush(deltaGrace)
	}
}

// closeDeltas drops what was not delivered yet.
func (e *effect) closeDeltas() {
	if p := e.endDeltas(); p != nil {
		p.flush(0)
	}
}

func (e *effect) endDeltas() *publisher {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.deltas
	e.deltas, e.closed = nil, true
	return p
}

func (e *effect) postDelta(ctx context.Context, d delta) error {
	body, err := encode(d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deltaTimeout)
	defer cancel()
	_, err = e.run.client.once(ctx, call{
		method:   http.MethodPost,
		path:     executionPath(e.run.execution, "steps", e.stepID, "stream"),
		body:     body,
		dispatch: &e.run.dispatch,
	})
	return err
}

// publisher posts the deltas of one step, one request at a time, in order. Its
// goroutine ends with flush.
type publisher struct {
	post   func(context.Context, delta) error
	cancel context.CancelFunc
	wake   chan struct{} // holds one token while there may be something to do
	ending chan struct{} // closed by flush
	done   chan struct{} // closed by the goroutine

	mu    sync.Mutex
	queue deltaQueue
}

func startPublisher(ctx context.Context, post func(context.Context, delta) error) *publisher {
	ctx, cancel := context.WithCancel(ctx)
	p := &publisher{
		post:   post,
		cancel: cancel,
		wake:   make(chan struct{}, 1),
		ending: make(chan struct{}),
		done:   make(chan struct{}),
	}
	go func() {
		defer close(p.done)
		p.loop(ctx)
	}()
	return p
}

func (p *publisher) add(text string) {
	p.mu.Lock()
	p.queue.add(text)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // the goroutine has yet to look
	}
}

// flush waits for the queue to empty, at most for as long as grace, and ends
// the goroutine. It is called once.
func (p *publisher) flush(grace time.Duration) {
	p.mu.Lock()
	p.queue.flush()
	p.mu.Unlock()
	close(p.ending)
	if grace > 0 {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
		}
	}
	p.cancel()
}

func (p *publisher) loop(ctx context.Context) {
	for {
		if !p.drain(ctx) {
			return
		}
		select {
		case <-p.wake:
		case <-p.ending:
			p.drain(ctx)
			return
		case <-ctx.Done():
			return
		}
	}
}

// drain posts until the queue is empty. It returns false when there is no point
// in going on.
func (p *publisher) drain(ctx context.Context) bool {
	for {
		p.mu.Lock()
		next, ok := p.queue.take()
		p.mu.Unlock()
		if !ok {
			return true
		}
		pause := time.NewTimer(deltaPause)
		err := p.post(ctx, next)
		var api *APIError
		if errors.As(err, &api) && api.Status < 500 && api.Status != http.StatusTooManyRequests {
			pause.Stop()
			return false // not a step that can stream, or no longer
		}
		select {
		case <-pause.C:
		case <-p.ending:
		case <-ctx.Done():
			pause.Stop()
			return false
		}
		pause.Stop()
	}
}
