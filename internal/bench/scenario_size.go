package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
)

// fillers is how many connections fill a database.
const fillers = 64

// fill makes executions until more says that there are enough. Each records
// steps and then ends as how says, or not at all.
func (l *lab) fill(ctx context.Context, steps int, more func(n int) bool, how func(n int) string) error {
	l.stock()
	var made atomic.Int64
	return l.callers(ctx, fillers, func(ctx context.Context, _ int, conn *conn) error {
		c := l.caller(conn)
		for {
			n := int(made.Add(1)) - 1
			if !more(n) {
				return nil
			}
			if n > 0 && n%50_000 == 0 {
				l.Progress(fmt.Sprintf("%d executions", n))
			}
			if err := c.begin(ctx, fmt.Sprintf(`,"labels":{"team":"t%d","ticket":"k%d"}`, n%10, n%1000)); err != nil {
				return err
			}
			c.took = timings{}
			for range steps {
				if err := c.next(); err != nil {
					return err
				}
			}
			end := how(n)
			if end == "" {
				l.hooks.forget(c.now.execution)
				continue
			}
			if err := c.finish(end); err != nil {
				return err
			}
		}
	})
}

// live is the memory that executions take which have not ended.
func (l *lab) live(ctx context.Context) error {
	before, err := l.server.scrape(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	peak, err := l.watch(ctx, func(ctx context.Context) error {
		return l.fill(ctx, l.Steps, func(n int) bool { return n < l.Executions }, func(int) string { return "" })
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(began)
	after, err := l.server.scrape(ctx)
	if err != nil {
		return err
	}
	s := l.section("live", fmt.Sprintf("%d executions of %d steps", l.Executions, l.Steps))
	s.add("RSS", mebibytes(after.rss()), "MiB", Lower, goal(600))
	s.add("RSS, highest", mebibytes(peak), "MiB", Lower)
	s.add("memory", (after.rss()-before.rss())/float64(l.Executions), "bytes/execution", Told)
	s.add("filled at", float64(l.Executions*l.Steps)/elapsed.Seconds(), "steps/s", Told)
	return nil
}

func mebibytes(bytes float64) float64 { return bytes / (1 << 20) }

// watch runs fn and says how much memory the server had at most meanwhile.
func (l *lab) watch(ctx context.Context, fn func(context.Context) error) (peak float64, err error) {
	const every = 250 * time.Millisecond
	look := func(ctx context.Context) error {
		now, err := l.server.scrape(ctx)
		if err == nil {
			peak = max(peak, now.rss())
		}
		return err
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	var lookErr error
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for lookErr == nil {
			select {
			case <-t.C:
				lookErr = look(ctx)
			case <-done:
				return
			}
		}
	})
	err = fn(ctx)
	close(done)
	wg.Wait()
	if err == nil {
		err = lookErr
	}
	if err == nil {
		err = look(ctx)
	}
	return peak, err
}

// idle is what a server costs that has nothing to do.
func (l *lab) idle(ctx context.Context) error {
	if err := client.Sleep(ctx, 2*time.Second); err != nil { // after its start and its rest
		return err
	}
	before, err := l.server.scrape(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := client.Sleep(ctx, 10*l.Duration); err != nil {
		return err
	}
	after, err := l.server.scrape(ctx)
	if err != nil {
		return err
	}
	s := l.section("idle", "")
	s.add("CPU", 100*(after.cpu()-before.cpu()).Seconds()/time.Since(began).Seconds(), "% of a core", Lower, goal(0.5))
	s.add("RSS", mebibytes(after.rss()), "MiB", Lower, goal(40))
	return nil
}

// grow compares an empty file with a large one, and starts on the large one.
func (l *lab) grow(ctx context.Context) error {
	const callers = 16
	cost := func() (*load, error) {
		if _, err := l.closed(ctx, callers, min(warm, l.Duration)); err != nil {
			return nil, err
		}
		return l.closed(ctx, callers, 2*l.Duration)
	}
	empty, err := cost()
	if err != nil {
		return err
	}
	want := l.Gigabytes * (1 << 30)
	l.Progress(fmt.Sprintf("grow: storing %.1f GiB", l.Gigabytes))
	var full atomic.Bool
	err = each(ctx, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			big := *l
			big.Payload = max(l.Payload, 2*large)
			return big.fill(ctx, 40, func(int) bool { return !full.Load() }, func(int) string { return "complete" })
		}
		defer full.Store(true)
		for {
			now, err := l.server.scrape(ctx)
			if err != nil || now.disk() >= want {
				return err
			}
			if err := client.Sleep(ctx, 200*time.Millisecond); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	if _, err := l.settled(ctx); err != nil {
		return err
	}
	large, err := cost()
	if err != nil {
		return err
	}
	s := l.section("grow", fmt.Sprintf("%.3g GiB c=%d", l.Gigabytes, callers))
	s.add("empty", empty.rate(), "steps/s", Higher)
	s.add("large", large.rate(), "steps/s", Higher)
	s.add("wall, large over empty", empty.rate()/large.rate(), "×", Lower, goal(1.3))
	s.add("CPU, large over empty", float64(large.cpu())/float64(max(1, empty.cpu())), "×", Lower, goal(1.15))
	if err := l.server.stop(); err != nil {
		return err
	}
	clean, err := l.server.start(ctx)
	if err != nil {
		return err
	}
	s.add("start after a clean stop", milliseconds(clean), "ms", Lower, goal(1000))
	// In the middle of work, and again: the first commit after a crash comes with what it left.
	if _, err := l.closed(ctx, callers, l.Duration); err != nil {
		return err
	}
	if err := l.server.kill(); err != nil {
		return err
	}
	crashed, err := l.server.start(ctx)
	if err != nil {
		return err
	}
	s.add("start after kill -9", milliseconds(crashed), "ms", Lower, goal(3000))
	return nil
}
