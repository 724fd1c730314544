package agent

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Names of the wire; docs/api.md has the list.
const (
	headerAgentID         = "Service-Agent-Id"
	headerSignature       = "Service-Signature"
	headerDispatchID      = "Service-Dispatch-Id"
	headerDispatchAttempt = "Service-Dispatch-Attempt"
	headerIdempotencyKey  = "Idempotency-Key"
	headerRequestID       = "X-Request-Id"

	codeLeaseSuperseded   = "lease_superseded"
	codeExecutionTerminal = "execution_terminal"
)

// maxAnswer bounds what is read of an answer. The kernel's own bound on a
// recorded value is far lower unless it was raised.
const maxAnswer = 64 << 20

// client signs requests and repeats those that failed on the way.
type client struct {
	base    string // with /v0
	agentID string
	// sign is a closure and not a key, so that no print of the client, with
	// whatever verb, can show the secret.
	sign    func(body []byte) string
	http    *http.Client
	retry   RetryPolicy
	timeout time.Duration // of one try
}

func newClient(o Options) *client {
	return &client{
		base:    o.BaseURL + "/v0",
		agentID: o.AgentID,
		sign:    signer(o.Secret),
		http:    o.HTTPClient,
		retry:   o.Retry,
		timeout: o.RequestTimeout,
	}
}

// signer returns the function that makes the value of Service-Signature for a
// raw body: HMAC-SHA256 (RFC 2104), lower-case hex, with the scheme in front.
func signer(secret string) func(body []byte) string {
	key := []byte(secret)
	return func(body []byte) string {
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
}

// call is one request to the kernel.
type call struct {
	method   string
	path     string // below /v0, escaped
	body     []byte // nil for none; the signature is over the empty body then
	dispatch *dispatchRef
	key      string // Idempotency-Key, "" for none
}

// dispatchRef names the run in whose name a request is made.
type dispatchRef struct {
	id      string
	attempt int64
}

// do sends a call until it is answered for good, or the policy is used up, and
// returns the body of the answer. Its error is an *APIError, the cause of a ctx
// that is over, or what went wrong on the way in the last try.
func (c *client) do(ctx context.Context, in call) ([]byte, error) {
	deadline := time.Now().Add(max(c.retry.MaxElapsed, 0))
	for n := 0; ; n++ {
		body, err := c.once(ctx, in)
		if err == nil {
			return body, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !transient(err) {
			return nil, err
		}
		wait := c.retry.wait(n, err)
		if !time.Now().Add(wait).Before(deadline) {
			return nil, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// once sends a call a single time.
func (c *client) once(ctx context.Context, in call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, in.method, c.base+in.path, bytes.NewReader(in.body))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	c.setHeaders(req.Header, in)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &lostError{err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &lostError{fmt.Errorf("read answer to %s %s: %w", in.method, in.path, err)}
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("answer to %s %s is longer than %d bytes", in.method, in.path, maxAnswer)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, newAPIError(in, resp, body)
	}
	return body, nil
}

func (c *client) setHeaders(h http.Header, in call) {
	h.Set("User-Agent", "kernelctl-agent-go")
	h.Set("Accept", "application/json")
	if len(in.body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	h.Set(headerAgentID, c.agentID)
	h.Set(headerSignature, c.sign(in.body))
	if in.dispatch != nil {
		h.Set(headerDispatchID, in.dispatch.id)
		h.Set(headerDispatchAttempt, strconv.FormatInt(in.dispatch.attempt, 10))
	}
	if in.key != "" {
		h.Set(headerIdempotencyKey, in.key)
	}
}

func newAPIError(in call, resp *http.Response, body []byte) error {
	var envelope struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.Code == "" {
		// Not the kernel's envelope: a proxy's page, say. Its text is the
		// best hint there is.
		envelope.Message = clip(strings.TrimSpace(string(body)), maxErrorSummary)
	}
	err := &APIError{
		Method: in.method, Path: "/v0" + in.path, Status: resp.StatusCode,
		Code: envelope.Code, Message: envelope.Message, Details: envelope.Details,
		RequestID: resp.Header.Get(headerRequestID),
	}
	if after := retryAfter(resp.Header); after > 0 {
		return &busyError{APIError: err, after: after}
	}
	return err
}

// lostError is a request whose fate is unknown: the network failed, or time ran
// out.
type lostError struct{ err error }

func (e *lostError) Error() string { return "agent: kernel not reached: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// busyError is an APIError that says when to come back.
type busyError struct {
	*APIError
	after time.Duration
}

func (e *busyError) Unwrap() error { return e.APIError }

// transient says whether the same request may fare better later.
func transient(err error) bool {
	var lost *lostError
	if errors.As(err, &lost) {
		return true
	}
	var api *APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func executionPath(id string, rest ...string) string {
	path := "/executions/" + url.PathEscape(id)
	for _, r := range rest {
		path += "/" + url.PathEscape(r)
	}
	return path
}
