package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// apiError is a refusal that the wire itself makes.
type apiError struct {
	code      wire.ErrorCode
	message   string
	details   wire.ErrorDetails
	allow     []string // methods, of a 405
	challenge bool     // ask for a bearer token
}

func (e *apiError) Error() string { return string(e.code) + ": " + e.message }

func notFound(format string, args ...any) error {
	return &apiError{code: wire.CodeNotFound, message: fmt.Sprintf(format, args...)}
}

// named gives a missing thing its name.
func named(err error, format string, args ...any) error {
	if errors.Is(err, store.ErrNotFound) {
		return notFound(format, args...)
	}
	return err
}

// problems collects what is wrong with a request.
type problems []wire.Problem

func (p *problems) add(field, problem string) {
	*p = append(*p, wire.Problem{Field: field, Problem: problem})
}

func (p *problems) addf(field, format string, args ...any) {
	p.add(field, fmt.Sprintf(format, args...))
}

// err is nil when there are no problems.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	said := make([]string, 0, len(p))
	for _, one := range p {
		said = append(said, one.Field+" "+one.Problem)
	}
	return &apiError{code: wire.CodeValidation, message: strings.Join(said, "; "), details: wire.ErrorDetails{Problems: p}}
}

func invalid(field, problem string) error { return problems{{Field: field, Problem: problem}}.err() }

// codes is the one table from the kernel's refusals to the wire's.
var codes = map[kernel.Code]wire.ErrorCode{
	kernel.Conflict:          wire.CodeConflict,
	kernel.LeaseSuperseded:   wire.CodeLeaseSuperseded,
	kernel.TerminalExecution: wire.CodeExecutionTerminal,
	kernel.Forbidden:         wire.CodeForbidden,
	kernel.NotFound:          wire.CodeNotFound,
}

// translate turns any error into what the wire says of it.
func (c *call) translate(err error) *apiError {
	var api *apiError
	var rejected *kernel.Rejection
	var bad *engine.Invalid
	switch {
	case errors.As(err, &api):
		return api
	case errors.As(err, &rejected):
		e := &apiError{code: codes[rejected.Code], message: rejected.Message}
		if rejected.Status != 0 {
			e.details.Status = rejected.Status.String()
		}
		return e
	case errors.As(err, &bad):
		list := make(problems, 0, len(bad.Problems))
		for _, p := range bad.Problems {
			list = append(list, wire.Problem{Field: p.Field, Problem: p.Problem, Line: p.Line, Column: p.Column})
		}
		errors.As(list.err(), &api)
		return api
	case errors.Is(err, store.ErrNotFound):
		return &apiError{code: wire.CodeNotFound, message: "not found"}
	case errors.Is(err, store.ErrOverloaded):
		return &apiError{code: wire.CodeTooManyRequests, message: "more requests wait than can be served soon: try again shortly"}
	case errors.Is(err, store.ErrClosed):
		return &apiError{code: wire.CodeUnavailable, message: "the service is shutting down: try again shortly"}
	case errors.Is(err, store.ErrDamaged):
		c.log(slog.LevelError, "the database is damaged", err)
		return &apiError{
			code: wire.CodeInternal, message: "what is stored of this is damaged and not shown: kernelctl verify says where",
			details: wire.ErrorDetails{RequestID: c.id},
		}
	case errors.Is(err, store.ErrUnavailable):
		c.log(slog.LevelError, "store unavailable", err)
		return &apiError{code: wire.CodeUnavailable, message: "the store cannot be used now: nothing was changed that was not answered; the operator's log says why"}
	case c.r.Context().Err() != nil || errors.Is(err, context.Canceled):
		return &apiError{code: wire.CodeUnavailable, message: "the request was given up"}
	case errors.Is(err, context.DeadlineExceeded):
		c.log(slog.LevelWarn, "store too slow", err)
		return &apiError{code: wire.CodeUnavailable, message: "the store took too long to answer: try again shortly"}
	default:
		c.log(slog.LevelError, "request failed", err)
		return c.internal()
	}
}

func (c *call) internal() *apiError {
	return &apiError{
		code: wire.CodeInternal, message: "the service failed: its log has the details under this request id",
		details: wire.ErrorDetails{RequestID: c.id},
	}
}

func (c *call) log(level slog.Level, what string, err error) {
	c.s.log.LogAttrs(c.r.Context(), level, "request not served", slog.String("what", what), slog.String("request_id", c.id),
		slog.String("method", c.r.Method), slog.String("path", c.r.URL.Path), slog.Any("err", err))
}

// fail answers an error, once.
func (c *call) fail(err error) {
	e := c.translate(err)
	if c.w.status != 0 { // a stream that broke; its reader sees the end
		return
	}
	h := c.w.Header()
	status := e.code.Status()
	switch {
	case len(e.allow) > 0:
		h.Set("Allow", strings.Join(e.allow, ", "))
	case e.challenge:
		h.Set("WWW-Authenticate", "Bearer")
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	c.takeIn()
	body, err := wire.Marshal(wire.ErrorEnvelope{Code: e.code, Message: e.message, Details: e.details})
	if err != nil { // never: texts only
		body = []byte(`{"code":"internal_error","message":"","details":{}}`)
	}
	c.write(status, body)
}

// takeIn reads what is left of a request that is refused, within reason: a
// client that looks for the answer only after it has sent everything would lose
// it, because a connection that closes with unread data is reset.
func (c *call) takeIn() {
	if c.r.ContentLength == 0 || c.r.Header.Get("Expect") != "" { // whoever asks first has not sent it
		return
	}
	const most, patience = 16 << 20, 5 * time.Second
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(patience)) // not every transport can
	_, _ = io.CopyN(io.Discard, c.r.Body, most)                                   // what is wrong with it now does not matter
}

func (c *call) panicked(p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // the value that net/http documents
		panic(p)
	}
	c.s.log.LogAttrs(c.r.Context(), slog.LevelError, "a handler panicked", slog.String("request_id", c.id),
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	c.fail(c.internal())
}
