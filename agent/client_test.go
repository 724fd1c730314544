package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

func TestNewNamesEveryProblem(t *testing.T) {
	t.Parallel()
	good := agent.Options{BaseURL: "https://kernel.test", AgentID: "a", Secret: "s"}
	tests := map[string]struct {
		change func(*agent.Options)
		want   string
	}{
		"nothing given":      {func(o *agent.Options) { *o = agent.Options{} }, "agent options: BaseURL: missing\nAgentID: want 1 to 128 characters of A-Z a-z 0-9 . _ -\nSecret: missing; it is what the agent was registered with"},
		"relative URL":       {func(o *agent.Options) { o.BaseURL = "kernel.test:8080" }, "agent options: BaseURL: want an absolute http or https URL"},
		"no URL":             {func(o *agent.Options) { o.BaseURL = "http://u:hidden@ke rnel" }, "agent options: BaseURL: not a URL"},
		"URL with password":  {func(o *agent.Options) { o.BaseURL = "http://u:hidden@kernel" }, "agent options: BaseURL: must not hold credentials; requests are signed with Secret"},
		"URL with query":     {func(o *agent.Options) { o.BaseURL = "http://kernel?x=1" }, "agent options: BaseURL: must not have a query or a fragment"},
		"URL with v0":        {func(o *agent.Options) { o.BaseURL = "http://kernel/v0/" }, "agent options: BaseURL: must not end in /v0; the SDK adds it"},
		"bad id":             {func(o *agent.Options) { o.AgentID = "a b" }, "agent options: AgentID: want 1 to 128 characters of A-Z a-z 0-9 . _ -"},
		"long id":            {func(o *agent.Options) { o.AgentID = strings.Repeat("a", 129) }, "agent options: AgentID: want 1 to 128 characters of A-Z a-z 0-9 . _ -"},
		"all in order":       {func(*agent.Options) {}, ""},
		"a path is in order": {func(o *agent.Options) { o.BaseURL += "/kernel/" }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := good
			tt.change(&o)
			_, err := agent.New(o)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	o := agent.Options{BaseURL: "http://kernel", AgentID: "a", Secret: testSecret}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(o) //nolint:staticcheck // without an HTTP client it can be encoded
	if err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("options", "o", o, "p", &o)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %q %x %v %+v %#v", o, o, o, o, o, o, a, a, a) + log.String() + string(asJSON)
	for _, leak := range []string{testSecret, fmt.Sprintf("%x", testSecret), fmt.Sprintf("%d", []byte(testSecret))} {
		if strings.Contains(printed, leak) {
			t.Errorf("printed: %s", printed)
		}
	}
}

// flaky fails the first tries of each distinct call in one way.
type flaky struct {
	kernel *kernel
	tries  int
	how    func(w http.ResponseWriter, r *http.Request, handle func())
	seen   map[string]int
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.kernel.mu.Lock()
	f.seen[r.Method+" "+r.URL.Path]++
	n := f.seen[r.Method+" "+r.URL.Path]
	f.kernel.mu.Unlock()
	if n <= f.tries {
		f.how(w, r, func() { f.kernel.ServeHTTP(httptest.NewRecorder(), r) })
		return
	}
	f.kernel.ServeHTTP(w, r)
}

// TestRetriesDoNotDoubleAnything loses requests and answers of every call that a
// run makes. The kernel must end up as if nothing had happened.
func TestRetriesDoNotDoubleAnything(t *testing.T) {
	t.Parallel()
	status := func(code int) func(http.ResponseWriter, *http.Request, func()) {
		return func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(code) }
	}
	tests := map[string]func(w http.ResponseWriter, r *http.Request, handle func()){
		"429": status(429), "502": status(502), "503": status(503), "504": status(504),
		"answer lost after the kernel acted": func(_ http.ResponseWriter, _ *http.Request, handle func()) {
			handle()
			panic(http.ErrAbortHandler)
		},
		"connection cut": func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) },
	}
	for name, how := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t, func(o *agent.Options) {
				f := &flaky{kernel: o.HTTPClient.Transport.(loopback).handler.(*kernel), tries: 3, how: how, seen: map[string]int{}}
				server := httptest.NewServer(f)
				t.Cleanup(server.Close)
				o.BaseURL, o.HTTPClient = server.URL, nil
			})
			e := rig.kernel.create(`{}`)
			e.signals["go"] = append(e.signals["go"], []byte("1"), []byte("2"))
			calls := 0
			rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
				sum, err := agent.WaitSignal[int](ctx, run, "go", 0)
				if err != nil {
					return nil, err
				}
				for range 2 {
					n, err := agent.Tool(ctx, run, "post", nil, value(&calls, 20))
					if err != nil {
						return nil, err
					}
					sum += n
				}
				_, err = agent.Tool(ctx, run, "bad", nil, func(context.Context) (int, error) { return 0, errors.New("no") })
				if !errors.As(err, new(*agent.StepError)) {
					return nil, err
				}
				return sum, nil
			})
			rig.wantOutcome(e, "completed 41")
			if diff := cmp.Diff([]string{"tool_call post succeeded", "tool_call post succeeded", "tool_call bad failed"}, rig.steps(e)); diff != "" {
				t.Error(diff)
			}
			if calls != 2 {
				t.Errorf("the effect ran %d times", calls)
			}
		})
	}
}

func TestClientErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 405, 409, 413, 415, 500} {
		rig := newRig(t)
		rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if trail(r) != "steps" {
				return false
			}
			refuse(w, status, "some_code")
			return true
		}
		e := rig.kernel.create(`{}`)
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			_, err := agent.Step(ctx, run, "x", func(context.Context) (int, error) { return 1, nil })
			var api *agent.APIError
			if !errors.As(err, &api) {
				t.Errorf("got %v", err)
				return nil, err
			}
			want := &agent.APIError{Method: "POST", Path: "/v0/executions/" + e.id + "/steps", Status: status, Code: "some_code", Message: "no", Details: []byte("{}"), RequestID: "req-7"}
			if diff := cmp.Diff(want, api); diff != "" {
				t.Error(diff)
			}
			return nil, err
		})
		if n := rig.kernel.count("POST steps"); n != 1 {
			t.Errorf("%d: %d submits", status, n)
		}
	}
}

func TestRetriesEndWithThePolicy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		retry   agent.RetryPolicy
		after   string // Retry-After
		tries   func(int) bool
		elapsed func(time.Duration) bool
	}{
		"default": {
			tries:   func(n int) bool { return n > 12 },
			elapsed: func(d time.Duration) bool { return d > 50*time.Second && d <= time.Minute },
		},
		"short": {
			retry:   agent.RetryPolicy{MaxElapsed: 2 * time.Second, BaseDelay: time.Second, MaxDelay: time.Second},
			tries:   func(n int) bool { return n >= 2 },
			elapsed: func(d time.Duration) bool { return d <= 2*time.Second },
		},
		"none": {
			retry:   agent.RetryPolicy{MaxElapsed: -1},
			tries:   func(n int) bool { return n == 1 },
			elapsed: func(d time.Duration) bool { return d == 0 },
		},
		"as Retry-After says": {
			after:   "20",
			tries:   func(n int) bool { return n == 3 },
			elapsed: func(d time.Duration) bool { return d == 40*time.Second },
		},
		"Retry-After beyond the policy": {
			after:   "3600",
			tries:   func(n int) bool { return n == 1 },
			elapsed: func(d time.Duration) bool { return d == 0 },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rig := newRig(t, func(o *agent.Options) { o.Retry = tt.retry })
				rig.lease = 3600
				rig.kernel.intercept = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
					if tt.after != "" {
						w.Header().Set("Retry-After", tt.after)
					}
					refuse(w, 503, "unavailable")
					return true
				}
				start := time.Now()
				rig.run(rig.kernel.create(`{}`), never(t))
				if n := rig.kernel.count("GET execution"); !tt.tries(n) {
					t.Errorf("%d tries", n)
				}
				if d := time.Since(start); !tt.elapsed(d) {
					t.Errorf("%s elapsed", d)
				}
			})
		})
	}
}

func TestRetryAfterAsADate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		first := true
		rig.kernel.intercept = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			if !first {
				return false
			}
			first = false
			w.Header().Set("Retry-After", time.Now().UTC().Add(7*time.Second).Format(http.TimeFormat))
			refuse(w, 429, "too_many_requests")
			return true
		}
		start := time.Now()
		e := rig.kernel.create(`{}`)
		rig.run(e, func(context.Context, *agent.Run) (any, error) { return nil, nil })
		rig.wantOutcome(e, "completed null")
		if d := time.Since(start); d != 7*time.Second {
			t.Errorf("waited %s", d)
		}
	})
}

func TestKernelThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t, func(o *agent.Options) { o.RequestTimeout = time.Second })
		var hung atomic.Int32
		rig.kernel.intercept = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
			if hung.Add(1) > 2 {
				return false
			}
			<-r.Context().Done()
			return true
		}
		e := rig.kernel.create(`{}`)
		start := time.Now()
		rig.run(e, func(context.Context, *agent.Run) (any, error) { return nil, nil })
		rig.wantOutcome(e, "completed null")
		if d := time.Since(start).Round(time.Second); d != 2*time.Second {
			t.Errorf("took %s", d)
		}
	})
}

// TestRedirectsAreNotFollowed: a signed request goes where it was meant to, or
// nowhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s followed", r.Method, r.URL)
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	rig := newRig(t, func(o *agent.Options) { o.BaseURL, o.HTTPClient = server.URL, nil })
	rig.run(rig.kernel.create(`{}`), never(t))
	if !strings.Contains(rig.log.String(), ": 307") {
		t.Errorf("log: %s", rig.log)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t, func(o *agent.Options) { o.MaxConcurrentRuns = 1 })
		first, queued := rig.kernel.create(`{}`), rig.kernel.create(`{}`)
		slow := func(context.Context, *agent.Run) (any, error) {
			pass(64 * time.Second)
			return nil, nil
		}
		rig.deliver(first, slow)
		synctest.Wait()
		rig.deliver(queued, slow)
		rig.wait()
		// Every ten seconds: six while the first ran, and all the while for
		// the one that waited for it.
		if first.heartbeats != 6 || queued.heartbeats != 12 {
			t.Errorf("got %d and %d", first.heartbeats, queued.heartbeats)
		}
		rig.wantOutcome(queued, "completed null")
		pass(time.Hour)
		if first.heartbeats != 6 || queued.heartbeats != 12 {
			t.Error("heartbeats after the end")
		}
	})
}

func TestHeartbeatThatFindsTheRunOver(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*execution)
		want   error
	}{
		"superseded": {func(e *execution) { e.claim(false) }, agent.ErrSuperseded},
		"cancelled":  {func(e *execution) { e.status = "cancelled" }, agent.ErrTerminal},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rig := newRig(t)
				e := rig.kernel.create(`{}`)
				start := time.Now()
				rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
					rig.kernel.locked(func() { tt.change(e) })
					_, err := agent.Tool(context.WithoutCancel(ctx), run, "x", nil, func(context.Context) (int, error) { return 0, nil })
					return nil, err
				})
				_ = start
				other := rig.kernel.create(`{}`)
				rig.run(other, func(ctx context.Context, run *agent.Run) (any, error) {
					_, err := agent.Tool(ctx, run, "x", nil, func(inner context.Context) (int, error) {
						rig.kernel.locked(func() { tt.change(other) })
						<-inner.Done()
						return 0, context.Cause(inner)
					})
					if !errors.Is(err, tt.want) || !errors.Is(context.Cause(ctx), tt.want) {
						t.Errorf("got %v, %v", err, context.Cause(ctx))
					}
					return nil, errors.New("not to be reported")
				})
				if d := time.Since(start); d != 10*time.Second {
					t.Errorf("noticed after %s", d)
				}
			})
		})
	}
}

// TestHeartbeatThatLosesToABlock: the submit that blocks the execution ends the
// lease, and the heartbeat may hear of it before the submit does.
func TestHeartbeatThatLosesToABlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		rig.kernel.rule = func(step) string { return "approve" }
		rig.kernel.after = func(r *http.Request) {
			if trail(r) == "steps" {
				pass(15 * time.Second) // the answer is slow; a heartbeat is not
			}
		}
		e := rig.kernel.create(`{}`)
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			_, err := agent.Tool(ctx, run, "x", nil, func(context.Context) (int, error) { return 0, nil })
			if !errors.Is(err, agent.ErrBlocked) {
				t.Errorf("got %v", err)
			}
			return nil, err
		})
		if n := rig.kernel.count("POST heartbeat"); n != 1 {
			t.Errorf("%d heartbeats", n)
		}
	})
}

func TestHeartbeatTroubleIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t, func(o *agent.Options) { o.Retry = agent.RetryPolicy{} })
		rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if trail(r) == "heartbeat" {
				refuse(w, 503, "unavailable")
				return true
			}
			return false
		}
		e := rig.kernel.create(`{}`)
		rig.run(e, func(context.Context, *agent.Run) (any, error) {
			pass(time.Minute)
			return "done", nil
		})
		rig.wantOutcome(e, `completed "done"`)
		if !strings.Contains(rig.log.String(), "heartbeat failed") {
			t.Errorf("log: %s", rig.log)
		}
	})
}

// TestOutcomeSurvivesAnOutage: the kernel is away while the function ends. The
// report keeps being tried, and the lease is kept up meanwhile.
func TestOutcomeSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t, func(o *agent.Options) { o.Retry = agent.RetryPolicy{} })
		back := time.Now().Add(35 * time.Second)
		rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if trail(r) == "complete" && time.Now().Before(back) {
				refuse(w, 503, "unavailable")
				return true
			}
			return false
		}
		e := rig.kernel.create(`{}`)
		rig.run(e, func(context.Context, *agent.Run) (any, error) { return "kept", nil })
		rig.wantOutcome(e, `completed "kept"`)
		if e.heartbeats < 3 {
			t.Errorf("%d heartbeats", e.heartbeats)
		}
	})
}

func TestOutcomeThatCannotBeReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if trail(r) == "complete" {
				refuse(w, 500, "internal_error")
				return true
			}
			return false
		}
		e := rig.kernel.create(`{}`)
		rig.run(e, func(context.Context, *agent.Run) (any, error) { return nil, nil })
		rig.wantOutcome(e, "running")
		if !strings.Contains(rig.log.String(), "outcome could not be reported") {
			t.Errorf("log: %s", rig.log)
		}
	})
}
