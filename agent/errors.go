package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Reasons that the kernel and this SDK write into a step's error, as
// [StepError.Reason] returns them.
const (
	// ReasonIndeterminate: an [AtMostOnce] effect was started by an earlier
	// run that never reported its outcome. Whether it ran is unknown.
	ReasonIndeterminate = "indeterminate"
	// ReasonSignalTimeout: [WaitSignal] waited for as long as it was told to.
	ReasonSignalTimeout = "signal_timeout"
	// ReasonPanic: the function of the step panicked.
	ReasonPanic = "panic"
	// ReasonResultRejected: the effect ran, but its result could not be
	// recorded: no JSON can be made of it, or the kernel refused it, for
	// example as too large.
	ReasonResultRejected = "result_rejected"
	// ReasonErrorRejected: the effect failed, and the kernel refused its error
	// as it was, for example as too large.
	ReasonErrorRejected = "error_rejected"
	// ReasonHTTPStatus: the provider of a recorded request answered with a
	// status of 400 or above.
	ReasonHTTPStatus = "http_status"
	// ReasonNetworkError: a recorded request got no whole answer.
	ReasonNetworkError = "network_error"
	// ReasonClosedEarly: the reader of a streamed response closed it before
	// its end.
	ReasonClosedEarly = "closed_early"
)

// ErrNested is returned by a step that is started with the context of another
// step's function. When the outer step is replayed its function does not run,
// so the inner one would go missing and later calls would get each other's
// results. Start the inner step beside the outer one, or do its work in a plain
// function and with a plain HTTP client.
var ErrNested = errors.New("agent: a step was started inside the function of another step")

// DeniedError says that policy, or whoever was asked for approval, refused a
// step. The refusal is recorded: every later run gets it again. Returned from
// the agent function it fails the execution.
type DeniedError struct {
	Target string // what the step was aimed at
	StepID string // "" when no step was recorded
	Reason string // never empty
	RuleID string // the rule that refused
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("agent: %s was denied: %s%s", e.Target, e.Reason, byRule(e.RuleID))
}

// RateLimitedError says that a rule's rate limit refused a step. Nothing was
// recorded, so the same call may be made again later in this run. To do
// something else instead is a decision that a replay may not repeat: the limit
// may have room by then.
type RateLimitedError struct {
	Target     string
	Reason     string
	RuleID     string
	RetryAfter time.Duration // until the limit has room again; 0 when unknown
}

func (e *RateLimitedError) Error() string {
	after := ""
	if e.RetryAfter > 0 {
		after = fmt.Sprintf(", retry after %s", e.RetryAfter)
	}
	return fmt.Sprintf("agent: %s was rate limited: %s%s%s", e.Target, e.Reason, byRule(e.RuleID), after)
}

func byRule(id string) string {
	if id == "" {
		return ""
	}
	return " (rule " + id + ")"
}

// StepError is a step that failed. It is the same in the run that saw the
// failure and in every later one, and for that reason does not wrap the error
// of the step's function: a branch on an error that only the first run can see
// would make the later ones differ. Use [Failure] to record details.
type StepError struct {
	Target string
	StepID string
	Raw    json.RawMessage // the recorded error: any JSON value but null
}

func (e *StepError) Error() string {
	return fmt.Sprintf("agent: step %s failed: %s", e.Target, e.summary())
}

// Unmarshal decodes the recorded error into v.
func (e *StepError) Unmarshal(v any) error {
	if err := json.Unmarshal(e.Raw, v); err != nil {
		return fmt.Errorf("decode error of step %s: %w", e.StepID, err)
	}
	return nil
}

// Reason is the member "reason" of the recorded error, "" when it has none.
func (e *StepError) Reason() string { return e.fields().Reason }

type reasonAndMessage struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (e *StepError) fields() reasonAndMessage {
	var f reasonAndMessage
	if json.Unmarshal(e.Raw, &f) != nil {
		return reasonAndMessage{} // not an object, or with members of other types
	}
	return f
}

func (e *StepError) summary() string {
	f := e.fields()
	switch {
	case f.Reason != "" && f.Message != "":
		return f.Reason + ": " + f.Message
	case f.Reason != "" || f.Message != "":
		return f.Reason + f.Message
	}
	var text string
	if json.Unmarshal(e.Raw, &text) == nil {
		return text
	}
	return clip(string(e.Raw), maxErrorSummary)
}

const maxErrorSummary = 300

// Failure is an error for the function of a step to return when its failure has
// details: detail is recorded as the step's error, and [StepError.Unmarshal]
// gives it back. Any other error is recorded as {"message": its text}.
func Failure(detail any) error { return &failure{detail: detail} }

type failure struct{ detail any }

func (f *failure) Error() string {
	raw, err := encode(f.detail)
	if err != nil {
		return fmt.Sprintf("agent: failure with details that are not JSON: %v", err)
	}
	return "agent: failure: " + clip(string(raw), maxErrorSummary)
}

// APIError is an answer of the kernel that is neither a success nor a decision.
type APIError struct {
	Method    string
	Path      string
	Status    int             // HTTP status
	Code      string          // see the error table in docs/api.md; "" when the answer was no error envelope
	Message   string          // for a person
	Details   json.RawMessage // a JSON object, nil when there was none
	RequestID string          // finds the request in the kernel's log
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("agent: %s %s: %d", e.Method, e.Path, e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}
