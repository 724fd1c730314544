package daemontest

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/daemon"
)

// Token is the bearer token of a service that is not in development mode.
const Token = "a-token-that-only-tests-know"

// Patience bounds every wait of a test: what takes longer has not happened.
const Patience = 20 * time.Second

// Service is a daemon that runs.
type Service struct {
	*daemon.Daemon
	// HTTP makes the calls; a test may wrap its Transport.
	HTTP *http.Client
	// Base is where calls go: the daemon's URL.
	Base string

	t    testing.TB
	opts daemon.Options
	stop context.CancelFunc
	end  sync.Once
	done chan struct{}
	err  error // of Run, once done is closed
}

// New runs a service until the test ends. What opts leaves out: a free port of
// the loopback, a file in a temporary folder, and [Token] unless in development
// mode.
func New(t testing.TB, opts daemon.Options) *Service {
	t.Helper()
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	if opts.DB == "" {
		opts.DB = filepath.Join(t.TempDir(), "kernel.db")
	}
	if opts.Token == "" && !opts.Dev {
		opts.Token = Token
	}
	d, err := daemon.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("open the daemon: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 64}
	s := &Service{
		Daemon: d, HTTP: &http.Client{Transport: transport, CheckRedirect: asIs}, Base: d.URL(),
		t: t, opts: opts, stop: stop, done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		s.err = d.Run(ctx)
	}()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Stop(); err != nil {
			t.Errorf("the daemon ended with: %v", err)
		}
	})
	select {
	case <-d.Ready():
	case <-s.done:
		t.Fatalf("the daemon did not start: %v", s.err)
	case <-time.After(Patience):
		t.Fatal("the daemon does not become ready")
	}
	return s
}

func asIs(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Options are what the service runs with.
func (s *Service) Options() daemon.Options { return s.opts }

// Done is closed when the daemon has ended.
func (s *Service) Done() <-chan struct{} { return s.done }

// Stop ends the service in good order and returns what Run did; only the first
// call does.
func (s *Service) Stop() (err error) {
	s.end.Do(func() {
		s.stop()
		select {
		case <-s.done:
			err = s.err
		case <-time.After(Patience):
			s.t.Error("the daemon does not stop")
		}
	})
	return err
}

// Restart stops the service in good order and starts another one on its file.
func (s *Service) Restart() *Service {
	s.t.Helper()
	if err := s.Stop(); err != nil {
		s.t.Fatalf("stop: %v", err)
	}
	opts := s.opts
	opts.Listen = "127.0.0.1:0"
	return New(s.t, opts)
}

// Crash starts another service on what is on the disk now, as if this one had
// been killed; this one is stopped. Nothing may be under way.
func (s *Service) Crash() *Service {
	s.t.Helper()
	opts := s.opts
	opts.Listen, opts.DB = "127.0.0.1:0", filepath.Join(s.t.TempDir(), "kernel.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(s.opts.DB + suffix)
		if err != nil {
			s.t.Fatalf("copy the database: %v", err)
		}
		if err := os.WriteFile(opts.DB+suffix, b, 0o600); err != nil {
			s.t.Fatalf("copy the database: %v", err)
		}
	}
	if err := s.Stop(); err != nil {
		s.t.Fatalf("stop: %v", err)
	}
	return New(s.t, opts)
}
