package bench

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Options say what to measure. The zero value of a field takes its default.
type Options struct {
	Self      string   // path of the binary, for the processes that are started; required
	Server    string   // address of a server that runs; empty: one of our own for each scenario
	Token     string   // its bearer token
	Listen    string   // where the load's agent takes webhooks; default 127.0.0.1:0
	Dir       string   // where the databases of our own servers are put; default the temporary folder
	Scenarios []string // names of [Scenarios]; default those that are Standard

	Concurrency []int         // of the scenario steps; default 1, 16, 64
	Steps       int           // an execution; default 20
	Duration    time.Duration // of one case; default 3s
	Payload     int           // bytes of args, and of a result; default 64
	Executions  int           // of list, live; default 10,000
	Tails       int           // of tails; default 10,000
	Gigabytes   float64       // of grow; default 1
	Scale       float64       // of the histories of replay, deep and context; default 1

	Progress func(string) // told what is being done; may be nil
}

func (o *Options) defaults() {
	def(&o.Listen, "127.0.0.1:0")
	def(&o.Dir, os.TempDir())
	def(&o.Steps, 20)
	def(&o.Duration, 3*time.Second)
	def(&o.Payload, 64)
	def(&o.Executions, 10_000)
	def(&o.Tails, 10_000)
	def(&o.Gigabytes, 1)
	def(&o.Scale, 1)
	if len(o.Concurrency) == 0 {
		o.Concurrency = []int{1, 16, 64}
	}
	if len(o.Scenarios) == 0 {
		for _, s := range Scenarios() {
			if s.Standard {
				o.Scenarios = append(o.Scenarios, s.Name)
			}
		}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

// scaled is n at the scale that was asked for, and at least one.
func (o *Options) scaled(n int) int { return max(1, int(o.Scale*float64(n))) }

func def[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Scenario is one thing that can be measured.
type Scenario struct {
	Name     string
	What     string // for the help
	Standard bool   // measured unless others are asked for
	Own      bool   // needs a server of its own, which it stops or looks into
	run      func(*lab, context.Context) error
}

// Scenarios lists all, in the order in which they are measured.
func Scenarios() []Scenario {
	return []Scenario{
		{"steps", "executions of steps, at each concurrency", true, false, (*lab).throughput},
		{"dispatch", "create answered until webhook received, idle", true, false, (*lab).dispatch},
		{"approval", "approval granted until webhook received", true, false, (*lab).approval},
		{"replay", "1,000 recorded steps replayed by a resumed agent", true, false, (*lab).replay},
		{"deep", "cost of step 10,000 of one execution against step 10", true, false, (*lab).deep},
		{"bodies", "args of 64 KiB at concurrency 8", true, false, (*lab).bodies},
		{"context", "LLM calls whose conversation grows to 200 KB: bytes on the disk", true, false, (*lab).context},
		{"list", "lists and pages of events with --executions stored, idle and beside a writer", false, false, (*lab).list},
		{"tails", "--tails event tails and live streams, and what they cost the writer", false, false, (*lab).tails},
		{"live", "--executions that have not ended, of --steps each: memory", false, false, (*lab).live},
		{"overload", "ten times what can be served, by arrivals that do not wait", false, false, (*lab).overload},
		{"idle", "CPU and memory of a server that does nothing, for ten durations", false, true, (*lab).idle},
		{"grow", "cost of a step with --gigabytes stored against an empty file; starts", false, true, (*lab).grow},
	}
}

//go:embed policy.yaml
var policy string

// leaseSeconds is long enough for every execution that a scenario holds.
const leaseSeconds = int64(3600)

// lab is one run.
type lab struct {
	Options
	report *Report
	flush  time.Duration    // median of 4 KiB overwritten and flushed; zero: the server is elsewhere
	probes map[[2]int]probe // of bare HTTP, by callers and bytes
	server *target
	hooks  *hooks
	who    *identity
	reel   string // prose that large bodies are cut from
}

// Run measures the scenarios one after another.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.defaults()
	l := &lab{Options: o, probes: make(map[[2]int]probe), report: &Report{
		Schema: Schema, TakenAt: wire.At(time.Now()), Figures: []Figure{},
		Machine:  Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Settings: Settings{Concurrency: o.Concurrency, Steps: o.Steps, Payload: o.Payload, Seconds: o.Duration.Seconds(), Server: o.Server},
	}}
	chosen, err := l.choose()
	if err != nil {
		return nil, err
	}
	if err := l.machine(ctx); err != nil {
		return nil, err
	}
	for _, s := range chosen {
		o.Progress(s.Name + ": " + s.What)
		if err := l.measure(ctx, s); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	return l.report, nil
}

// Find is the scenario of that name.
func Find(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

func (l *lab) choose() ([]Scenario, error) {
	var chosen []Scenario
	for _, name := range l.Scenarios {
		s, ok := Find(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("there is no scenario %q", name)
		case s.Own && l.Server != "":
			return nil, fmt.Errorf("scenario %s needs a server of its own: it cannot be measured with one that runs", name)
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
}

// local reports whether the server shares this machine, so that its limits are the server's.
func (l *lab) local() bool {
	u, err := client.ParseServer(l.Server)
	return l.Server == "" || err == nil && client.IsLoopback(u)
}

// machine takes what the machine can do by itself.
func (l *lab) machine(ctx context.Context) error {
	if !l.local() {
		return nil
	}
	l.Progress("machine: flushes of a file, bare HTTP")
	taken, err := measureFlush(ctx, l.Dir, min(probeTime, l.Duration))
	if err != nil {
		return fmt.Errorf("measure the flushes of a file in %s: %w", l.Dir, err)
	}
	l.flush = taken.sorted().quantile(0.5)
	s := l.section("machine", "flush")
	s.add("rate", 1/taken.mean().Seconds(), "flushes/s", Higher)
	s.latency("4 KiB", taken)
	for _, callers := range l.Concurrency {
		p, err := l.bare(ctx, callers, l.Payload)
		if err != nil {
			return err
		}
		s := l.section("machine", fmt.Sprintf("HTTP c=%d", callers))
		s.add("rate", p.perSecond, "requests/s", Higher)
		s.latency("request", p.latency)
		s.add("CPU", microseconds(p.cpu), "µs/request", Lower)
	}
	return nil
}

// bare is what HTTP alone can do; it is measured once.
func (l *lab) bare(ctx context.Context, callers, size int) (probe, error) {
	key := [2]int{callers, size}
	if p, ok := l.probes[key]; ok || !l.local() {
		return p, nil
	}
	p, err := measureHTTP(ctx, l.Self, callers, size, min(probeTime, l.Duration))
	if err != nil {
		return p, fmt.Errorf("measure bare HTTP: %w", err)
	}
	l.probes[key] = p
	return p, nil
}

// ceiling is how many steps a second the machine allows.
func (l *lab) ceiling(ctx context.Context, callers int) (float64, error) {
	one, err := l.bare(ctx, 1, l.Payload)
	if err != nil || !l.local() {
		return 0, err
	}
	many, err := l.bare(ctx, callers, l.Payload)
	return closedLoop(callers, one.latency.sorted().quantile(0.5), l.flush, many.perSecond), err
}

func (l *lab) section(scenario, label string) section {
	return section{report: l.report, scenario: scenario, label: label}
}

// measure runs one scenario with a server, an agent and its policy.
func (l *lab) measure(ctx context.Context, s Scenario) (err error) {
	if err := l.serve(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.server.close()) }()
	l.who = &identity{token: l.server.token, agent: "bench-" + strings.ToLower(rand.Text()[:10]), secret: wire.Secret(rand.Text())}
	if l.hooks, err = listenForHooks(ctx, l.Listen, l.who.secret); err != nil {
		return err
	}
	defer l.hooks.close()
	if _, err = l.server.api.RegisterAgent(ctx, wire.RegisterAgent{
		ID: l.who.agent, WebhookURL: l.hooks.url(), Secret: l.who.secret, LeaseTimeoutSeconds: new(leaseSeconds),
	}); err != nil {
		return err
	}
	if err := l.server.api.LoadPolicy(ctx, l.who.agent, policy); err != nil {
		return err
	}
	return s.run(l, ctx)
}

// serve finds or starts the server.
func (l *lab) serve(ctx context.Context) (err error) {
	if l.Server == "" {
		l.server, err = newTarget(ctx, l.Self, l.Dir)
	} else {
		l.server = &target{token: l.Token}
		err = l.server.connect(l.Server)
	}
	if err != nil {
		return err
	}
	v, err := l.server.api.Version(ctx)
	l.report.Version = v.Version
	return err
}

// dial opens a connection of the load.
func (l *lab) dial(ctx context.Context) (*conn, error) { return dial(ctx, l.server.url, l.who) }

// each runs n at once and ends with the first error.
func each(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return fn(ctx, i) })
	}
	return g.Wait()
}

// callers runs n at once, each with a connection of its own.
func (l *lab) callers(ctx context.Context, n int, fn func(ctx context.Context, i int, c *conn) error) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		c, err := l.dial(ctx)
		if err != nil {
			return err
		}
		defer c.close()
		return fn(ctx, i, c)
	})
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
