package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// query is a read that is measured, and what it was alone.
type query struct {
	name, path string
	alone      samples
	size       int    // bytes of the answer
	bare       string // path of the bare read that is as much work
}

// list is how quick reads are with many executions stored.
func (l *lab) list(ctx context.Context) error {
	l.Progress(fmt.Sprintf("list: storing %d executions", l.Executions))
	if err := l.fill(ctx, 1, func(n int) bool { return n < l.Executions }, func(n int) string {
		if n%100 == 0 {
			return "fail"
		}
		return "complete"
	}); err != nil {
		return err
	}
	long, err := l.logOf(ctx, 300) // of more than a thousand events
	if err != nil {
		return err
	}
	agent := "/v0/executions?agent_id=" + l.who.agent
	queries := []*query{
		{name: "newest of an agent", path: agent},
		{name: "by status, 1 in 100", path: agent + "&status=failed"},
		{name: "by status, none", path: agent + "&status=blocked"},
		{name: "by label, 1 in 10", path: agent + "&label=team:t7"},
		{name: "by label, 1 in 1,000", path: agent + "&label=ticket:k123"},
		{name: "by label, 1 in 10, and status, 1 in 100", path: agent + "&label=team:t0&status=failed"},
		{name: "by label, 1 in 10, and status, none", path: agent + "&label=team:t7&status=blocked"},
		{name: "page of 1,000 events", path: "/v0/executions/" + long + "/events?limit=1000"},
	}
	idle := l.section("list", fmt.Sprintf("%d executions, idle", l.Executions))
	err = l.callers(ctx, 1, func(ctx context.Context, _ int, c *conn) (err error) {
		for _, q := range queries {
			if q.alone, err = again(ctx, c, q.path, l.Duration/2); err != nil {
				return err
			}
			q.size = len(c.body)
			idle.latency(q.name, q.alone, bounds(0, 5))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !l.local() {
		return l.readBeside(ctx, queries, nil)
	}
	_, err = withEcho(ctx, l.Self, func(ctx context.Context, e *echoServer) error {
		bare, err := e.dial(ctx)
		if err != nil {
			return err
		}
		defer bare.close()
		for _, q := range queries {
			if q.bare, err = l.sameWork(ctx, bare, q); err != nil {
				return err
			}
		}
		return l.readBeside(ctx, queries, bare)
	})
	return err
}

// readBeside reads while a full load writes, and holds each query against what
// it took alone and, unless bare is nil, against the bare read beside the same
// load: a process that only computes for as long and answers with as many
// bytes waits for nothing but its share of the machine.
func (l *lab) readBeside(ctx context.Context, queries []*query, bare *conn) error {
	s := l.section("list", fmt.Sprintf("%d executions, beside a writer", l.Executions))
	rate, err := l.beside(ctx, func(ctx context.Context) error {
		return l.callers(ctx, 1, func(ctx context.Context, _ int, c *conn) error {
			for _, q := range queries {
				took, err := again(ctx, c, q.path, l.Duration/2)
				var limit samples
				if err == nil && bare != nil {
					limit, err = again(ctx, bare, q.bare, l.Duration/2)
				}
				if err != nil {
					return err
				}
				s.latency(q.name, took, bounds(0, 2*milliseconds(q.alone.sorted().quantile(0.99))), ofLatency(limit))
			}
			return nil
		})
	})
	s.add("writer", rate, "steps/s", Told)
	return err
}

// again makes one request after another for a time, but at least one.
func again(ctx context.Context, c *conn, path string, d time.Duration) (took samples, err error) {
	for began := time.Now(); len(took) == 0 || time.Since(began) < d && ctx.Err() == nil; {
		from := time.Now()
		if _, err := c.asClient("GET", path, nil); err != nil {
			return nil, err
		}
		took = append(took, time.Since(from))
	}
	return took, ctx.Err()
}

// sameWork is the path of a bare read that takes as long as a query took alone.
func (l *lab) sameWork(ctx context.Context, c *conn, q *query) (string, error) {
	var took [2]samples
	for i, blocks := range []int{0, measuredBlocks} {
		all, err := again(ctx, c, workPath(blocks, q.size), min(probeTime, l.Duration/2))
		if err != nil {
			return "", err
		}
		took[i] = all.sorted()
	}
	left := q.alone.sorted().quantile(0.5) - took[0].quantile(0.5)
	return workPath(blocksFor(left, took[0][0], took[1][0]), q.size), nil
}

// measuredBlocks is how many blocks show how long one takes.
const measuredBlocks = 4096

// blocksFor is how many blocks a time has room for, by the quickest answers
// without any and with [measuredBlocks]. On a machine with much else to do those
// with may be the quicker ones: no machine hashes a block in less than the least.
func blocksFor(left, none, measured time.Duration) int {
	const least = 100 * time.Nanosecond
	one := max(least, (measured-none)/measuredBlocks)
	return int(max(0, left) / one)
}

// logOf makes an execution of so many steps and says which it is.
func (l *lab) logOf(ctx context.Context, steps int) (id string, err error) {
	err = l.callers(ctx, 1, func(ctx context.Context, _ int, conn *conn) error {
		c := l.caller(conn)
		if err := c.begin(ctx, ""); err != nil {
			return err
		}
		id = c.now.execution
		for range steps {
			if err := c.next(); err != nil {
				return err
			}
		}
		return c.finish("complete")
	})
	return id, err
}

// beside runs fn while a full load writes, and says what the load reached.
func (l *lab) beside(ctx context.Context, fn func(context.Context) error) (rate float64, err error) {
	var stop atomic.Bool
	var steps atomic.Int64
	began := time.Now()
	err = each(ctx, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			defer stop.Store(true)
			return fn(ctx)
		}
		return l.callers(ctx, 64, func(ctx context.Context, _ int, conn *conn) error {
			c := l.caller(conn)
			for !stop.Load() {
				n := c.n
				if err := c.execution(ctx, func(i int) bool { return i < l.Steps && !stop.Load() }); err != nil {
					return err
				}
				c.took = timings{}
				steps.Add(int64(c.n - n))
			}
			return nil
		})
	})
	return float64(steps.Load()) / time.Since(began).Seconds(), err
}
