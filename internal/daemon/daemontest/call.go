package daemontest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Option changes a request before it leaves; body is what it will carry.
type Option func(r *http.Request, body string)

// Header sets a header; an empty value removes it.
func Header(name, value string) Option {
	return func(r *http.Request, _ string) {
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
}

// Bearer sends a token.
func Bearer(token string) Option { return Header("Authorization", "Bearer "+token) }

// Key sends an Idempotency-Key.
func Key(key string) Option { return Header(wire.HeaderIdempotencyKey, key) }

// Signed sends a signature by an agent.
func Signed(agent string, secret wire.Secret) Option {
	return func(r *http.Request, body string) {
		r.Header.Set(wire.HeaderAgentID, agent)
		r.Header.Set(wire.HeaderSignature, wire.Sign(secret, []byte(body)))
	}
}

// Fenced sends the dispatch headers.
func Fenced(dispatch, attempt string) Option {
	return func(r *http.Request, _ string) {
		r.Header.Set(wire.HeaderDispatchID, dispatch)
		r.Header.Set(wire.HeaderDispatchAttempt, attempt)
	}
}

// Answer is a response that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Into decodes the body into a shape of the wire, strictly.
func (a Answer) Into(shape any) error {
	d := json.NewDecoder(strings.NewReader(a.Body))
	d.DisallowUnknownFields()
	return d.Decode(shape)
}

// Code is the code of an error; "" of anything else.
func (a Answer) Code() wire.ErrorCode {
	var e wire.ErrorEnvelope
	if a.Status < http.StatusBadRequest || a.Into(&e) != nil {
		return ""
	}
	return e.Code
}

// Send makes a call exactly as given.
func (s *Service) Send(method, path, body string, opts ...Option) Answer {
	s.t.Helper()
	resp := s.Open(s.t.Context(), method, path, body, opts...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(b)}
}

// Open makes a call and leaves the body of the answer to the caller.
func (s *Service) Open(ctx context.Context, method, path, body string, opts ...Option) *http.Response {
	s.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.Base+path, r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	for _, o := range opts {
		o(req, body)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// Admin makes a call with the token and fails the test unless the status is
// the wanted one; with a shape, the answer is decoded into it.
func (s *Service) Admin(method, path, body string, status int, into any, opts ...Option) Answer {
	s.t.Helper()
	a := s.Send(method, path, body, append([]Option{Bearer(s.opts.Token)}, opts...)...)
	s.check(method, path, a, status, into)
	return a
}

func (s *Service) check(method, path string, a Answer, status int, into any) {
	s.t.Helper()
	if a.Status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	if into == nil {
		return
	}
	if err := a.Into(into); err != nil {
		s.t.Fatalf("%s %s: decode %s: %v", method, path, a.Body, err)
	}
}

// JSON is v as a request body.
func JSON(v any) string {
	b, err := wire.Marshal(v)
	if err != nil {
		panic(err) // of a test's own making
	}
	return string(b)
}
