package agent_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

type receipt struct {
	ID    string
	Extra any
}

func TestToolRunsOnceAndReplays(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{"to":"ada"}`)
	calls := 0
	var got []receipt
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		var in struct{ To string }
		if err := run.Input(ctx, &in); err != nil {
			return nil, err
		}
		r, err := agent.Tool(ctx, run, "send_email", in, value(&calls, receipt{ID: "<r1>", Extra: 7}))
		if err != nil {
			return nil, err
		}
		got = append(got, r)
		if run.Attempt() == 1 {
			panic("crash") // stands for anything that ends the first run late
		}
		return r.ID, nil
	}
	// The first run's report never arrives: the lease lapses.
	rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if strings.HasSuffix(r.URL.Path, "/fail") {
			refuse(w, 500, "internal_error")
			return true
		}
		return false
	}
	rig.run(e, logic)
	rig.kernel.lapse(e)
	rig.run(e, logic)

	rig.wantOutcome(e, `completed "<r1>"`)
	if calls != 1 {
		t.Errorf("the effect ran %d times", calls)
	}
	// The first run sees what the record holds, as every other: 7 is a float.
	want := receipt{ID: "<r1>", Extra: 7.0}
	if diff := cmp.Diff([]receipt{want, want}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tool_call send_email succeeded"}, rig.steps(e)); diff != "" {
		t.Error(diff)
	}
}

func TestSameCallTwiceIsTwoSteps(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		var sum int
		for i := range 3 {
			n, err := agent.Step(ctx, run, "roll", func(context.Context) (int, error) { return 1 << i, nil })
			if err != nil {
				return nil, err
			}
			sum += n
		}
		return sum, nil
	})
	rig.wantOutcome(e, "completed 7")
	if got := rig.steps(e); len(got) != 3 || got[0] != "local roll succeeded" {
		t.Errorf("steps: %v", got)
	}
}

func TestStepErrorIsTheSameWhenReplayed(t *testing.T) {
	t.Parallel()
	type detail struct {
		Reason string `json:"reason"`
		Code   int    `json:"code"`
	}
	tests := map[string]struct {
		fn         func(context.Context) (int, error)
		raw        string
		text       string
		reason     string
		wantDetail detail
	}{
		"plain error": {
			fn:   func(context.Context) (int, error) { return 0, errors.New("no <stamp>") },
			raw:  `{"message":"no <stamp>"}`,
			text: "agent: step post failed: no <stamp>",
		},
		"details": {
			fn:         func(context.Context) (int, error) { return 0, agent.Failure(detail{"no_stamp", 7}) },
			raw:        `{"reason":"no_stamp","code":7}`,
			text:       "agent: step post failed: no_stamp",
			reason:     "no_stamp",
			wantDetail: detail{"no_stamp", 7},
		},
		"panic": {
			fn:         func(context.Context) (int, error) { panic("oh no") },
			raw:        `{"reason":"panic","message":"oh no"}`,
			text:       "agent: step post failed: panic: oh no",
			reason:     agent.ReasonPanic,
			wantDetail: detail{Reason: "panic"},
		},
		"string": {
			fn:   func(context.Context) (int, error) { return 0, agent.Failure("just text") },
			raw:  `"just text"`,
			text: "agent: step post failed: just text",
		},
		"details that are no JSON": {
			fn:         func(context.Context) (int, error) { return 0, agent.Failure(func() {}) },
			raw:        `{"reason":"error_rejected","message":"no JSON error can be made of a func()"}`,
			text:       "agent: step post failed: error_rejected: no JSON error can be made of a func()",
			reason:     agent.ReasonErrorRejected,
			wantDetail: detail{Reason: "error_rejected"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			e := rig.kernel.create(`{}`)
			runs, calls := 0, 0
			logic := func(ctx context.Context, run *agent.Run) (any, error) {
				runs++
				_, err := agent.Tool(ctx, run, "post", nil, func(ctx context.Context) (int, error) {
					calls++
					return tt.fn(ctx)
				})
				var failed *agent.StepError
				if !errors.As(err, &failed) {
					t.Errorf("got %v, want a *StepError", err)
					return nil, err
				}
				if string(failed.Raw) != tt.raw || failed.Error() != tt.text || failed.Reason() != tt.reason {
					t.Errorf("run %d: got %s, %q, %q", runs, failed.Raw, failed, failed.Reason())
				}
				var got detail
				if err := failed.Unmarshal(&got); tt.wantDetail != (detail{}) && (err != nil || got != tt.wantDetail) {
					t.Errorf("run %d: details %+v, %v", runs, got, err)
				}
				if runs == 1 {
					_, err := agent.Step(ctx, run, "stop here", func(context.Context) (int, error) { return 0, nil })
					return nil, err
				}
				return "gave up", nil
			}
			rig.kernel.rule = func(s step) string {
				if s.Target == "stop here" {
					return "approve"
				}
				return "proceed"
			}
			rig.run(e, logic)
			rig.kernel.grant(e)
			rig.run(e, logic)
			rig.wantOutcome(e, `completed "gave up"`)
			if calls != 1 {
				t.Errorf("the effect ran %d times", calls)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		check   func(error) bool
		failure string
	}{
		"denied": {
			check: func(err error) bool {
				var denied *agent.DeniedError
				return errors.As(err, &denied) && denied.Reason == "not allowed" && denied.RuleID == "no-mail" && denied.Target == "post"
			},
			failure: "failed agent: post was denied: not allowed (rule no-mail)",
		},
		"rate_limited": {
			check: func(err error) bool {
				var limited *agent.RateLimitedError
				return errors.As(err, &limited) && limited.RetryAfter == 1500*time.Millisecond && limited.RuleID == "slow"
			},
			failure: "failed agent: post was rate limited: rate_limit_exceeded (rule slow), retry after 1.5s",
		},
	}
	for decision, tt := range tests {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			rig.kernel.rule = func(step) string { return decision }
			e := rig.kernel.create(`{}`)
			calls := 0
			rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
				_, err := agent.Tool(ctx, run, "post", nil, value(&calls, 1))
				if !tt.check(err) {
					t.Errorf("got %#v", err)
				}
				return nil, err
			})
			rig.wantOutcome(e, tt.failure)
			if calls != 0 {
				t.Error("the effect ran")
			}
		})
	}
}

func TestRateLimitedCallMayBeMadeAgain(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	asked := 0
	rig.kernel.rule = func(step) string {
		if asked++; asked < 3 {
			return "rate_limited"
		}
		return "proceed"
	}
	e := rig.kernel.create(`{}`)
	calls := 0
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		for {
			v, err := agent.Tool(ctx, run, "post", nil, value(&calls, "ok"))
			var limited *agent.RateLimitedError
			if !errors.As(err, &limited) {
				return v, err
			}
		}
	})
	rig.wantOutcome(e, `completed "ok"`)
	if asked != 3 || calls != 1 {
		t.Errorf("asked %d times, ran %d times", asked, calls)
	}
}

func TestIdempotencyModesAfterACrash(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts  []agent.Option
		calls int
		want  string
	}{
		"safe to retry": {calls: 2, want: `completed "sent"`},
		"at most once":  {opts: []agent.Option{agent.AtMostOnce()}, calls: 1, want: "failed agent: step post failed: indeterminate: unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			e := rig.kernel.create(`{}`)
			calls := 0
			dead := make(chan struct{})
			logic := func(ctx context.Context, run *agent.Run) (any, error) {
				return agent.Tool(ctx, run, "post", nil, func(ctx context.Context) (string, error) {
					if calls++; run.Attempt() == 1 {
						close(dead)
						<-ctx.Done() // the process dies here, as far as the kernel can see
						return "", ctx.Err()
					}
					return "sent", nil
				}, tt.opts...)
			}
			rig.deliver(e, logic)
			<-dead
			rig.kernel.lapse(e)
			rig.run(e, logic) // the webhook of the next attempt ends the first
			rig.wantOutcome(e, tt.want)
			if calls != tt.calls {
				t.Errorf("the effect ran %d times, want %d", calls, tt.calls)
			}
		})
	}
}

func TestNestedStepsAreRefused(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		return agent.Tool(ctx, run, "outer", nil, func(inner context.Context) (string, error) {
			_, toolErr := agent.Step(inner, run, "inner", func(context.Context) (int, error) { return 1, nil })
			_, waitErr := agent.WaitSignal[int](inner, run, "go", 0)
			req, err := http.NewRequestWithContext(inner, http.MethodGet, "http://llm.test/", nil)
			if err != nil {
				return "", err
			}
			resp, llmErr := run.Transport(nil).RoundTrip(req)
			if resp != nil {
				resp.Body.Close()
			}
			for _, err := range []error{toolErr, waitErr, llmErr} {
				if !errors.Is(err, agent.ErrNested) {
					t.Errorf("got %v, want ErrNested", err)
				}
			}
			return "fine", nil
		})
	})
	rig.wantOutcome(e, `completed "fine"`)
	if got := rig.steps(e); len(got) != 1 {
		t.Errorf("steps: %v", got)
	}
}

func TestResultsThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		result any
		status int // of the kernel's refusal; 0 for none
		want   string
	}{
		"no JSON":   {result: func() {}, want: "failed agent: step post failed: result_rejected: encode result: json: unsupported type: func()"},
		"too large": {result: "long", status: 413, want: "failed agent: step post failed: result_rejected: the result was refused: "},
		"invalid":   {result: "odd", status: 400, want: "failed agent: step post failed: result_rejected: the result was refused: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
				if trail(r) == "step-complete" && tt.status != 0 {
					refuse(w, tt.status, "payload_too_large")
					return true
				}
				return false
			}
			e := rig.kernel.create(`{}`)
			rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
				return agent.Tool(ctx, run, "post", nil, func(context.Context) (any, error) { return tt.result, nil })
			})
			if got := rig.outcome(e); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q…", got, tt.want)
			}
			if s := rig.step(e, 0); s.Status != "failed" {
				t.Errorf("the step is %s: a later run would run it again", s.Status)
			}
		})
	}
}

func TestErrorThatTheKernelRefuses(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		if trail(r) == "step-fail" && strings.Contains(string(body), "enormous") {
			refuse(w, 413, "payload_too_large")
			return true
		}
		return false
	}
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		_, err := agent.Tool(ctx, run, "post", nil, func(context.Context) (int, error) { return 0, agent.Failure("enormous") })
		var failed *agent.StepError
		if !errors.As(err, &failed) || failed.Reason() != agent.ReasonErrorRejected {
			t.Errorf("got %v", err)
		}
		return "on", nil
	})
	rig.wantOutcome(e, `completed "on"`)
}

func TestWhatTheKernelHoldsWins(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		return agent.Tool(ctx, run, "post", nil, func(context.Context) (string, error) {
			rig.kernel.locked(func() { // another process with the very same attempt was faster
				e.steps[0].Status, e.steps[0].Result = "succeeded", []byte(`"theirs"`)
			})
			return "ours", nil
		})
	})
	rig.wantOutcome(e, `completed "theirs"`)
}

func TestRecordedResultOfAnotherType(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	recorded := make(chan struct{})
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		if run.Attempt() == 1 {
			_, err := agent.Step(ctx, run, "x", func(context.Context) (string, error) { return "text", nil })
			close(recorded)
			<-ctx.Done()
			return nil, err
		}
		return agent.Step(ctx, run, "x", func(context.Context) (int, error) { return 1, nil })
	}
	rig.deliver(e, logic)
	<-recorded
	rig.kernel.lapse(e)
	rig.run(e, logic)
	if got := rig.outcome(e); !strings.Contains(got, "decode result of step") {
		t.Errorf("got %q", got)
	}
}

func TestArgumentsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		return agent.Tool(ctx, run, "post", make(chan int), func(context.Context) (int, error) { return 1, nil })
	})
	rig.wantOutcome(e, "failed encode args of post: json: unsupported type: chan int")
	rigSteps := rig.steps(e)
	if len(rigSteps) != 0 {
		t.Errorf("steps: %v", rigSteps)
	}
}

func TestStepWithoutAFunction(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		return agent.Step[int](ctx, run, "x", nil)
	})
	rig.wantOutcome(e, "failed agent: step x has no function")
}

func TestUnknownDecisionRunsNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"decision":"maybe","step_id":"s"}`, `{"decision":"proceed"}`} {
		rig := newRig(t)
		rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if trail(r) != "steps" {
				return false
			}
			_, _ = w.Write([]byte(body))
			return true
		}
		e := rig.kernel.create(`{}`)
		calls := 0
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			return agent.Tool(ctx, run, "post", nil, value(&calls, 1))
		})
		if calls != 0 || !strings.HasPrefix(rig.outcome(e), "failed agent: ") {
			t.Errorf("%s: %d calls, %s", body, calls, rig.outcome(e))
		}
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		first, err := agent.WaitSignal[map[string]int](ctx, run, "paid", 90*time.Second+1)
		if err != nil {
			return nil, err
		}
		second, err := agent.WaitSignal[int](ctx, run, "paid", 0)
		return first["sum"] + second, err
	}
	rig.run(e, logic)
	rig.wantOutcome(e, "blocked")
	rig.kernel.locked(func() {
		if e.waitingFor != "paid 91" {
			t.Errorf("waits for %q", e.waitingFor)
		}
		e.signals["paid"] = append(e.signals["paid"], []byte(`{"sum":4}`), []byte(`38`))
		e.claim(true)
	})
	rig.run(e, logic)
	rig.wantOutcome(e, "completed 42")
}

func TestSignalTimeout(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	e.signals["paid"] = append(e.signals["paid"], []byte("timeout"))
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		_, err := agent.WaitSignal[int](ctx, run, "paid", time.Second)
		var failed *agent.StepError
		if !errors.As(err, &failed) || failed.Reason() != agent.ReasonSignalTimeout || failed.Target != "signal:paid" {
			t.Errorf("got %v", err)
		}
		if _, err := agent.WaitSignal[int](ctx, run, "not a name", 0); err == nil {
			t.Error("a type with spaces was taken")
		}
		if _, err := agent.WaitSignal[int](ctx, run, "paid", -1); err == nil {
			t.Error("a negative timeout was taken")
		}
		return "unpaid", nil
	})
	rig.wantOutcome(e, `completed "unpaid"`)
}

func TestCallWithAContextThatIsOver(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	reason := errors.New("enough")
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(reason)
		if err := run.Input(ctx, new(any)); !errors.Is(err, reason) {
			t.Errorf("Input: %v", err)
		}
		_, err := agent.Step(ctx, run, "x", func(context.Context) (int, error) { return 1, nil })
		if !errors.Is(err, reason) {
			t.Errorf("Step: %v", err)
		}
		return 1, nil
	})
	rig.wantOutcome(e, "completed 1")
	if n := rig.kernel.count("POST steps"); n != 0 {
		t.Errorf("%d submits", n)
	}
}
