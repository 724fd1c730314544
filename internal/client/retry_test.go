package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/freeport"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	get := func(c *client.Client) error { _, err := c.GetExecution(ctx, execID); return err }
	create := func(key string) func(*client.Client) error {
		return func(c *client.Client) error {
			_, _, err := c.CreateExecution(ctx, wire.CreateExecution{AgentID: "demo"}, key)
			return err
		}
	}
	grant := func(c *client.Client) error {
		return c.GrantApproval(ctx, execID, wire.DecideApproval{DecidedBy: "alice"})
	}
	drop := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	say := func(code wire.ErrorCode) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { fail(w, code, "no") }
	}
	proxy := func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }
	tests := []struct {
		name  string
		call  func(*client.Client) error
		bad   func(http.ResponseWriter)
		tries int32 // 4: all that it has
	}{
		{"a read, connection lost", get, drop, 4},
		{"a read, 503", get, say(wire.CodeUnavailable), 4},
		{"a read, 502 of a proxy", get, proxy, 4},
		{"a read, 429", get, say(wire.CodeTooManyRequests), 4},
		{"a read, 500", get, say(wire.CodeInternal), 1},
		{"a read, 404", get, say(wire.CodeNotFound), 1},
		{"a read, 401", get, say(wire.CodeUnauthorized), 1},
		{"a write with a key, connection lost", create("k"), drop, 4},
		{"a write with a key, 503", create("k"), say(wire.CodeUnavailable), 4},
		{"a write with a key, 409", create("k"), say(wire.CodeConflict), 1},
		{"a write without a key, connection lost", create(""), drop, 1},
		{"a write without a key, 503", create(""), say(wire.CodeUnavailable), 1},
		{"a write without a key, 429", create(""), say(wire.CodeTooManyRequests), 4},
		{"a grant, connection lost", grant, drop, 1},
		{"a grant, 502", grant, proxy, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) {
				n.Add(1)
				tt.bad(w)
			})
			if err := tt.call(c); err == nil {
				t.Error("no error")
			}
			if n.Load() != tt.tries {
				t.Errorf("sent %d times, want %d", n.Load(), tt.tries)
			}
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"agent_id":"demo"}` || r.Header.Get(wire.HeaderIdempotencyKey) != "k" {
			t.Errorf("try %d: body %s, key %q", n.Load(), body, r.Header.Get(wire.HeaderIdempotencyKey))
		}
		if n.Add(1) < 3 {
			panic(http.ErrAbortHandler)
		}
		answer(w, 200, wire.Execution{ID: execID})
	})
	x, _, err := c.CreateExecution(context.Background(), wire.CreateExecution{AgentID: "demo"}, "k")
	if err != nil || x.ID != execID {
		t.Errorf("CreateExecution = %q, %v", x.ID, err)
	}
}

// transport answers from a function: no network, so a bubble of synctest can
// hold it.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		header func() string
		least  time.Duration
	}{
		{"seconds", func() string { return "7" }, 7 * time.Second},
		{"date", func() string { return time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat) }, 8 * time.Second},
		{"bounded", func() string { return "86400" }, time.Minute},
		{"nonsense", func() string { return "soon" }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				o := client.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
					if n++; n == 1 {
						return response(429, `{"code":"too_many_requests","message":"slow down","details":{}}`, "Retry-After", tt.header()), nil
					}
					return response(200, `{"status":"ok"}`), nil
				})}
				c, err := client.New("http://k.test", o)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := c.Health(context.Background()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < tt.least || took > tt.least+time.Second {
					t.Errorf("tried again after %s, want %s or little more", took, tt.least)
				}
			})
		})
	}
}

func TestNoTryBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		o := client.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
			n++
			return response(503, `{"code":"unavailable","message":"starting","details":{}}`, "Retry-After", "20"), nil
		})}
		c, err := client.New("http://k.test", o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err = c.Health(ctx)
		if client.CodeOf(err) != wire.CodeUnavailable || n != 1 || time.Since(began) != 0 {
			t.Errorf("Health = %v after %d tries and %s; want what the service said, at once", err, n, time.Since(began))
		}
	})
}

func response(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Header: h, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	t.Run("of the service", func(t *testing.T) {
		t.Parallel()
		c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) { fail(w, wire.CodeNotFound, "no such execution") })
		_, err := c.GetExecution(ctx, execID)
		e := (*client.Error)(nil)
		if !errors.As(err, &e) || e.Code != wire.CodeNotFound || e.Status != 404 || e.RequestID != "req-1" || e.Message != "no such execution" {
			t.Errorf("GetExecution = %#v", err)
		}
		if !errors.Is(err, &client.Error{Code: wire.CodeNotFound}) || errors.Is(err, &client.Error{Code: wire.CodeConflict}) {
			t.Error("errors.Is does not compare codes")
		}
	})
	t.Run("of a proxy", func(t *testing.T) {
		t.Parallel()
		c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "go \x1b[31maway", http.StatusTeapot)
		})
		_, err := c.GetExecution(ctx, execID)
		if client.StatusOf(err) != http.StatusTeapot || client.CodeOf(err) != "" || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("GetExecution = %q", err)
		}
	})
	t.Run("a redirect is not followed", func(t *testing.T) {
		t.Parallel()
		c := serve(t, fast(), func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v0/executions/"+execID {
				t.Errorf("followed to %s", r.URL)
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		})
		if _, err := c.GetExecution(ctx, execID); client.StatusOf(err) != http.StatusFound {
			t.Errorf("GetExecution = %v", err)
		}
	})
	t.Run("another program", func(t *testing.T) {
		t.Parallel()
		c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello") })
		if _, err := c.GetExecution(ctx, execID); !errors.As(err, new(*client.ProtocolError)) {
			t.Errorf("GetExecution = %v", err)
		}
	})
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		addr, err := freeport.Loopback(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(addr, fast())
		if err != nil {
			t.Fatal(err)
		}
		e := (*client.ConnectionError)(nil)
		if err := c.GrantApproval(ctx, execID, wire.DecideApproval{DecidedBy: "x"}); !errors.As(err, &e) || e.Sent || e.Timeout {
			t.Errorf("GrantApproval = %#v, want a connection error that was not sent", err)
		}
	})
	t.Run("lost answer", func(t *testing.T) {
		t.Parallel()
		c := serve(t, fast(), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		e := (*client.ConnectionError)(nil)
		if err := c.GrantApproval(ctx, execID, wire.DecideApproval{DecidedBy: "x"}); !errors.As(err, &e) || !e.Sent {
			t.Errorf("GrantApproval = %#v, want a connection error that may have been sent", err)
		}
	})
	t.Run("request timeout", func(t *testing.T) {
		t.Parallel()
		o := fast()
		o.RequestTimeout, o.Tries = 20*time.Millisecond, 1
		c := serve(t, o, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		e := (*client.ConnectionError)(nil)
		if _, err := c.Health(ctx); !errors.As(err, &e) || !e.Timeout {
			t.Errorf("Health = %v, want a timeout", err)
		}
	})
	t.Run("the caller's cause", func(t *testing.T) {
		t.Parallel()
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(ctx)
		c := serve(t, fast(), func(_ http.ResponseWriter, r *http.Request) { cancel(mine); <-r.Context().Done() })
		if _, err := c.Health(ctx); !errors.Is(err, mine) {
			t.Errorf("Health = %v, want the cause", err)
		}
	})
}

// The token is in no error, whatever goes wrong.
func TestTokenStaysSecret(t *testing.T) {
	t.Parallel()
	bad := map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, _ *http.Request) { fail(w, wire.CodeUnauthorized, "no") },
		"dropped": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"garbage": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{") },
	}
	for name, h := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, fast(), h)
			_, err := c.GetExecution(context.Background(), execID)
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); err == nil || strings.Contains(text, token) {
				t.Errorf("error %s", text)
			}
		})
	}
}

func TestClockOffset(t *testing.T) {
	t.Parallel()
	c := serve(t, fast(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		answer(w, 200, wire.Health{Status: wire.HealthOK})
	})
	if _, ok := c.ClockOffset(); ok {
		t.Error("the offset is known before the first answer")
	}
	if _, err := c.Health(context.Background()); err != nil {
		t.Fatal(err)
	}
	if d, ok := c.ClockOffset(); !ok || d < 59*time.Minute || d > 61*time.Minute {
		t.Errorf("ClockOffset = %s, %v, want about 1h", d, ok)
	}
}
