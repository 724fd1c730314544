package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"
)

// Values of the wire; docs/api.md has the list.
const (
	kindToolCall = "tool_call"
	kindLLMCall  = "llm_call"
	kindLocal    = "local"

	atMostOnce = "at_most_once"

	decisionProceed  = "proceed"
	decisionReplay   = "replay"
	decisionRecorded = "recorded"
)

// submission is the body of a step submit.
type submission struct {
	Kind        string          `json:"kind"`
	Target      string          `json:"target"`
	Args        json.RawMessage `json:"args,omitempty"`
	Idempotency string          `json:"idempotency,omitempty"`
}

// decision is the kernel's answer to a submit, a wait, and a step's outcome.
type decision struct {
	Decision   string          `json:"decision"`
	StepID     string          `json:"step_id"`
	Result     json.RawMessage `json:"result"`
	Error      json.RawMessage `json:"error"`
	Reason     string          `json:"reason"`
	ApprovalID string          `json:"approval_id"`
	RuleID     string          `json:"rule_id"`
	RetryAfter float64         `json:"retry_after_seconds"`
}

func (d decision) failed() bool { return !isNull(d.Error) }

// submit asks the kernel about an effect. Without an error the decision is
// proceed or replay; every other decision comes back as an error.
func (e *effect) submit(ctx context.Context, in any, route string) (decision, error) {
	body, err := encode(in)
	if err != nil {
		return decision{}, fmt.Errorf("encode step %s: %w", e.target, err)
	}
	r := e.run
	r.mu.Lock()
	r.asking++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.asking--
		r.mu.Unlock()
	}()
	raw, err := r.write(ctx, body, r.keyFor(body), route)
	if err != nil {
		return decision{}, r.verdict(ctx, err)
	}
	d, err := r.parse(raw)
	if err != nil {
		return decision{}, err
	}
	e.stepID = d.StepID
	return d, e.obey(d)
}

func (r *Run) parse(raw []byte) (decision, error) {
	var d decision
	if err := json.Unmarshal(raw, &d); err != nil {
		return decision{}, r.halt(fmt.Errorf("%w: decode decision: %w", ErrUnavailable, err))
	}
	return d, nil
}

// obey turns a decision into the error that the caller of the step gets.
func (e *effect) obey(d decision) error {
	switch d.Decision {
	case decisionProceed:
		if d.StepID == "" {
			return errors.New("agent: the kernel answered proceed without a step_id")
		}
		return nil
	case decisionReplay:
		return nil
	case "denied":
		return &DeniedError{Target: e.target, StepID: d.StepID, Reason: d.Reason, RuleID: d.RuleID}
	case "rate_limited":
		return &RateLimitedError{Target: e.target, Reason: d.Reason, RuleID: d.RuleID, RetryAfter: seconds(d.RetryAfter)}
	case "blocked", "execution_blocked":
		e.run.log.Debug("run blocked", "target", e.target, "step_id", d.StepID,
			"approval_id", d.ApprovalID, "rule_id", d.RuleID, "retry_after_seconds", d.RetryAfter)
		return e.run.halt(ErrBlocked)
	case codeExecutionTerminal:
		return e.run.halt(ErrTerminal)
	}
	// A decision of a later kernel: running the effect would be a guess.
	return fmt.Errorf("agent: unknown decision %q for %s; a newer SDK may know it", clip(d.Decision, 40), e.target)
}

// replayed is the recorded outcome of a step.
func (e *effect) replayed(d decision) (json.RawMessage, error) {
	if d.failed() {
		return nil, &StepError{Target: e.target, StepID: d.StepID, Raw: d.Error}
	}
	return d.Result, nil
}

// complete records the result of an effect that ran. It uses none of the
// caller's deadlines: an effect that ran is worth recording even when nobody
// waits for it any more.
func (e *effect) complete(ctx context.Context, result json.RawMessage) (json.RawMessage, error) {
	ctx = context.WithoutCancel(ctx)
	raw, err := e.report(ctx, "complete", struct {
		Result json.RawMessage `json:"result"`
	}{result})
	if refused(err) {
		// Left alone, the step would stay executing, and a later run would
		// run the effect again, or take it for indeterminate.
		return e.fail(ctx, reasonAndMessage{ReasonResultRejected, "the result was refused: " + err.Error()})
	}
	if err != nil {
		return nil, e.run.verdict(ctx, err)
	}
	return e.recorded(raw, result, nil)
}

// fail records the error of an effect and returns what the caller gets, now and
// in every replay: a *StepError.
func (e *effect) fail(ctx context.Context, detail any) (json.RawMessage, error) {
	ctx = context.WithoutCancel(ctx)
	encoded, err := encode(detail)
	if err != nil || isNull(encoded) {
		encoded, err = encode(reasonAndMessage{ReasonErrorRejected, fmt.Sprintf("no JSON error can be made of a %T", detail)})
		if err != nil {
			return nil, fmt.Errorf("encode error of step %s: %w", e.stepID, err)
		}
	}
	raw, err := e.report(ctx, "fail", failureBody{encoded})
	if refused(err) {
		encoded, _ = encode(reasonAndMessage{ReasonErrorRejected, "the error was refused: " + err.Error()}) // two strings always encode
		raw, err = e.report(ctx, "fail", failureBody{encoded})
	}
	if err != nil {
		return nil, e.run.verdict(ctx, err)
	}
	return e.recorded(raw, nil, encoded)
}

type failureBody struct {
	Error json.RawMessage `json:"error"`
}

func (e *effect) report(ctx context.Context, verb string, in any) ([]byte, error) {
	e.flushDeltas()
	body, err := encode(in)
	if err != nil {
		return nil, fmt.Errorf("encode outcome of step %s: %w", e.stepID, err)
	}
	return e.run.write(ctx, body, "", "steps", e.stepID, verb)
}

// recorded reads the answer to an outcome. What the kernel holds wins over what
// was sent: that is what every later run will get.
func (e *effect) recorded(raw []byte, result, failure json.RawMessage) (json.RawMessage, error) {
	d, err := e.run.parse(raw)
	if err != nil {
		return nil, err
	}
	switch d.Decision {
	case decisionRecorded:
		return e.replayed(decision{StepID: e.stepID, Result: result, Error: failure})
	case decisionReplay:
		return e.replayed(d)
	case codeExecutionTerminal:
		return nil, e.run.halt(ErrTerminal)
	}
	return nil, fmt.Errorf("agent: unknown answer %q to the outcome of %s; a newer SDK may know it", clip(d.Decision, 40), e.target)
}

// refused says whether the kernel will never take the body that was sent.
func refused(err error) bool {
	var api *APIError
	return errors.As(err, &api) && (api.Status == http.StatusBadRequest || api.Status == http.StatusRequestEntityTooLarge)
}

// seconds is a wire number as a duration; what makes no sense is 0.
func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s <= 0 || s > math.MaxInt32 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
