package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

// TestStoppedRunReportsNothing stops a run in every way a submit can, while its
// function swallows, wraps or panics with the error.
func TestStoppedRunReportsNothing(t *testing.T) {
	t.Parallel()
	stops := map[string]struct {
		answer string // of the submit
		status int
		want   error
	}{
		"blocked on an approval": {answer: `{"decision":"blocked","step_id":"s","approval_id":"ap-1"}`, status: 200, want: agent.ErrBlocked},
		"parked":                 {answer: `{"decision":"blocked","retry_after_seconds":3}`, status: 200, want: agent.ErrBlocked},
		"execution blocked":      {answer: `{"decision":"execution_blocked"}`, status: 200, want: agent.ErrBlocked},
		"terminal":               {answer: `{"decision":"execution_terminal"}`, status: 200, want: agent.ErrTerminal},
		"terminal as an error":   {answer: `{"code":"execution_terminal","message":"","details":{}}`, status: 409, want: agent.ErrTerminal},
		"superseded":             {answer: `{"code":"lease_superseded","message":"","details":{}}`, status: 409, want: agent.ErrSuperseded},
		"broken kernel":          {answer: `{"code":"internal_error","message":"","details":{}}`, status: 500, want: agent.ErrUnavailable},
		"not a kernel":           {answer: `<html>`, status: 200, want: agent.ErrUnavailable},
		"not a kernel at all":    {answer: `<html>`, status: 500, want: agent.ErrUnavailable},
	}
	endings := map[string]func(error) (any, error){
		"returns it":   func(err error) (any, error) { return nil, err },
		"wraps it":     func(err error) (any, error) { return nil, fmt.Errorf("my tool: %w", err) },
		"hides it":     func(err error) (any, error) { return nil, errors.New(err.Error()) },
		"swallows it":  func(error) (any, error) { return "fine", nil },
		"panics at it": func(err error) (any, error) { panic(err) },
	}
	for name, stop := range stops {
		for how, end := range endings {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				rig := newRig(t)
				rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
					if trail(r) != "steps" {
						return false
					}
					w.WriteHeader(stop.status)
					_, _ = w.Write([]byte(stop.answer))
					return true
				}
				e := rig.kernel.create(`{}`)
				calls := 0
				rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
					_, first := agent.Tool(ctx, run, "post", nil, value(&calls, 1))
					_, second := agent.Step(ctx, run, "other", value(&calls, 1))
					_, third := agent.WaitSignal[int](context.WithoutCancel(ctx), run, "go", 0)
					for i, err := range []error{first, second, third, run.Input(ctx, new(any)), context.Cause(ctx)} {
						if err != first || !errors.Is(err, stop.want) || !errors.Is(err, agent.ErrStop) { //nolint:errorlint // the very same value
							t.Errorf("call %d: got %v, want %v", i, err, stop.want)
						}
					}
					return end(first)
				})
				rig.wantOutcome(e, "running")
				if calls != 0 {
					t.Error("an effect ran")
				}
				if diff := cmp.Diff([]string{"GET execution", "POST steps"}, rig.kernel.requests); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestUnavailableSaysWhy(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if trail(r) == "steps" {
			refuse(w, 500, "internal_error")
			return true
		}
		return false
	}
	rig.run(rig.kernel.create(`{}`), func(ctx context.Context, run *agent.Run) (any, error) {
		_, err := agent.Step(ctx, run, "x", func(context.Context) (int, error) { return 1, nil })
		var api *agent.APIError
		if !errors.As(err, &api) || api.RequestID != "req-7" || api.Code != "internal_error" {
			t.Errorf("got %v", err)
		}
		return nil, err
	})
}

func TestApprovalGrantedAndRunAgain(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.rule = func(s step) string {
		if s.Target == "drop_table" {
			return "approve"
		}
		return "proceed"
	}
	e := rig.kernel.create(`{}`)
	reads, drops := 0, 0
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		n, err := agent.Tool(ctx, run, "read_table", nil, value(&reads, 3))
		if err != nil {
			return nil, err
		}
		return agent.Tool(ctx, run, "drop_table", n, value(&drops, "gone"), agent.AtMostOnce())
	}
	rig.run(e, logic)
	rig.wantOutcome(e, "blocked")
	if reads != 1 || drops != 0 {
		t.Errorf("reads %d, drops %d", reads, drops)
	}
	rig.kernel.grant(e)
	rig.run(e, logic)
	rig.wantOutcome(e, `completed "gone"`)
	if reads != 1 || drops != 1 {
		t.Errorf("reads %d, drops %d", reads, drops)
	}
}

// TestFirstStopIsTheOneTold: what comes after it changes nothing any more.
func TestFirstStopIsTheOneTold(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.rule = func(step) string { return "park" }
	rig.run(rig.kernel.create(`{}`), func(ctx context.Context, run *agent.Run) (any, error) {
		_, first := agent.Tool(ctx, run, "x", nil, func(context.Context) (int, error) { return 0, nil })
		over, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		if err := rig.agent.Shutdown(over); err == nil {
			t.Error("the run under way was not noticed")
		}
		for _, err := range []error{first, run.Input(ctx, new(any)), context.Cause(ctx)} {
			if !errors.Is(err, agent.ErrBlocked) || errors.Is(err, agent.ErrShutdown) {
				t.Errorf("got %v", err)
			}
		}
		return nil, nil
	})
}

// TestBlockLeavesEffectsUnderWayAlone blocks a run while another of its effects
// is at work: it is not cut off, and its result is recorded.
func TestBlockLeavesEffectsUnderWayAlone(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.rule = func(s step) string {
		if s.Target == "gated" {
			return "approve"
		}
		return "proceed"
	}
	e := rig.kernel.create(`{}`)
	working, blocked := make(chan struct{}), make(chan struct{})
	rig.deliver(e, func(ctx context.Context, run *agent.Run) (any, error) {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			got, err := agent.Tool(ctx, run, "slow", nil, func(inner context.Context) (string, error) {
				close(working)
				<-blocked
				if inner.Err() != nil || ctx.Err() == nil {
					t.Errorf("effect's context: %v, function's: %v", inner.Err(), ctx.Err())
				}
				return "sent", nil
			}, agent.AtMostOnce())
			if got != "sent" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
		<-working
		_, err := agent.Tool(ctx, run, "gated", nil, func(context.Context) (int, error) { return 0, nil })
		close(blocked)
		return nil, err
	})
	rig.wait()
	if diff := cmp.Diff([]string{"tool_call slow succeeded", "tool_call gated awaiting_approval"}, rig.steps(e)); diff != "" {
		t.Error(diff)
	}
}

// TestBlockWaitsForEffectsLeftBehind is the same for a function that returns
// without joining its goroutine.
func TestBlockWaitsForEffectsLeftBehind(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.rule = func(s step) string {
		if s.Target == "gated" {
			return "park"
		}
		return "proceed"
	}
	e := rig.kernel.create(`{}`)
	working, release := make(chan struct{}), make(chan struct{})
	rig.deliver(e, func(ctx context.Context, run *agent.Run) (any, error) {
		go func() {
			_, _ = agent.Tool(ctx, run, "slow", nil, func(inner context.Context) (string, error) {
				close(working)
				<-release
				return "sent", inner.Err()
			})
		}()
		<-working
		_, err := agent.Tool(ctx, run, "gated", nil, func(context.Context) (int, error) { return 0, nil })
		defer close(release)
		return nil, err
	})
	rig.wait()
	if diff := cmp.Diff([]string{"tool_call slow succeeded"}, rig.steps(e)); diff != "" {
		t.Error(diff)
	}
}

// TestCancelledSiblingIsNotRecorded: an effect that gives up because the run was
// blocked has not failed.
func TestCancelledSiblingIsNotRecorded(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.rule = func(s step) string {
		if s.Target == "gated" {
			return "approve"
		}
		return "proceed"
	}
	e := rig.kernel.create(`{}`)
	working := make(chan struct{})
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			_, err := agent.Tool(ctx, run, "slow", nil, func(context.Context) (string, error) {
				close(working)
				<-ctx.Done() // the function's context, not the effect's
				return "", fmt.Errorf("gave up: %w", ctx.Err())
			})
			if !errors.Is(err, agent.ErrBlocked) {
				t.Errorf("got %v", err)
			}
		})
		<-working
		_, err := agent.Tool(ctx, run, "gated", nil, func(context.Context) (int, error) { return 0, nil })
		return nil, err
	})
	if s := rig.step(e, 0); s.Status != "executing" {
		t.Errorf("recorded as %s %s", s.Status, s.Error)
	}
}

// TestEffectWithADeadlineOfItsOwn: the caller's time limit reaches the effect,
// and running into it is a failure like any other.
func TestEffectWithADeadlineOfItsOwn(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		short, cancel := context.WithTimeout(ctx, 1)
		defer cancel()
		<-short.Done()
		if _, err := agent.Step(short, run, "x", func(context.Context) (int, error) { return 0, nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		half, cancelHalf := context.WithCancel(ctx)
		_, err := agent.Step(half, run, "y", func(inner context.Context) (int, error) {
			cancelHalf()
			<-inner.Done()
			return 0, inner.Err()
		})
		return nil, err
	})
	rig.wantOutcome(e, "failed agent: step y failed: context canceled")
}

func TestTerminalWhileAnEffectIsUnderWay(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		_, err := agent.Tool(ctx, run, "slow", nil, func(context.Context) (int, error) {
			rig.kernel.locked(func() { e.status = "cancelled" })
			return 1, nil
		})
		if !errors.Is(err, agent.ErrTerminal) {
			t.Errorf("got %v", err)
		}
		return 1, nil
	})
	rig.wantOutcome(e, "cancelled")
}

func TestSupersededOutcome(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(context.Context, *agent.Run) (any, error) {
		rig.kernel.lapse(e)
		return "late", nil
	})
	rig.wantOutcome(e, "running")
	if !strings.Contains(rig.log.String(), "outcome came too late") {
		t.Errorf("log: %s", rig.log)
	}
}
