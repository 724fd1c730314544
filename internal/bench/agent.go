package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// The targets of the load, and what the policy says to them.
const (
	allowedTool = "lookup"    // allowed by the last rule
	gatedTool   = "mail_send" // waits for a person
	model       = "small-1"   // allowed
)

// timings are how long each operation of the load took.
type timings struct {
	create, dispatch, submit, complete samples
	wake                               samples // a create was sent until its webhook came
}

func (t *timings) join(o *timings) {
	t.create, t.dispatch = append(t.create, o.create...), append(t.dispatch, o.dispatch...)
	t.submit, t.complete = append(t.submit, o.submit...), append(t.complete, o.complete...)
}

// caller is a client and an agent on one connection.
type caller struct {
	*conn
	lab  *lab
	took timings
	now  attempt // that it works for
	n    int     // steps so far, so that no two are equal
	at   int     // in the reel
}

const (
	large = 4 << 10 // bodies from here on are cut from a reel, so that none has much of another
	reel  = 8 << 20 // bytes before it begins anew
)

func (l *lab) caller(c *conn) *caller {
	return &caller{conn: c, lab: l, at: rand.IntN(reel)} //nolint:gosec // text needs no secrecy
}

// stock makes the text of large bodies, before the time of the load begins.
func (l *lab) stock() {
	if l.Payload >= large && len(l.reel) < reel+l.Payload {
		l.reel = newProse(1).text(reel + l.Payload)
	}
}

// body is text of the size of the payload.
func (c *caller) body() string {
	size := c.lab.Payload
	if size < large {
		return filler(size)
	}
	from := c.at
	c.at = (c.at + size) % reel
	return c.lab.reel[from : from+size]
}

// begin creates an execution and waits for its webhook.
func (c *caller) begin(ctx context.Context, more string) error {
	from := time.Now()
	answer, err := c.asClient("POST", "/v0/executions", fmt.Appendf(nil, `{"agent_id":%q,"input":{"from":"bench"}%s}`, c.who.agent, more))
	if err != nil {
		return err
	}
	answered := time.Now()
	c.took.create = append(c.took.create, answered.Sub(from))
	got, err := c.lab.hooks.await(ctx, text(answer, "id"))
	if err != nil {
		return err
	}
	c.took.dispatch = append(c.took.dispatch, max(0, got.at.Sub(answered))) // they may come in any order
	c.took.wake = append(c.took.wake, got.at.Sub(from))
	c.now = got.attempt
	return nil
}

// submit proposes a step and returns what was decided of it.
func (c *caller) submit(kind wire.StepKind, target string, args []byte) (answer []byte, err error) {
	body := fmt.Appendf(make([]byte, 0, len(args)+80), `{"kind":%q,"target":%q,"args":%s}`, kind, target, args)
	from := time.Now()
	if answer, err = c.asAgent(c.now, "/steps", body); err == nil {
		c.took.submit = append(c.took.submit, time.Since(from))
	}
	return answer, err
}

// expect is the step of an answer whose decision must be the given one.
func expect(answer []byte, want wire.DecisionName) (step string, err error) {
	if got := text(answer, "decision"); got != string(want) {
		return "", fmt.Errorf("the decision is %q, not %q: %s", got, want, answer)
	}
	return text(answer, "step_id"), nil
}

func (c *caller) report(step string, body []byte) error {
	from := time.Now()
	if _, err := c.asAgent(c.now, "/steps/"+step+"/complete", body); err != nil {
		return err
	}
	c.took.complete = append(c.took.complete, time.Since(from))
	return nil
}

// step makes one new step of the allowed tool, whole.
func (c *caller) step(args, result []byte) error {
	answer, err := c.submit(wire.KindToolCall, allowedTool, args)
	if err != nil {
		return err
	}
	id, err := expect(answer, wire.DecisionProceed)
	if err != nil {
		return err
	}
	return c.report(id, result)
}

// next makes a new step of the usual size.
func (c *caller) next() error {
	c.n++
	return c.step(c.args(), c.result())
}

// finish ends the execution that it works for.
func (c *caller) finish(how string) error {
	defer c.lab.hooks.forget(c.now.execution)
	body := []byte(`{"output":{"done":true}}`)
	if how == "fail" {
		body = []byte(`{"error":"bench"}`)
	}
	_, err := c.asAgent(c.now, "/"+how, body)
	return err
}

func (c *caller) args() []byte {
	return fmt.Appendf(make([]byte, 0, c.lab.Payload+32), `{"n":%d,"q":"%s"}`, c.n, c.body())
}

func (c *caller) result() []byte {
	return fmt.Appendf(make([]byte, 0, c.lab.Payload+32), `{"result":{"text":"%s"}}`, c.body())
}

// filler is text of a length.
func filler(n int) string {
	const words = "the quick brown fox jumps over a lazy dog and then sleeps "
	return strings.Repeat(words, n/len(words)+1)[:n]
}

// load is what runs of the closed loop came to.
type load struct {
	timings
	steps   int
	elapsed time.Duration
	before  scrape
	after   scrape
}

func (r *load) rate() float64 { return float64(r.steps) / r.elapsed.Seconds() }

// cpu is what the server used for a step.
func (r *load) cpu() time.Duration {
	if r.steps == 0 {
		return 0
	}
	return (r.after.cpu() - r.before.cpu()) / time.Duration(r.steps)
}

// closed has so many callers make executions of steps, one request after
// another, for a time, but each at least one step. What is under way when the
// time is up is finished and counts.
func (l *lab) closed(ctx context.Context, callers int, d time.Duration) (*load, error) {
	l.stock()
	r := &load{}
	var err error
	if r.before, err = l.server.scrape(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	var mu sync.Mutex
	err = l.callers(ctx, callers, func(ctx context.Context, _ int, conn *conn) error {
		c := l.caller(conn)
		for first := true; first || time.Since(began) < d; first = false {
			if err := c.execution(ctx, func(i int) bool { return i == 0 || i < l.Steps && time.Since(began) < d }); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		r.join(&c.took)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.elapsed, r.steps = time.Since(began), len(r.complete)
	r.after, err = l.server.scrape(ctx)
	return r, err
}

// execution is one, from its creation to its completion, with steps while more says so.
func (c *caller) execution(ctx context.Context, more func(i int) bool) error {
	if err := c.begin(ctx, ""); err != nil {
		return err
	}
	for i := 0; more(i); i++ {
		if err := c.next(); err != nil {
			return err
		}
	}
	return c.finish("complete")
}
