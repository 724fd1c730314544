package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// An Option changes how [Tool] declares its step.
type Option func(*submission)

// AtMostOnce declares that the effect must not run twice, even when that means
// that nobody knows whether it ran at all. By default an effect whose run died
// before it could report is run again by the next one; with this option that
// next run gets a [*StepError] with reason [ReasonIndeterminate] instead, and
// the same call made once more is denied. An effect that takes an idempotency
// key of its own is better off without it: give it one that does not change
// between runs.
func AtMostOnce() Option {
	return func(s *submission) { s.Idempotency = atMostOnce }
}

// Tool runs an effect as a step of kind tool_call: fn runs when policy allows
// it and no result is recorded yet, and what it returns is recorded. target is
// the name that policy rules and people see; args, any value that encodes to
// JSON, is what fn acts on, complete: two calls with equal args are the same
// call to the kernel, told apart by their order alone.
//
// The result is what the record holds, in the first run as in a replay: the
// value of fn after a trip through JSON.
//
// The errors are [*StepError] when fn failed (now or in an earlier run),
// [*DeniedError], [*RateLimitedError], [*APIError], [ErrNested], one that
// wraps [ErrStop], or the cause of a ctx that is over. A panic of fn is
// recorded as a failure of the step and goes no further.
//
// The context that fn gets carries the values of ctx and is cancelled with it,
// except when the run is blocked: see [ErrBlocked]. It must not be used to
// start another step.
func Tool[T any](ctx context.Context, run *Run, target string, args any, fn func(context.Context) (T, error), opts ...Option) (T, error) {
	var zero T
	encoded, err := encode(args)
	if err != nil {
		return zero, fmt.Errorf("encode args of %s: %w", target, err)
	}
	in := submission{Kind: kindToolCall, Target: target, Args: encoded}
	for _, opt := range opts {
		opt(&in)
	}
	return perform(ctx, run, in, fn)
}

// Step records a value that the process makes by itself and that a later run
// could make differently: the time, a random number, an id, a read of a file.
// It is a step of kind local, which policy allows unless a rule says otherwise.
// Results and errors are as with [Tool].
func Step[T any](ctx context.Context, run *Run, name string, fn func(context.Context) (T, error)) (T, error) {
	return perform(ctx, run, submission{Kind: kindLocal, Target: name}, fn)
}

// WaitSignal returns the payload of the next signal of a type: letters, digits
// and . _ - , at most 128. When none has come yet the run ends with
// [ErrBlocked], and the run that starts when the signal comes gets it here.
// Each call takes a signal of its own, in the order in which they came.
//
// A timeout above 0, in whole seconds rounded up, bounds the wait; when it
// passes, this and every later run get a [*StepError] with reason
// [ReasonSignalTimeout]. 0 waits for as long as the execution lives.
func WaitSignal[T any](ctx context.Context, run *Run, signalType string, timeout time.Duration) (T, error) {
	var zero T
	in := waitBody{SignalType: signalType}
	switch {
	case !validName(signalType):
		return zero, fmt.Errorf("agent: signal type %q: want 1 to 128 characters of A-Z a-z 0-9 . _ -", clip(signalType, 140))
	case timeout < 0:
		return zero, fmt.Errorf("agent: wait for signal %s: negative timeout %s", signalType, timeout)
	case timeout > 0:
		in.TimeoutSeconds = int64((timeout + time.Second - 1) / time.Second)
	}
	inner, e, err := run.begin(ctx, "signal:"+signalType)
	if err != nil {
		return zero, err
	}
	defer e.end()
	d, err := e.submit(inner, in, "wait")
	if err != nil {
		return zero, err
	}
	if d.Decision != decisionReplay {
		return zero, fmt.Errorf("agent: unknown answer %q to a wait for %s", clip(d.Decision, 40), e.target)
	}
	raw, err := e.replayed(d)
	if err != nil {
		return zero, err
	}
	return decode[T](raw, d.StepID)
}

type waitBody struct {
	SignalType     string `json:"signal_type"`
	TimeoutSeconds int64  `json:"timeout_seconds,omitempty"`
}

// perform is the life of one step whose effect is a function.
func perform[T any](ctx context.Context, run *Run, in submission, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	if fn == nil {
		return zero, fmt.Errorf("agent: step %s has no function", in.Target)
	}
	inner, e, err := run.begin(ctx, in.Target)
	if err != nil {
		return zero, err
	}
	defer e.end()
	raw, err := e.perform(inner, in, func(ctx context.Context) (json.RawMessage, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := encode(v)
		if err != nil {
			return nil, Failure(reasonAndMessage{ReasonResultRejected, "encode result: " + err.Error()})
		}
		return raw, nil
	})
	if err != nil {
		return zero, err
	}
	return decode[T](raw, e.stepID)
}

func (e *effect) perform(ctx context.Context, in submission, fn func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	d, err := e.submit(ctx, in, "steps")
	if err != nil {
		return nil, err
	}
	if d.Decision == decisionReplay {
		return e.replayed(d)
	}
	if stop := e.run.enter(); stop != nil {
		return nil, stop
	}
	defer e.run.running.Done()
	result, err := e.invoke(ctx, fn)
	if err == nil {
		return e.complete(ctx, result)
	}
	if stop := e.cutOff(err); stop != nil {
		return nil, stop
	}
	return e.fail(ctx, detailOf(err))
}

// cutOff returns the stop that made an effect fail, nil when the failure is the
// effect's own. A step that was cut off stays executing: what becomes of it is
// up to its idempotency mode, and an error recorded for it would be replayed
// for ever.
func (e *effect) cutOff(err error) error {
	stop := e.run.stopped()
	if stop != nil && (cancelsEffects(stop) || isCancellation(err)) {
		return stop
	}
	return nil
}

// invoke calls the function of a step. A panic becomes the step's failure: it
// may have come up in a goroutine of the agent function, where nothing else
// could keep it from ending the process.
func (e *effect) invoke(ctx context.Context, fn func(context.Context) (json.RawMessage, error)) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.run.log.Error("step panicked", "target", e.target, "step_id", e.stepID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = Failure(reasonAndMessage{ReasonPanic, clip(fmt.Sprint(p), maxErrorText)})
		}
	}()
	return fn(ctx)
}

// enter counts an effect in that is to be run and recorded, unless the run is
// over for it.
func (r *Run) enter() (stop error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil && (r.returned || cancelsEffects(r.stop)) {
		return r.stop
	}
	r.running.Add(1)
	return nil
}

// maxErrorText bounds the text of an error that is recorded, in bytes.
const maxErrorText = 64 << 10

// detailOf is what is recorded of an error.
func detailOf(err error) any {
	var f *failure
	if errors.As(err, &f) {
		return f.detail
	}
	return struct {
		Message string `json:"message"`
	}{clip(err.Error(), maxErrorText)}
}
