package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Options say how to run the demo agent.
type Options struct {
	Server  string        // base URL of the service
	Token   string        // bearer token; "" in dev mode
	Listen  string        // address of the webhook; default 127.0.0.1:0
	Lease   time.Duration // lease to register with; 0: the service's default
	Pace    time.Duration // how long each effect takes; default 400ms
	Effects io.Writer     // gets a line for each effect that really ran; nil: nowhere
	Logger  *slog.Logger
}

const (
	loopback       = "127.0.0.1:0"
	defaultPace    = 400 * time.Millisecond
	readHeaderTime = 10 * time.Second
	shutdownTime   = 2 * time.Second
)

// Serve registers the demo agent with its policy and runs it until ctx ends.
// ready is called once it takes webhooks; nil is fine.
func Serve(ctx context.Context, o Options, ready func()) error {
	if o.Pace <= 0 {
		o.Pace = defaultPace
	}
	if o.Effects == nil {
		o.Effects = io.Discard
	}
	api, err := client.New(o.Server, client.Options{Token: o.Token})
	if err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	a := &assistant{pace: o.Pace, effects: &effects{w: o.Effects}}
	h := host{api: api, listen: o.Listen, lease: o.Lease, grace: shutdownTime, log: o.Logger}
	staff := func(models http.RoundTripper) []member {
		a.models = models
		return []member{{ID, policyText, a.run}}
	}
	return h.run(ctx, provider(a.reply), staff, func(ctx context.Context) error {
		if ready != nil {
			ready()
		}
		<-ctx.Done()
		return nil
	})
}

// member is one agent: its name, what it may do, and what it does.
type member struct {
	id, policy string
	logic      agent.Func
}

// host runs agents, and the model provider that they ask, on loopback.
type host struct {
	api    *client.Client
	listen string // address of the webhooks; "": any on loopback
	lease  time.Duration
	grace  time.Duration // for runs under way at the end; what is cut off comes again
	log    *slog.Logger
}

// run starts a model provider and the agents that staff makes with the way to
// it, registers them, and runs work until that ends, ctx does, or a listener
// fails.
func (h *host) run(ctx context.Context, models http.Handler, staff func(http.RoundTripper) []member, work func(context.Context) error) error {
	if h.listen == "" {
		h.listen = loopback
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	hooks, err := (&net.ListenConfig{}).Listen(ctx, "tcp", h.listen)
	if err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	llm, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback)
	if err != nil {
		return errors.Join(fmt.Errorf("demo model provider: %w", err), hooks.Close())
	}
	transport := reach(llm.Addr().String())
	mux := http.NewServeMux()
	servers := map[net.Listener]*http.Server{hooks: h.server(mux), llm: h.server(models)}
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for l, s := range servers {
		go func() { fail(fmt.Errorf("demo agent: %w", s.Serve(l))) }()
	}
	agents, err := h.hire(working, staff(transport), mux, "http://"+hooks.Addr().String())
	if err == nil {
		err = work(working)
	}
	if ctx.Err() == nil {
		err = errors.Join(err, context.Cause(working))
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.grace)
	defer cancel()
	for _, a := range agents {
		_ = a.Shutdown(stop) // nothing is lost by one that takes too long
	}
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (h *host) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTime,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug), // and not the terminal, which may be a dashboard's
	}
}

// hire registers the agents, each with a path and a secret of its own.
func (h *host) hire(ctx context.Context, members []member, mux *http.ServeMux, base string) ([]*agent.Agent, error) {
	var agents []*agent.Agent
	for _, m := range members {
		secret := newSecret()
		a, err := agent.New(agent.Options{BaseURL: h.api.Server(), AgentID: m.id, Secret: secret, Logger: h.log})
		if err != nil {
			return agents, fmt.Errorf("demo agent: %w", err)
		}
		agents = append(agents, a)
		path := "/" + m.id
		mux.Handle(path, a.Handler(m.logic))
		if err := h.register(ctx, m, base+path, secret); err != nil {
			return agents, err
		}
	}
	return agents, nil
}

// register tells the service where an agent is and what it may do.
func (h *host) register(ctx context.Context, m member, webhookURL, secret string) error {
	req := wire.RegisterAgent{ID: m.id, WebhookURL: webhookURL, Secret: wire.Secret(secret)}
	if seconds := int64(h.lease / time.Second); seconds > 0 {
		req.LeaseTimeoutSeconds = &seconds
	}
	if _, err := h.api.RegisterAgent(ctx, req); err != nil {
		return fmt.Errorf("register the demo agent: %w", err)
	}
	if err := h.api.LoadPolicy(ctx, m.id, m.policy); err != nil {
		return fmt.Errorf("load the demo agent's policy: %w", err)
	}
	return nil
}

func newSecret() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
