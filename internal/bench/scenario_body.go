package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// bodies is how much of large args gets through.
func (l *lab) bodies(ctx context.Context) error {
	const (
		callers = 8
		size    = 64 << 10
	)
	bare, err := l.bare(ctx, callers, size)
	if err != nil {
		return err
	}
	small := *l
	small.Payload = size
	r, err := small.closed(ctx, callers, l.Duration)
	if err != nil {
		return err
	}
	const mb = 1 << 20
	s := l.section("bodies", fmt.Sprintf("64 KiB c=%d", callers))
	// A step is two bodies: args one way and a result.
	s.add("throughput", r.rate(), "steps/s", Higher)
	s.add("goodput", r.rate()*2*size/mb, "MiB/s", Higher, of(bare.perSecond*size/mb))
	s.latency("submit", r.submit)
	s.costs(r)
	return nil
}

// context is an agent that talks to a model: every call carries the whole
// conversation so far.
func (l *lab) context(ctx context.Context) error {
	const (
		agents  = 4
		message = 2000 // bytes that a call adds
	)
	calls := l.scaled(100)
	empty, err := l.server.scrape(ctx)
	if err != nil {
		return err
	}
	var raw [agents]int
	var took [agents]samples
	began := time.Now()
	err = l.callers(ctx, agents, func(ctx context.Context, i int, conn *conn) error {
		c := l.caller(conn)
		if err := c.begin(ctx, ""); err != nil {
			return err
		}
		talk := newProse(uint64(i))
		var said []byte // messages so far
		var step string
		var args []byte
		for range calls {
			if len(said) > 0 {
				said = append(said, ',')
			}
			said = fmt.Appendf(said, `{"role":"user","content":"%s"}`, talk.text(message))
			args = fmt.Appendf(nil, `{"model":"%s","messages":[%s]}`, model, said)
			result := fmt.Appendf(nil, `{"result":{"content":"%s"}}`, talk.text(message/2))
			answer, err := c.submit(wire.KindLLMCall, model, args)
			if err == nil {
				step, err = expect(answer, wire.DecisionProceed)
			}
			if err == nil {
				err = c.report(step, result)
			}
			if err != nil {
				return err
			}
			raw[i] += len(args) + len(result)
		}
		took[i] = c.took.submit
		if err := c.finish("complete"); err != nil {
			return err
		}
		stored, err := c.asClient("GET", "/v0/executions/"+c.now.execution+"/steps/"+step, nil)
		if err == nil && !bytes.Contains(stored, args) {
			err = fmt.Errorf("step %s does not show the very bytes that were submitted", step)
		}
		return err
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(began)
	after, err := l.settled(ctx)
	if err != nil {
		return err
	}
	total := 0
	var submits samples
	for i := range agents {
		total += raw[i]
		submits = append(submits, took[i]...)
	}
	s := l.section("context", fmt.Sprintf("%d calls c=%d", calls, agents))
	s.add("raw", float64(total)/(1<<20), "MiB", Told)
	s.add("disk over raw", (after-empty.sum(databaseBytes))/float64(total), "×", Lower, goal(0.15))
	s.add("goodput", float64(total)/(1<<20)/elapsed.Seconds(), "MiB/s", Higher)
	s.latency("submit", submits)
	return nil
}

// settled is the size of the database file once the server has copied its log
// into it, which it does when there is nothing else to do.
func (l *lab) settled(ctx context.Context) (float64, error) {
	const quiet = 1500 * time.Millisecond // the server rests after one second
	last := -1.0
	for {
		if err := client.Sleep(ctx, quiet); err != nil {
			return 0, err
		}
		now, err := l.server.scrape(ctx)
		if err != nil {
			return 0, err
		}
		size := now.sum(databaseBytes)
		if size == last {
			return size, nil
		}
		last = size
	}
}

// prose writes text that is about as compressible as what people and models
// say: words of a vocabulary, the common ones more often.
type prose struct {
	random *rand.Rand
	words  []string
}

func newProse(seed uint64) *prose {
	p := &prose{random: rand.New(rand.NewPCG(seed, 1)), words: make([]string, 4000)} //nolint:gosec // text needs no secrecy
	const letters = "etaoinshrdlucmfwypvbgkqjxz"
	for i := range p.words {
		var b strings.Builder
		for range 2 + p.random.IntN(8) {
			b.WriteByte(letters[min(p.random.IntN(len(letters)), p.random.IntN(len(letters)))])
		}
		p.words[i] = b.String()
	}
	return p
}

// text is of so many bytes.
func (p *prose) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		f := p.random.Float64()
		b.WriteString(p.words[int(f*f*f*float64(len(p.words)))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}
