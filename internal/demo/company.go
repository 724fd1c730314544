package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// CompanyOptions say how to run the company.
type CompanyOptions struct {
	Server string // base URL of the service
	Seed   uint64 // the same seed gives the same orders in the same succession
	// Speed is how much faster than for an onlooker everything goes, the
	// durations of the policies included; 0 means 1. Tests are in a hurry.
	Speed  float64
	Logger *slog.Logger
}

// company is four agents at work, with what comes to them from outside: orders,
// signals, cancellations, and colleagues who decide what nobody else does.
type company struct {
	CompanyOptions
	api    *client.Client
	models http.RoundTripper
	later  sync.WaitGroup // what orders still have to come
}

//go:embed policies/research.yaml
var researchPolicy string

//go:embed policies/ops.yaml
var opsPolicy string

//go:embed policies/billing.yaml
var billingPolicy string

//go:embed policies/support.yaml
var supportPolicy string

// companyGrace is short: some run is always under way, and whoever quits the
// dashboard waits for it.
const companyGrace = 100 * time.Millisecond

// Company registers the agents research, ops, billing and support, and gives
// them work until ctx ends: some three steps a second, of which some are denied,
// limited, failed, cancelled, or wait for a person or a signal. What waits is
// bounded, kind by kind. ready is called once work begins; nil is fine.
func Company(ctx context.Context, o CompanyOptions, ready func()) error {
	if o.Speed <= 0 {
		o.Speed = 1
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	api, err := client.New(o.Server, client.Options{})
	if err != nil {
		return fmt.Errorf("demo company: %w", err)
	}
	c := &company{CompanyOptions: o, api: api}
	h := host{api: api, grace: companyGrace, log: o.Logger}
	return h.run(ctx, provider(c.reply), c.staff, func(ctx context.Context) error {
		if ready != nil {
			ready()
		}
		ctx, stop := context.WithCancel(ctx)
		defer c.later.Wait()
		defer stop()
		c.later.Go(func() { c.decide(ctx) })
		c.work(ctx)
		return nil
	})
}

func (c *company) staff(models http.RoundTripper) []member {
	c.models = models
	return []member{
		{"research", c.hasten(researchPolicy), c.research},
		{"ops", c.hasten(opsPolicy), c.ops},
		{"billing", c.hasten(billingPolicy), c.billing},
		{"support", c.hasten(supportPolicy), c.support},
	}
}

var policyTimes = regexp.MustCompile(`\b(timeout|window|max_wait): ([0-9smh]+)`)

// hasten shortens the durations of a policy as everything else.
func (c *company) hasten(policy string) string {
	if c.Speed == 1 {
		return policy
	}
	return policyTimes.ReplaceAllStringFunc(policy, func(s string) string {
		m := policyTimes.FindStringSubmatch(s)
		d, err := time.ParseDuration(m[2])
		if err != nil {
			return s
		}
		return fmt.Sprintf("%s: %s", m[1], c.soon(d).Round(time.Millisecond))
	})
}

// soon is a duration at the company's speed.
func (c *company) soon(d time.Duration) time.Duration { return time.Duration(float64(d) / c.Speed) }

// work gives one order after the other, and leaves out those of a kind of which
// enough waits.
func (c *company) work(ctx context.Context) {
	for n := uint64(0); ; n++ {
		k, o, gap := draw(c.Seed, n)
		switch err := c.give(ctx, k, o); {
		case errors.Is(err, errEnough):
			continue
		case err != nil && ctx.Err() == nil:
			c.Logger.Warn("give the demo's agents an order", slog.String("kind", k.name), slog.Any("err", err))
		}
		if client.Sleep(ctx, c.soon(gap)) != nil {
			return
		}
	}
}

var errEnough = errors.New("enough of this kind waits")

func (c *company) give(ctx context.Context, k kind, o order) error {
	labels := map[string]string{"job": k.name}
	blocked, err := c.api.ListExecutions(ctx, client.ExecutionFilter{AgentID: k.agent, Status: wire.ExecutionBlocked, Labels: labels, Limit: k.open})
	if err != nil {
		return err
	}
	if len(blocked.Executions) >= k.open {
		return errEnough
	}
	for name, value := range o.labels {
		labels[name] = value
	}
	input, err := json.Marshal(o.input)
	if err != nil {
		return err
	}
	x, _, err := c.api.CreateExecution(ctx, wire.CreateExecution{AgentID: k.agent, Input: input, Labels: labels}, "")
	if err != nil {
		return err
	}
	if o.then != nil {
		c.later.Go(func() { c.follow(ctx, x.ID, *o.then) })
	}
	return nil
}

// follow lets happen what an order has to come.
func (c *company) follow(ctx context.Context, id string, t then) {
	if client.Sleep(ctx, c.soon(t.after)) != nil {
		return
	}
	var err error
	if t.signal == "" {
		err = c.api.CancelExecution(ctx, id)
	} else {
		_, err = c.api.SendSignal(ctx, id, wire.Signal{SignalType: t.signal, Payload: json.RawMessage(t.payload)}, "")
	}
	if err != nil && ctx.Err() == nil {
		c.Logger.Debug("the execution is over already", slog.String("execution_id", id), slog.Any("err", err))
	}
}

// hash is a number that depends on the texts alone.
func hash(texts ...string) uint64 {
	h := fnv.New64a()
	for _, t := range texts {
		_, _ = h.Write([]byte(t)) // never fails
	}
	return h.Sum64()
}
