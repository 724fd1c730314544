package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// tails is a crowd of readers: half of them follow the events of an execution,
// half its live output. Every one must be served.
func (l *lab) tails(ctx context.Context) error {
	const writers = 64
	if _, err := l.closed(ctx, writers, min(warm, l.Duration)); err != nil {
		return err
	}
	alone, err := l.closed(ctx, writers, l.Duration)
	if err != nil {
		return err
	}
	watched := l.Tails / 2
	l.Progress(fmt.Sprintf("tails: %d readers of %d executions", 2*watched, watched))
	crowd := &crowd{lab: l, runs: make([]attempt, watched)}
	defer crowd.leave()
	if err := crowd.gather(ctx); err != nil {
		return err
	}
	var beside *load
	peak, err := l.watch(ctx, func(ctx context.Context) error {
		if beside, err = l.closed(ctx, writers, l.Duration); err != nil {
			return err
		}
		return crowd.drive(ctx)
	})
	if err != nil {
		return err
	}
	if err := crowd.wait(ctx); err != nil {
		return err
	}
	s := l.section("tails", fmt.Sprintf("%d readers", 2*watched))
	s.add("served", 100*float64(crowd.served.Load())/float64(2*watched), "%", Higher, goal(100))
	s.add("RSS, highest", mebibytes(peak), "MiB", Lower, goal(1024))
	s.add("writer alone", alone.rate(), "steps/s", Higher)
	s.add("writer beside them", beside.rate(), "steps/s", Higher)
	s.add("beside over alone", beside.rate()/alone.rate(), "×", Higher, goal(0.7))
	return nil
}

// crowd is executions that are held, and the readers of each.
type crowd struct {
	lab    *lab
	runs   []attempt
	conns  []*conn
	wg     sync.WaitGroup
	served atomic.Int64 // readers that saw what they waited for, and the end
	mu     sync.Mutex
	failed error // of a reader
}

// gather starts the executions and opens the readers.
func (w *crowd) gather(ctx context.Context) error {
	var next atomic.Int64
	return w.lab.callers(ctx, fillers, func(ctx context.Context, _ int, conn *conn) error {
		c := w.lab.caller(conn)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(w.runs) {
				return nil
			}
			if err := c.begin(ctx, ""); err != nil {
				return err
			}
			w.runs[i] = c.now
			w.lab.hooks.forget(c.now.execution)
			at := "/v0/executions/" + c.now.execution
			if err := w.open(ctx, at+"/events", string(wire.EventExecutionCompleted), "event: "+string(wire.EventStepSucceeded)); err != nil {
				return err
			}
			if err := w.open(ctx, at+"/stream", wire.SSEEnd, `"data":"`+liveText+`"`); err != nil {
				return err
			}
		}
	})
}

const liveText = "thinking"

// open starts a reader that waits for something, and then for the last event.
func (w *crowd) open(ctx context.Context, path, last, want string) error {
	c, err := w.lab.dial(ctx)
	if err != nil {
		return err
	}
	body, err := c.stream(path)
	if err != nil {
		c.close()
		return err
	}
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
	w.wg.Go(func() {
		defer c.close()
		if err := follow(body, []byte("event: "+last), []byte(want)); err != nil {
			w.mu.Lock()
			w.failed = errors.Join(w.failed, fmt.Errorf("%s: %w", path, err))
			w.mu.Unlock()
			return
		}
		w.served.Add(1)
	})
	return nil
}

// follow reads a stream up to its last event, which must come after the wanted one.
func follow(body io.Reader, last, want []byte) error {
	seen := false
	for lines := bufio.NewScanner(body); lines.Scan(); {
		switch line := lines.Bytes(); {
		case bytes.Contains(line, want):
			seen = true
		case bytes.HasPrefix(line, last):
			if !seen {
				return errors.New("the end came without what was to come before it")
			}
			return nil
		}
	}
	return errors.New("the stream ended early")
}

// stream opens Server-Sent Events; the connection is good for nothing else afterwards.
func (c *conn) stream(path string) (io.Reader, error) {
	c.begin(http.MethodGet, path, nil)
	c.line("Authorization: Bearer ", c.who.token)
	c.line("Accept: ", wire.ContentTypeEventStream)
	if err := c.send(nil); err != nil {
		return nil, err
	}
	status, length, err := c.head()
	switch {
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, err)
	case status != http.StatusOK || length >= 0:
		return nil, &refused{status: status, what: "GET " + path}
	}
	return httputil.NewChunkedReader(c.in), c.net.SetDeadline(time.Time{})
}

// drive makes something happen in each execution and ends it.
func (w *crowd) drive(ctx context.Context) error {
	var next atomic.Int64
	return w.lab.callers(ctx, fillers, func(_ context.Context, _ int, conn *conn) error {
		c := w.lab.caller(conn)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(w.runs) {
				return nil
			}
			c.now = w.runs[i]
			answer, err := c.submit(wire.KindToolCall, allowedTool, c.args())
			if err != nil {
				return err
			}
			step, err := expect(answer, wire.DecisionProceed)
			if err != nil {
				return err
			}
			if _, err := c.asAgent(c.now, "/steps/"+step+"/stream", []byte(`{"seq":0,"data":"`+liveText+`"}`)); err != nil {
				return err
			}
			if err := c.report(step, c.result()); err != nil {
				return err
			}
			if err := c.finish("complete"); err != nil {
				return err
			}
		}
	})
}

// wait waits until every reader has come to its end.
func (w *crowd) wait(ctx context.Context) error {
	const patience = 30 * time.Second
	done := make(chan struct{})
	go func() { w.wg.Wait(); close(done) }()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
		return w.failed
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil // the share that was served says it
	}
}

// leave closes what is still open.
func (w *crowd) leave() {
	for _, c := range w.conns {
		c.close()
	}
	w.wg.Wait()
}

// overload asks for ten times what can be served, by arrivals that do not wait
// for one another, and looks at what is served meanwhile and how soon all is
// well afterwards.
func (l *lab) overload(ctx context.Context) error {
	const (
		factor  = 10
		clients = 4000 // connections that arrivals have
		agents  = 32   // connections of the agent
	)
	one := *l
	one.Steps = 1
	calm, err := one.closed(ctx, 64, max(l.Duration/3, warm))
	if err != nil {
		return err
	}
	sustainable := float64(len(calm.create)) / calm.elapsed.Seconds()
	l.Progress(fmt.Sprintf("overload: %.0f executions/s can be served; %.0f/s arrive", sustainable, factor*sustainable))
	w := &storm{lab: l, work: make(chan attempt, 1<<20)}
	l.hooks.take(func(h hook) { w.work <- h.attempt })
	defer l.hooks.take(nil)
	var recovery time.Duration
	peak, err := l.watch(ctx, func(ctx context.Context) error {
		working, stop := context.WithCancel(ctx)
		var at errgroup.Group
		at.Go(func() error {
			return l.callers(ctx, agents, func(_ context.Context, _ int, c *conn) error { return w.serve(working, c) })
		})
		err := w.arrive(ctx, clients, factor*sustainable)
		if err == nil {
			recovery, err = w.recover(ctx, calm.create.sorted().quantile(0.99))
		}
		stop()
		return errors.Join(err, at.Wait())
	})
	if err != nil {
		return err
	}
	offered := float64(len(w.accepted)) + float64(w.refused)
	s := l.section("overload", fmt.Sprintf("%d×", factor))
	s.add("sustainable", sustainable, "executions/s", Higher)
	s.add("offered", offered/l.Duration.Seconds(), "executions/s", Told)
	s.add("accepted", float64(len(w.accepted))/l.Duration.Seconds(), "executions/s", Told)
	s.add("refused (429, 503)", 100*float64(w.refused)/max(1, offered), "%", Told)
	s.latency("accepted create", w.accepted)
	s.latency("submit", w.submits.took)
	s.add("submits refused", w.submits.share(), "%", Told)
	s.latency("complete", w.completes.took) // makes room: it must be served when nothing else is
	s.add("completes refused", w.completes.share(), "%", Lower)
	s.add("RSS, highest", mebibytes(peak), "MiB", Lower)
	s.add("recovered after", milliseconds(recovery), "ms", Lower, goal(2000))
	return nil
}

// storm is a load that does not wait.
type storm struct {
	lab  *lab
	work chan attempt // webhooks that came

	mu        sync.Mutex
	accepted  samples
	refused   int
	submits   insisted
	completes insisted
}

// insisted is requests that are sent again until they are served.
type insisted struct {
	took    samples // of those that were served, without what was refused before
	refused int
}

func (i *insisted) join(o *insisted) {
	i.took, i.refused = append(i.took, o.took...), i.refused+o.refused
}

// share is how many of a hundred requests were refused.
func (i *insisted) share() float64 {
	return 100 * float64(i.refused) / float64(max(1, i.refused+len(i.took)))
}

func (i *insisted) do(ctx context.Context, fn func() error) error {
	for {
		from := time.Now()
		err := fn()
		if err == nil {
			i.took = append(i.took, time.Since(from))
			return nil
		}
		if !shed(err) {
			return err
		}
		i.refused++
		if err := client.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// shed reports whether a server that has too much to do refused a request.
func shed(err error) bool {
	status := refusedWith(err)
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// arrive sends creates at a rate, each at its own moment, as long as there is a
// free connection.
func (w *storm) arrive(ctx context.Context, clients int, perSecond float64) error {
	body := fmt.Appendf(nil, `{"agent_id":%q,"input":{"from":"bench"}}`, w.lab.who.agent)
	gap := time.Duration(float64(time.Second) / perSecond)
	conns := make([]*conn, clients)
	if err := each(ctx, fillers, func(ctx context.Context, i int) (err error) {
		for ; i < clients && err == nil; i += fillers {
			conns[i], err = w.lab.dial(ctx)
		}
		return err
	}); err != nil {
		return err
	}
	var next atomic.Int64
	began := time.Now()
	return each(ctx, clients, func(ctx context.Context, i int) error {
		c := conns[i]
		defer c.close()
		var accepted samples
		refused := 0
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.accepted, w.refused = append(w.accepted, accepted...), w.refused+refused
		}()
		for {
			due := time.Duration(next.Add(1)-1) * gap
			if due >= w.lab.Duration {
				return nil
			}
			if early := due - time.Since(began); early > 0 {
				if err := client.Sleep(ctx, early); err != nil {
					return err
				}
			}
			if time.Since(began) >= w.lab.Duration { // it would have come, had a connection been free
				return nil
			}
			from := time.Now()
			_, err := c.asClient(http.MethodPost, "/v0/executions", body)
			switch {
			case err == nil:
				accepted = append(accepted, time.Since(from))
			case shed(err):
				refused++
			default:
				return err
			}
		}
	})
}

// serve is the agent: one step of each execution, and its end. What is shed is
// asked again, as an agent must.
func (w *storm) serve(ctx context.Context, conn *conn) error {
	c := w.lab.caller(conn)
	var submits, completes insisted
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.submits.join(&submits)
		w.completes.join(&completes)
	}()
	for {
		select {
		case c.now = <-w.work:
		case <-ctx.Done():
			return nil
		}
		var answer []byte
		var step string
		err := submits.do(ctx, func() (err error) {
			answer, err = c.submit(wire.KindToolCall, allowedTool, c.args())
			return err
		})
		if err == nil {
			step, err = expect(answer, wire.DecisionProceed)
		}
		if err == nil {
			err = completes.do(ctx, func() error { return c.report(step, c.result()) })
		}
		if err == nil {
			err = completes.do(ctx, func() error { return c.finish("complete") })
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil // it was told to stop
			}
			return err
		}
	}
}

// recover is how long it takes until creates are answered again as quickly as
// when all was calm, ten in a row.
func (w *storm) recover(ctx context.Context, usual time.Duration) (time.Duration, error) {
	const inARow = 10
	var took time.Duration
	began := time.Now()
	return took, w.lab.callers(ctx, 1, func(ctx context.Context, _ int, c *conn) error {
		body := fmt.Appendf(nil, `{"agent_id":%q,"input":{"from":"bench"}}`, w.lab.who.agent)
		for good := 0; good < inARow; {
			from := time.Now()
			_, err := c.asClient(http.MethodPost, "/v0/executions", body)
			switch {
			case err == nil && time.Since(from) <= 2*usual:
				if good++; good == 1 {
					took = from.Sub(began)
				}
				continue
			case err != nil && !shed(err):
				return err
			}
			if good = 0; time.Since(began) > time.Minute {
				return errors.New("the server does not recover within a minute")
			}
			if err := client.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
}
