package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// serve is the life of one run, from its acknowledgement to its report.
func (a *Agent) serve(ctx context.Context, r *Run, fn Func) {
	defer r.keepAlive(context.WithoutCancel(ctx))()
	release, err := a.acquire(ctx)
	if err != nil {
		r.log.Info("run ended before its turn", "cause", err)
		return
	}
	defer release()
	if err := r.load(ctx); err != nil {
		if errors.Is(err, ErrStop) {
			r.log.Info("run ended before it began", "cause", err)
		} else {
			r.log.Error("run could not begin", "error", err)
		}
		return
	}
	r.log.Debug("run begins")
	r.settle(ctx, r.call(ctx, fn))
}

// result is what an agent function came to.
type result struct {
	output any
	err    error
}

// errExited stands for the value of a function that ended its goroutine.
var errExited = errors.New("agent function ended its goroutine without returning (runtime.Goexit)")

// call runs the agent function. It does so in a goroutine of its own, because
// runtime.Goexit, which test helpers call, would end the run's without a report.
func (r *Run) call(ctx context.Context, fn Func) result {
	done := make(chan result, 1)
	go func() {
		out := result{err: errExited}
		defer func() {
			if p := recover(); p != nil {
				r.log.Error("agent function panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				out = result{err: fmt.Errorf("agent function panicked: %v", p)}
			}
			done <- out
		}()
		output, err := fn(ctx, r)
		out = result{output, err}
	}()
	return <-done
}

// settle reports what the agent function came to, unless the run was stopped.
func (r *Run) settle(ctx context.Context, out result) {
	r.mu.Lock()
	stop := r.stop
	r.returned = true
	if stop == nil {
		r.stop = errReturned // under the same lock: no call slips in between
	}
	r.mu.Unlock()
	if stop != nil {
		r.running.Wait() // a block lets the effects under way end
		_ = r.halt(errReturned)
		r.log.Info("run ended", "cause", stop)
		return
	}
	_ = r.halt(errReturned) // cuts off what the function left behind
	failure, err := r.reportOutcome(context.WithoutCancel(ctx), out)
	var api *APIError
	switch {
	case err == nil && failure != "":
		r.log.Info("execution failed", "error", failure)
	case err == nil:
		r.log.Info("execution completed")
	case errors.As(err, &api) && (api.Code == codeLeaseSuperseded || api.Code == codeExecutionTerminal):
		r.log.Info("outcome came too late", "cause", api.Code)
	default:
		// The lease lapses, and the next run replays its way to this outcome.
		r.log.Error("outcome could not be reported", "error", err)
	}
}

// reportOutcome completes the execution, or fails it with the text that it
// returns.
func (r *Run) reportOutcome(ctx context.Context, out result) (failure string, err error) {
	if out.err != nil {
		return r.reportFailure(ctx, out.err.Error())
	}
	output, err := encode(out.output)
	if err != nil {
		return r.reportFailure(ctx, "encode output: "+err.Error())
	}
	body, err := encode(struct {
		Output json.RawMessage `json:"output"`
	}{output})
	if err != nil {
		return r.reportFailure(ctx, "encode output: "+err.Error())
	}
	_, err = r.write(ctx, body, "", "complete")
	if refused(err) {
		return r.reportFailure(ctx, "the output was refused: "+err.Error())
	}
	return "", err
}

func (r *Run) reportFailure(ctx context.Context, text string) (failure string, err error) {
	if text == "" {
		text = "agent function failed with an empty error" // the route takes no empty one
	}
	text = clip(text, maxErrorText)
	body, err := encode(struct {
		Error string `json:"error"`
	}{text})
	if err != nil {
		return text, fmt.Errorf("encode failure: %w", err)
	}
	_, err = r.write(ctx, body, "", "fail")
	return text, err
}

// keepAlive sends heartbeats until the function that it returns is called.
func (r *Run) keepAlive(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.heartbeats(ctx, r.lease/3)
	}()
	return func() {
		cancel()
		<-done
	}
}

// heartbeats touches the lease every so often, for as long as the run may go on
// or its outcome is being reported. A third of the lease leaves room for one
// that is lost.
func (r *Run) heartbeats(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if stop := r.stopped(); stop != nil && !errors.Is(stop, errReturned) {
			return
		}
		r.heartbeat(ctx, every)
	}
}

func (r *Run) heartbeat(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := r.write(ctx, nil, "", "heartbeat")
	var api *APIError
	switch {
	case err == nil, ctx.Err() != nil && errors.Is(err, context.Canceled):
	case errors.As(err, &api) && api.Code == codeExecutionTerminal:
		_ = r.halt(ErrTerminal) // its value is for callers of the run
	case errors.As(err, &api) && api.Code == codeLeaseSuperseded:
		r.leaseGone()
	default:
		// Calls of the run find out for themselves whether the kernel is gone.
		r.log.Warn("heartbeat failed", "error", err)
	}
}

// leaseGone stops a run whose heartbeat was refused, unless there is another
// reason for that: a submit that blocks the execution ends the lease, too, and
// its answer may come in later than that of the heartbeat.
func (r *Run) leaseGone() {
	r.mu.Lock()
	blocked := r.stop != nil || r.asking > 0
	r.mu.Unlock()
	if !blocked {
		_ = r.halt(ErrSuperseded) // its value is for callers of the run
	}
}
