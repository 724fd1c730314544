package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// warm is how long the load runs before it counts.
const warm = 300 * time.Millisecond

// throughput is the closed loop at each concurrency.
func (l *lab) throughput(ctx context.Context) error {
	for _, callers := range l.Concurrency {
		if _, err := l.closed(ctx, callers, min(warm, l.Duration)); err != nil {
			return err
		}
		ceiling, err := l.ceiling(ctx, callers)
		if err != nil {
			return err
		}
		r, err := l.closed(ctx, callers, l.Duration)
		if err != nil {
			return err
		}
		s := l.section("steps", fmt.Sprintf("c=%d", callers))
		more := []func(*Figure){of(ceiling)}
		submits := bounds(0, 0)
		switch callers {
		case 64:
			more = append(more, goal(8000))
		case 16:
			submits = bounds(0, 5)
		}
		s.add("throughput", r.rate(), "steps/s", Higher, more...)
		s.latency("submit", r.submit, submits)
		s.latency("complete", r.complete)
		s.costs(r)
	}
	return nil
}

// costs adds what the server used for the steps of a load.
func (s section) costs(r *load) {
	s.add("server CPU", microseconds(r.cpu()), "µs/step", Lower)
	s.add("on the disk", (r.after.disk()-r.before.disk())/float64(r.steps), "bytes/step", Lower)
	commit := r.after.since(r.before, "kernelctl_store_commit_seconds")
	s.add("commit p50", 1e3*commit.quantile(0.5), "ms", Told)
	s.add("commit p99", 1e3*commit.quantile(0.99), "ms", Told)
	s.add("batch", r.after.since(r.before, "kernelctl_store_batch_operations").mean(), "operations/commit", Told)
}

// until runs one execution after another, alone, for a duration.
func (l *lab) until(ctx context.Context, fn func(ctx context.Context, c *caller) error) error {
	return l.callers(ctx, 1, func(ctx context.Context, _ int, conn *conn) error {
		for began, c := time.Now(), l.caller(conn); time.Since(began) < l.Duration; {
			if err := fn(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// dispatch is how soon the agent of an idle server is woken.
func (l *lab) dispatch(ctx context.Context) error {
	var took timings
	err := l.until(ctx, func(ctx context.Context, c *caller) error {
		if err := c.begin(ctx, ""); err != nil {
			return err
		}
		took = c.took
		return c.finish("complete")
	})
	s := l.section("dispatch", "")
	s.latency("create answered to webhook", took.dispatch, bounds(3, 10))
	s.latency("create sent to webhook", took.wake)
	return err
}

// approval is how soon the agent is woken when a person has decided.
func (l *lab) approval(ctx context.Context) error {
	var took samples
	err := l.until(ctx, func(ctx context.Context, c *caller) error {
		if err := c.begin(ctx, ""); err != nil {
			return err
		}
		d, err := c.gate(ctx)
		if err != nil {
			return err
		}
		took = append(took, d)
		answer, err := c.submit(wire.KindToolCall, gatedTool, gateArgs)
		if err != nil {
			return err
		}
		step, err := expect(answer, wire.DecisionProceed)
		if err != nil {
			return err
		}
		if err := c.report(step, c.result()); err != nil {
			return err
		}
		return c.finish("complete")
	})
	l.section("approval", "").latency("grant to webhook", took, bounds(3, 0))
	return err
}

var gateArgs = []byte(`{"to":"team@example.com"}`)

// gate submits a step that waits for a person, grants it, and waits for the
// webhook that resumes the run. It says how long that took from the grant's
// answer on.
func (c *caller) gate(ctx context.Context) (time.Duration, error) {
	answer, err := c.submit(wire.KindToolCall, gatedTool, gateArgs)
	if err != nil {
		return 0, err
	}
	if _, err := expect(answer, wire.DecisionBlocked); err != nil {
		return 0, err
	}
	if _, err := c.asClient("POST", "/v0/approvals/"+text(answer, "approval_id")+"/grant", []byte(`{"decided_by":"bench"}`)); err != nil {
		return 0, err
	}
	granted := time.Now()
	got, err := c.lab.hooks.await(ctx, c.now.execution)
	c.now = got.attempt
	return max(0, got.at.Sub(granted)), err
}

// replay has a resumed agent submit again all that it did before.
func (l *lab) replay(ctx context.Context) error {
	recorded := l.scaled(1000)
	return l.callers(ctx, 1, func(ctx context.Context, _ int, conn *conn) error {
		c := l.caller(conn)
		if err := c.begin(ctx, ""); err != nil {
			return err
		}
		began := time.Now()
		for range recorded {
			if err := c.next(); err != nil {
				return err
			}
		}
		anew := float64(recorded) / time.Since(began).Seconds()
		if _, err := c.gate(ctx); err != nil {
			return err
		}
		c.n, c.took = 0, timings{}
		began = time.Now()
		for range recorded {
			c.n++
			answer, err := c.submit(wire.KindToolCall, allowedTool, c.args())
			if err != nil {
				return err
			}
			if _, err := expect(answer, wire.DecisionReplay); err != nil {
				return err
			}
		}
		again := float64(recorded) / time.Since(began).Seconds()
		s := l.section("replay", fmt.Sprintf("%d steps", recorded))
		s.add("recorded", anew, "steps/s", Higher)
		s.add("replayed", again, "steps/s", Higher)
		s.add("replayed over recorded", again/anew, "×", Higher, goal(1.5))
		s.latency("replayed submit", c.took.submit)
		return c.finish("complete")
	})
}

// deep is what a step costs late in a long execution. The long one and short ones
// take turns: a machine that changes its pace meanwhile changes that of both.
func (l *lab) deep(ctx context.Context) error {
	const turns, early = 10, 10                      // steps before the first that are measured
	late, window := l.scaled(10_000), l.scaled(2000) // steps before the last ones, and how many are measured
	return l.callers(ctx, 1, func(ctx context.Context, _ int, conn *conn) error {
		long, err := l.history(ctx, conn, late)
		if err != nil {
			return err
		}
		var shallow, far spent
		short := make([]*caller, max(1, window/turns/l.Steps))
		for range turns {
			for i := range short {
				if short[i], err = l.history(ctx, conn, early); err != nil {
					return err
				}
			}
			if err := l.spend(ctx, &shallow, l.Steps, short...); err != nil {
				return err
			}
			if err := l.spend(ctx, &far, l.Steps*len(short), long); err != nil {
				return err
			}
			for _, c := range short {
				if err := c.finish("complete"); err != nil {
					return err
				}
			}
		}
		s := l.section("deep", fmt.Sprintf("step %d against %d", late, early))
		s.add("early, wall", microseconds(shallow.wall)/float64(shallow.steps), "µs/step", Lower)
		s.add("early, server CPU", microseconds(shallow.cpu)/float64(shallow.steps), "µs/step", Lower)
		s.add("late, wall", microseconds(far.wall)/float64(far.steps), "µs/step", Lower)
		s.add("late, server CPU", microseconds(far.cpu)/float64(far.steps), "µs/step", Lower)
		s.add("wall, late over early", float64(far.wall)/float64(shallow.wall), "×", Lower, goal(1.2))
		s.add("CPU, late over early", float64(far.cpu)/float64(max(1, shallow.cpu)), "×", Lower, goal(1.2))
		return long.finish("complete")
	})
}

// spent is what steps took, one request after another.
type spent struct {
	steps     int
	wall, cpu time.Duration // cpu: of the server
}

// spend has each of the runs record so many steps.
func (l *lab) spend(ctx context.Context, on *spent, steps int, runs ...*caller) error {
	before, err := l.server.scrape(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for _, c := range runs {
		for range steps {
			if err := c.next(); err != nil {
				return err
			}
		}
	}
	on.wall += time.Since(began)
	after, err := l.server.scrape(ctx)
	on.cpu += after.cpu() - before.cpu()
	on.steps += steps * len(runs)
	return err
}

// history begins a run and gives it its first steps, many of them quickly: an
// agent may do several at once.
func (l *lab) history(ctx context.Context, on *conn, steps int) (*caller, error) {
	const hands = 16
	c := l.caller(on)
	if err := c.begin(ctx, ""); err != nil {
		return nil, err
	}
	if steps < 10*hands {
		for range steps {
			if err := c.next(); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	c.n = steps
	return c, l.callers(ctx, hands, func(_ context.Context, i int, conn *conn) error {
		hand := l.caller(conn)
		hand.now = c.now
		for n := i; n < steps; n += hands {
			hand.n = n
			if err := hand.next(); err != nil {
				return err
			}
		}
		return nil
	})
}
