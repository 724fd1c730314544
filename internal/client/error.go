package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Error is an error that the service answered.
type Error struct {
	Code       wire.ErrorCode // empty when the answer was not the service's envelope, but a proxy's
	Status     int            // of HTTP
	Message    string
	Details    wire.ErrorDetails
	RequestID  string        // empty when there was none
	RetryAfter time.Duration // zero when the answer did not say

	Method, Path string // of the request
}

// Error is the message, with the code and the status.
func (e *Error) Error() string {
	code := string(e.Code)
	if code == "" {
		code = "no error code"
	}
	return fmt.Sprintf("%s (%s, HTTP %d)", e.Message, code, e.Status)
}

// Is matches another [*Error] by its code: errors.Is(err, &Error{Code: …}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Status == 0 || t.Status == e.Status)
}

// CodeOf is the code of the service's error in err; empty when there is none.
func CodeOf(err error) wire.ErrorCode {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// StatusOf is the HTTP status of the service's error in err; 0 when there is none.
func StatusOf(err error) int {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// ConnectionError means that no answer came.
type ConnectionError struct {
	Method, Path string
	Server       string // without credentials
	Sent         bool   // the request may have reached the service, and may have had its effect
	Timeout      bool   // the request timeout ran out
	Err          error
}

// Error says what was tried and what went wrong.
func (e *ConnectionError) Error() string {
	return fmt.Sprintf("%s %s at %s: %v", e.Method, e.Path, e.Server, e.Err)
}

// Unwrap is what went wrong.
func (e *ConnectionError) Unwrap() error { return e.Err }

// ProtocolError means that an answer came which the service would not have
// given: another program listens there, or a proxy is in between.
type ProtocolError struct {
	Method, Path string
	Server       string
	Problem      string
}

// Error says what is wrong with the answer.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("%s %s at %s: %s", e.Method, e.Path, e.Server, e.Problem)
}

// maxErrorBytes bounds how much of an error response is read.
const maxErrorBytes = 1 << 20

// readError makes an error of a response that is not a success.
func readError(method, path string, resp *http.Response) *Error {
	e := &Error{
		Status:     resp.StatusCode,
		RequestID:  resp.Header.Get(wire.HeaderRequestID),
		RetryAfter: retryAfter(resp.Header),
		Method:     method,
		Path:       path,
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes)) // half a body is better than none
	var env wire.ErrorEnvelope
	if json.Unmarshal(body, &env) == nil && env.Code != "" {
		e.Code, e.Message, e.Details = env.Code, env.Message, env.Details
		if e.RequestID == "" {
			e.RequestID = env.Details.RequestID
		}
		return e
	}
	e.Message = "unexpected answer: " + resp.Status
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		e.Message = "the server redirects elsewhere, which is not followed"
	} else if text := firstLine(body); text != "" {
		e.Message += ": " + text
	}
	return e
}

// firstLine is a short, printable beginning of an unexpected body.
func firstLine(body []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(line), ""))
	if r := []rune(text); len(r) > 120 {
		text = string(r[:120]) + "…"
	}
	if strings.HasPrefix(text, "<") { // a page for a browser
		return ""
	}
	return text
}

// repeatable reports whether a failed request may be tried again; safe says
// that a repeat of it does no harm even if the first one had its effect.
func repeatable(err error, safe bool) bool {
	if e := (*Error)(nil); errors.As(err, &e) {
		switch e.Status {
		case http.StatusTooManyRequests:
			return true // refused before anything was done
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return safe
		}
		return false
	}
	if e := (*ConnectionError)(nil); errors.As(err, &e) {
		return safe || !e.Sent
	}
	return false
}

// ended is the error of a context that has ended, with the request that it cut.
func ended(ctx context.Context, method, path string) error {
	return fmt.Errorf("%s %s: %w", method, path, context.Cause(ctx))
}
