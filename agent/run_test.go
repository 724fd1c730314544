package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

func TestOutcomeIsWhatTheFunctionReturns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fn   agent.Func
		want string
	}{
		"value":         {func(context.Context, *agent.Run) (any, error) { return map[string]int{"n": 1}, nil }, `completed {"n":1}`},
		"nil":           {func(context.Context, *agent.Run) (any, error) { return nil, nil }, "completed null"},
		"error":         {func(context.Context, *agent.Run) (any, error) { return 1, errors.New("no luck") }, "failed no luck"},
		"empty error":   {func(context.Context, *agent.Run) (any, error) { return nil, errors.New("") }, "failed agent function failed with an empty error"},
		"panic":         {func(context.Context, *agent.Run) (any, error) { panic("boom") }, "failed agent function panicked: boom"},
		"runtime error": {func(context.Context, *agent.Run) (any, error) { return []int{}[len(os.Args[:0])], nil }, "failed agent function panicked: runtime error: index out of range [0] with length 0"},
		"goexit":        {func(context.Context, *agent.Run) (any, error) { runtime.Goexit(); return nil, nil }, "failed agent function ended its goroutine without returning (runtime.Goexit)"},
		"no JSON":       {func(context.Context, *agent.Run) (any, error) { return func() {}, nil }, "failed encode output: json: unsupported type: func()"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			e := rig.kernel.create(`{}`)
			rig.run(e, tt.fn)
			rig.wantOutcome(e, tt.want)
		})
	}
}

func TestOutcomeThatTheKernelRefuses(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if trail(r) == "complete" {
			refuse(w, 413, "payload_too_large")
			return true
		}
		return false
	}
	e := rig.kernel.create(`{}`)
	rig.run(e, func(context.Context, *agent.Run) (any, error) { return "much", nil })
	if got := rig.outcome(e); !strings.HasPrefix(got, "failed the output was refused: ") {
		t.Errorf("got %q", got)
	}
}

func TestLongErrorIsCut(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(context.Context, *agent.Run) (any, error) {
		return nil, errors.New("\xff" + strings.Repeat("ä", 1<<20))
	})
	got := rig.outcome(e)
	if len(got) > 64<<10+len("failed ") || !strings.HasPrefix(got, "failed �ä") || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes, %.20q", len(got), got)
	}
}

func TestRunTellsWhatItIs(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{"n":9007199254740993}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		got := fmt.Sprintf("%s %s %d %v %s", run.ExecutionID(), run.DispatchID(), run.Attempt(), run.Labels(), run.CreatedAt().Format(time.RFC3339Nano))
		want := e.id + " " + e.id + "-d1 1 map[env:test] 2026-01-02T03:04:05.000006Z"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		run.Labels()["env"] = "changed"
		if run.Labels()["env"] != "test" {
			t.Error("labels can be changed from outside")
		}
		var in struct{ N int64 }
		if err := run.Input(ctx, &in); err != nil || in.N != 9007199254740993 {
			t.Errorf("input %+v, %v", in, err)
		}
		if err := run.Input(ctx, new(string)); err == nil || !strings.HasPrefix(err.Error(), "decode input of execution "+e.id) {
			t.Errorf("input into a string: %v", err)
		}
		run.Logger().Info("hello from the function")
		return nil, nil
	})
	for _, want := range []string{`"execution_id":"` + e.id, `"agent_id":"mailer"`, `"attempt":1`, "hello from the function"} {
		if !strings.Contains(rig.log.String(), want) {
			t.Errorf("log has no %s: %s", want, rig.log)
		}
	}
}

func TestRunOfAnExecutionThatIsOver(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"completed", "failed", "cancelled"} {
		rig := newRig(t)
		e := rig.kernel.create(`{}`)
		e.status = status
		rig.run(e, never(t))
		if diff := cmp.Diff([]string{"GET execution"}, rig.kernel.requests); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", status, diff)
		}
	}
}

func TestRunThatMayNotReadItsExecution(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.intercept = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		refuse(w, 403, "forbidden")
		return true
	}
	e := rig.kernel.create(`{}`)
	rig.run(e, never(t))
	if !strings.Contains(rig.log.String(), "403 forbidden: no (request req-7)") {
		t.Errorf("log: %s", rig.log)
	}
}

func TestShutdownLetsRunsEnd(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	started, release := make(chan struct{}), make(chan struct{})
	rig.deliver(e, func(context.Context, *agent.Run) (any, error) {
		close(started)
		<-release
		return "to the end", nil
	})
	<-started
	closed := make(chan error)
	go func() { closed <- rig.agent.Shutdown(context.Background()) }()
	other := rig.kernel.create(`{}`)
	body := rig.kernel.webhook(other, 30)
	for { // until Shutdown has begun; a webhook before that is simply run
		if resp := rig.post(func(context.Context, *agent.Run) (any, error) { return nil, nil }, body, sign(body)); resp.StatusCode == http.StatusServiceUnavailable {
			break
		}
		rig.kernel.lapse(other)
		body = rig.kernel.webhook(other, 30)
		runtime.Gosched()
	}
	close(release)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	rig.wantOutcome(e, `completed "to the end"`)
}

func TestShutdownThatRunsOutOfTime(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	started := make(chan struct{})
	var calls []error
	rig.deliver(e, func(ctx context.Context, run *agent.Run) (any, error) {
		_, err := agent.Tool(ctx, run, "slow", nil, func(ctx context.Context) (int, error) {
			close(started)
			<-ctx.Done()
			return 0, errors.New("cut off")
		})
		calls = append(calls, err, run.Input(ctx, new(any)), context.Cause(ctx))
		return nil, errors.New("not to be reported")
	})
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rig.agent.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	rig.wait()
	for i, err := range calls {
		if !errors.Is(err, agent.ErrShutdown) || !errors.Is(err, agent.ErrStop) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	rig.wantOutcome(e, "running")
	if s := rig.step(e, 0); s.Status != "executing" {
		t.Errorf("the step that was cut off is recorded as %s", s.Status)
	}
}

func TestGoroutineThatTheFunctionLeftBehind(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	started, left := make(chan struct{}), make(chan error, 2)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		go func() {
			_, err := agent.Tool(ctx, run, "slow", nil, func(ctx context.Context) (int, error) {
				close(started)
				<-ctx.Done()
				return 0, ctx.Err()
			})
			left <- err
			_, err = agent.Step(context.WithoutCancel(ctx), run, "late", func(context.Context) (int, error) { return 0, nil })
			left <- err
		}()
		<-started
		return "early", nil
	})
	rig.wantOutcome(e, `completed "early"`)
	for range 2 {
		if err := <-left; !errors.Is(err, agent.ErrStop) {
			t.Errorf("got %v", err)
		}
	}
	if n := rig.kernel.count("POST steps"); n != 1 {
		t.Errorf("%d submits, one of them too late", n)
	}
}
