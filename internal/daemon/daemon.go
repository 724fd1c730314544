package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/agentkernel/kernelctl/internal/dispatch"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/logging"
	"github.com/agentkernel/kernelctl/internal/metrics"
	"github.com/agentkernel/kernelctl/internal/server"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
	"github.com/agentkernel/kernelctl/internal/timer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Options say what to run; zero values take the defaults of the parts.
type Options struct {
	Listen       string // host:port
	DB           string // database file; "": a temporary one, removed at the end
	Dev          bool   // no credentials are asked for
	Token        string // bearer token; required unless Dev
	MaxBodyBytes int64

	WebhookAllow        []string
	DispatchTimeout     time.Duration
	DispatchMaxAttempts int
	DispatchConcurrency int
	LeaseTimeout        time.Duration
	ApprovalTimeout     time.Duration
	ExecutionTimeout    time.Duration
	Retention           time.Duration
	Grace               time.Duration // how long a stop may take; default 20s

	Agents  []Agent // registered, or replaced, before the first request
	Version wire.Version
	Logger  *slog.Logger
}

// Agent is an agent that is provisioned at the start.
type Agent struct {
	store.AgentSpec
	Policy []byte // bundle; nil leaves the stored one
}

const (
	defaultGrace      = 20 * time.Second
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Daemon is a server that was built and not started.
type Daemon struct {
	opts       Options
	log        *slog.Logger
	temporary  string // folder of a temporary database
	db         *sqlite.DB
	engine     *engine.Engine
	hub        *stream.Hub
	dispatcher *dispatch.Dispatcher
	webhook    *dispatch.Webhook
	timers     *timer.Timers
	journal    *logging.Journal
	metrics    *metrics.Metrics
	api        *server.Server
	listener   net.Listener
	ready      chan struct{}
}

// Open opens the database and the port. Run starts the service; a daemon that
// never runs is closed.
func Open(ctx context.Context, opts Options) (*Daemon, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Grace <= 0 {
		opts.Grace = defaultGrace
	}
	d := &Daemon{opts: opts, log: opts.Logger, hub: stream.NewHub(), metrics: metrics.New(), ready: make(chan struct{})}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) open(ctx context.Context) error {
	if d.opts.Token == "" && !d.opts.Dev {
		return errors.New("a bearer token is required unless in development mode")
	}
	path := d.opts.DB
	if path == "" {
		dir, err := os.MkdirTemp("", "kernelctl-*")
		if err != nil {
			return fmt.Errorf("temporary database: %w", err)
		}
		d.temporary, path = dir, filepath.Join(dir, "kernel.db")
	}
	var err error
	// The port first: a second server on the same one should say so, and not
	// that the database is taken.
	if d.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", d.opts.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if d.db, err = sqlite.Open(ctx, path, sqlite.Options{OnCommit: d.committed, Stats: d.metrics, Logger: d.log}); err != nil {
		return err
	}
	d.build()
	// The gauges move with the commits from here on.
	return d.metrics.Seed(ctx, d.db)
}

func (d *Daemon) build() {
	o := &d.opts
	d.engine = engine.New(d.db, engine.Options{
		ApprovalTimeout: o.ApprovalTimeout, ExecutionTimeout: o.ExecutionTimeout, LeaseTimeout: o.LeaseTimeout,
		MaxAttempts: o.DispatchMaxAttempts, Ruled: d.metrics.Ruled, Decided: d.metrics.Decided, Logger: d.log,
	})
	d.webhook = dispatch.NewWebhook(dispatch.WebhookOptions{Timeout: o.DispatchTimeout, Allow: o.WebhookAllow})
	d.dispatcher = dispatch.New(d.engine, d.db, d.webhook, dispatch.Options{Concurrency: o.DispatchConcurrency, Grace: o.Grace, Logger: d.log})
	d.timers = timer.New(d.engine, d.db, o.Retention, d.log)
	d.timers.OnExpired(func(ctx context.Context) {
		if err := d.metrics.Recount(ctx, d.db); err != nil {
			d.log.LogAttrs(ctx, slog.LevelWarn, "count executions", slog.Any("err", err))
		}
	})
	d.journal = logging.NewJournal(d.log)
	d.api = server.New(d.engine, d.hub, server.Options{
		Token: o.Token, Dev: o.Dev, MaxBodyBytes: o.MaxBodyBytes, Version: o.Version, Logger: d.log,
		Metrics: d.metrics.Handler(), Observe: func(method, route string, status int, took time.Duration) {
			d.metrics.HTTP(route, method, status, took)
		},
	})
	d.metrics.Watch(metrics.Sources{QueueLength: d.db.QueueLength, Sizes: d.db.Sizes, Subscribers: d.hub.Subscribers, DroppedDeltas: d.hub.Dropped})
}

// committed fans out what was stored. It runs in the writer and must not block.
func (d *Daemon) committed(batch []store.Committed) {
	d.dispatcher.Committed(batch)
	d.timers.Committed(batch)
	d.hub.Committed(batch)
	d.metrics.Committed(batch)
	d.journal.Committed(batch)
}

// Addr is where the API listens.
func (d *Daemon) Addr() net.Addr { return d.listener.Addr() }

// URL is the base URL of the API.
func (d *Daemon) URL() string { return "http://" + d.listener.Addr().String() }

// Ready is closed when requests are served.
func (d *Daemon) Ready() <-chan struct{} { return d.ready }

// Handler is the API, for tests.
func (d *Daemon) Handler() http.Handler { return d.api }

// Close releases a daemon that never ran.
func (d *Daemon) Close() error {
	var errs []error
	if d.listener != nil {
		if err := d.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	if d.temporary != "" {
		errs = append(errs, os.RemoveAll(d.temporary))
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends or a part fails, then stops everything in order:
// the store outlives all that write to it, the journal outlives the store.
func (d *Daemon) Run(ctx context.Context) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	journal := start(ctx, d.journal.Run, nil)
	db := start(ctx, d.db.Run, fail)
	if err = d.provision(ctx); err == nil {
		err = d.serve(ctx)
	}
	return errors.Join(err, db.stop(), journal.stop(), d.Close())
}

// part is something that runs beside the requests.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start runs a part until it is stopped, whatever becomes of ctx. failed is
// told when it ends with an error.
func start(ctx context.Context, run func(context.Context) error, failed context.CancelCauseFunc) *part {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		if p.err = run(ctx); p.err != nil && failed != nil {
			failed(p.err)
		}
	}()
	return p
}

func (p *part) stop() error {
	p.cancel()
	<-p.done
	return p.err
}

// provision loads the directory and registers the agents of the manifest. A
// bad policy stops it before anything is changed.
func (d *Daemon) provision(ctx context.Context) error {
	if err := d.engine.LoadAgents(ctx); err != nil {
		return fmt.Errorf("load agents: %w", err)
	}
	for _, a := range d.opts.Agents {
		if a.Policy == nil {
			continue
		}
		if err := d.engine.CheckPolicy(a.Policy); err != nil {
			return fmt.Errorf("policy of agent %s: %w", a.ID, err)
		}
	}
	for _, a := range d.opts.Agents {
		if _, err := d.engine.RegisterAgent(ctx, a.AgentSpec); err != nil {
			return fmt.Errorf("provision agent %s: %w", a.ID, err)
		}
		if a.Policy == nil {
			continue
		}
		if err := d.engine.PutPolicy(ctx, a.ID, a.Policy); err != nil {
			return fmt.Errorf("provision the policy of agent %s: %w", a.ID, err)
		}
	}
	return nil
}

// serve runs the moving parts. At the end requests and deliveries that are
// under way have the same grace period, and nothing new begins.
func (d *Daemon) serve(ctx context.Context) error {
	web := &http.Server{
		Handler:           d.api,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stop, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	dispatcher, timers := start(ctx, d.dispatcher.Run, failed), start(ctx, d.timers.Run, failed)
	serving := make(chan error, 1)
	go func() { serving <- web.Serve(d.listener) }()
	close(d.ready)

	var err error
	select {
	case <-stop.Done():
		d.log.Info("stopping", slog.Duration("grace", d.opts.Grace))
	case err = <-serving:
		err = fmt.Errorf("serve: %w", err)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opts.Grace)
	defer cancel()
	d.api.EndStreams()
	dispatcher.cancel() // an agent that is woken now would find the port closed
	if shutErr := web.Shutdown(grace); shutErr != nil {
		err = errors.Join(err, web.Close())
	}
	err = errors.Join(err, dispatcher.stop(), timers.stop())
	d.webhook.Close()
	return err
}

// Path is the database file.
func (d *Daemon) Path() string { return d.db.Path() }

// Temporary reports whether the database is removed at the end.
func (d *Daemon) Temporary() bool { return d.temporary != "" }
