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
	defaultPace    = 400 * time.Millisecond
	readHeaderTime = 10 * time.Second
	shutdownTime   = 2 * time.Second
)

// Serve registers the demo agent with its policy and runs it until ctx ends.
// ready is called once it takes webhooks; nil is fine.
func Serve(ctx context.Context, o Options, ready func()) error {
	o = withDefaults(o)
	hooks, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	models, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("demo model provider: %w", err), hooks.Close())
	}
	out := &effects{w: o.Effects}
	secret := newSecret()
	a, err := agent.New(agent.Options{BaseURL: o.Server, AgentID: ID, Secret: secret, Logger: o.Logger})
	if err != nil {
		return errors.Join(fmt.Errorf("demo agent: %w", err), hooks.Close(), models.Close())
	}
	logic := &assistant{models: reach(models.Addr().String()), pace: o.Pace, effects: out}
	webhook := &http.Server{Handler: a.Handler(logic.run), ReadHeaderTimeout: readHeaderTime}
	llm := &http.Server{Handler: provider(o.Pace, func() { out.note("llm_call") }), ReadHeaderTimeout: readHeaderTime}
	failed := make(chan error, 2)
	go func() { failed <- webhook.Serve(hooks) }()
	go func() { failed <- llm.Serve(models) }()
	if err = register(ctx, o, "http://"+hooks.Addr().String()+"/", secret); err == nil {
		if ready != nil {
			ready()
		}
		select {
		case err = <-failed:
			err = fmt.Errorf("demo agent: %w", err)
		case <-ctx.Done():
		}
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	_ = a.Shutdown(stop) // what is cut off comes again
	return errors.Join(err, webhook.Close(), llm.Close())
}

func withDefaults(o Options) Options {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Pace <= 0 {
		o.Pace = defaultPace
	}
	if o.Effects == nil {
		o.Effects = io.Discard
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// register tells the service where the agent is and what it may do.
func register(ctx context.Context, o Options, webhookURL, secret string) error {
	api, err := client.New(o.Server, client.Options{Token: o.Token})
	if err != nil {
		return fmt.Errorf("register the demo agent: %w", err)
	}
	req := wire.RegisterAgent{ID: ID, WebhookURL: webhookURL, Secret: wire.Secret(secret)}
	if seconds := int64(o.Lease / time.Second); seconds > 0 {
		req.LeaseTimeoutSeconds = &seconds
	}
	if _, err := api.RegisterAgent(ctx, req); err != nil {
		return fmt.Errorf("register the demo agent: %w", err)
	}
	if err := api.LoadPolicy(ctx, ID, policyText); err != nil {
		return fmt.Errorf("load the demo agent's policy: %w", err)
	}
	return nil
}

func newSecret() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
