package server

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Options configure the API; zero values take the defaults.
type Options struct {
	Token        string        // bearer token; required unless Dev
	Dev          bool          // no credentials are asked for
	MaxBodyBytes int64         // default wire.DefaultMaxBodyBytes
	Ping         time.Duration // between comments on quiet streams; default 15s
	Version      wire.Version
	Logger       *slog.Logger
	Metrics      http.Handler // served at /metrics; nil: 404
	// Observe is told of every request that reached a route; may be nil.
	Observe func(method, route string, status int, took time.Duration)
}

const (
	defaultPing = 15 * time.Second
	// writeTimeout bounds one write to a stream: a reader that is gone must not
	// hold its goroutine.
	writeTimeout = 30 * time.Second
	bodyTimeout  = 60 * time.Second
	readyTTL     = 250 * time.Millisecond
)

// Server serves the API. It is an [http.Handler].
type Server struct {
	engine *engine.Engine
	read   store.Reader
	hub    *stream.Hub
	opts   Options
	log    *slog.Logger
	token  [sha256.Size]byte
	router chi.Router
	warned sync.Map // agents whose wrong signature was logged in dev mode
	ready  readiness
	pages  sync.Pool // of *pageRoom

	// closing is closed when streams are to end.
	closing   chan struct{}
	closeOnce sync.Once
}

// New is a server; it starts nothing.
func New(e *engine.Engine, hub *stream.Hub, opts Options) *Server {
	if opts.MaxBodyBytes <= 0 {
		opts.MaxBodyBytes = wire.DefaultMaxBodyBytes
	}
	if opts.Ping <= 0 {
		opts.Ping = defaultPing
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Observe == nil {
		opts.Observe = func(string, string, int, time.Duration) {}
	}
	s := &Server{
		engine: e, read: e.Reader(), hub: hub, opts: opts, log: opts.Logger,
		token: sha256.Sum256([]byte(opts.Token)), closing: make(chan struct{}),
	}
	s.router = chi.NewRouter()
	for _, r := range s.routes() {
		s.router.Method(r.Method, r.Pattern, s.serve(r))
	}
	s.router.NotFound(s.edge(noRoute))
	s.router.MethodNotAllowed(s.edge(s.methodNotAllowed))
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawPath != "" { // which chi would prefer, but an escaped id is the same id
		plain := *r.URL
		plain.RawPath = ""
		r = r.WithContext(r.Context())
		r.URL = &plain
	}
	s.router.ServeHTTP(w, r)
}

// EndStreams ends all Server-Sent Events streams, so that a shutdown need not
// wait for readers that never leave.
func (s *Server) EndStreams() { s.closeOnce.Do(func() { close(s.closing) }) }

// serve wraps a route: request id, panics, latency, credentials, errors.
func (s *Server) serve(r Route) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		began := time.Now()
		rec := &recorder{ResponseWriter: w}
		c := &call{s: s, w: rec, r: req, id: requestID(req)}
		rec.Header().Set(wire.HeaderRequestID, c.id)
		defer func() {
			if p := recover(); p != nil {
				c.panicked(p)
			}
			s.opts.Observe(r.Method, r.Pattern, rec.code(), time.Since(began))
		}()
		if err := c.admit(r); err != nil {
			c.fail(err)
			return
		}
		if err := r.handle(c); err != nil {
			c.fail(err)
		}
	}
}

// edge serves what no route does.
func (s *Server) edge(why func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		c := &call{s: s, w: &recorder{ResponseWriter: w}, r: req, id: requestID(req)}
		c.w.Header().Set(wire.HeaderRequestID, c.id)
		c.fail(why(req))
	}
}

func noRoute(*http.Request) error { return notFound("no such route") }

func (s *Server) methodNotAllowed(r *http.Request) error {
	e := &apiError{code: wire.CodeMethodNotAllowed, message: "this path does not take " + r.Method}
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if s.router.Match(chi.NewRouteContext(), m, r.URL.Path) {
			e.allow = append(e.allow, m)
		}
	}
	if len(e.allow) == 0 { // chi looks at a strange method first, and only then at the path
		return noRoute(r)
	}
	return e
}

// readiness answers /v0/ready: one real commit, shared by who asks at the same time.
type readiness struct {
	mu    sync.Mutex
	until time.Time
	err   error
}

func (r *readiness) check(ctx context.Context, e *engine.Engine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.err
	}
	r.err = e.Ready(context.WithoutCancel(ctx)) // the answer is everybody's
	r.until = time.Now().Add(readyTTL)
	return r.err
}
