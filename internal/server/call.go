package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// call is one request on its way through a route.
type call struct {
	s  *Server
	w  *recorder
	r  *http.Request
	id string

	body     []byte
	bodyErr  error
	bodyRead bool

	execution *store.Header // of the routes that name one
	caller    kernel.Holder // from the dispatch headers; zero without
}

// recorder remembers the status for metrics.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// requestID is the caller's own, when it is a sane one.
func requestID(r *http.Request) string {
	const longest = 128
	id := r.Header.Get(wire.HeaderRequestID)
	if id == "" || len(id) > longest || strings.ContainsFunc(id, func(c rune) bool {
		return c <= ' ' || c > '~' || c == '"' || c == '\\'
	}) {
		var b [16]byte
		const digits = "0123456789abcdef"
		n := rand.Uint64() //nolint:gosec // names a request, guards nothing
		for i := range b {
			b[i] = digits[n>>(4*i)&15]
		}
		return string(b[:])
	}
	return id
}

// admit refuses what there is no room for, and checks the credential, the
// execution and the dispatch headers, in the order that the API promises: 429,
// 401, 404, 403, 400.
func (c *call) admit(r Route) error {
	if c.s.engine.Backlog() > r.Priority.room() {
		return store.ErrOverloaded
	}
	asAgent := r.Auth == Agent || r.Auth == Either && c.carriesAgentHeader()
	agent := kernel.AgentID("")
	switch {
	case r.Auth == Public:
		return nil
	case asAgent:
		var err error
		if agent, err = c.authenticateAgent(); err != nil {
			return err
		}
	default:
		if err := c.authenticateBearer(); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(r.Pattern, "/v0/executions/{id}") {
		return nil
	}
	id, ok := kernel.ParseExecutionID(chi.URLParam(c.r, "id"))
	if !ok {
		return notFound("no execution %q", chi.URLParam(c.r, "id"))
	}
	var err error
	if c.execution, err = c.s.engine.Header(c.r.Context(), id); err != nil {
		return named(err, "no execution %s", id)
	}
	if asAgent && agent != "" && agent != c.execution.Agent {
		return &apiError{code: wire.CodeForbidden, message: fmt.Sprintf("execution %s belongs to another agent", id)}
	}
	if r.Headers == NoHeaders {
		return nil
	}
	return c.dispatchHeaders(r.Headers == RequiredHeaders)
}

// dispatchHeaders reads the attempt that the caller acts for.
func (c *call) dispatchHeaders(required bool) error {
	dispatch, attempt := c.r.Header.Get(wire.HeaderDispatchID), c.r.Header.Get(wire.HeaderDispatchAttempt)
	if dispatch == "" && attempt == "" && !required {
		return nil
	}
	var bad problems
	id, ok := kernel.ParseDispatchID(strings.ToLower(dispatch))
	switch {
	case dispatch == "":
		bad.add(wire.HeaderDispatchID, "is missing: copy dispatch_id from the webhook that started this run")
	case !ok:
		bad.add(wire.HeaderDispatchID, "is not a UUID")
	}
	n, err := strconv.ParseInt(attempt, 10, 64)
	switch {
	case attempt == "":
		bad.add(wire.HeaderDispatchAttempt, "is missing: copy dispatch_attempt from the webhook that started this run")
	case err != nil || n < 1:
		bad.add(wire.HeaderDispatchAttempt, "must be a positive integer")
	}
	c.caller = kernel.Holder{Dispatch: id, Attempt: n}
	return bad.err()
}

// readBody reads the whole body once. What is wrong with it is told when the
// body's turn comes among the checks.
func (c *call) readBody() ([]byte, error) {
	if c.bodyRead {
		return c.body, c.bodyErr
	}
	c.bodyRead = true
	limit, length := c.s.opts.MaxBodyBytes, c.r.ContentLength
	if length == 0 {
		return nil, nil
	}
	if length > limit {
		c.bodyErr = tooLarge(limit)
		return nil, c.bodyErr
	}
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every transport can
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	if length > 0 {
		c.body = make([]byte, length)
		_, c.bodyErr = io.ReadFull(c.r.Body, c.body)
	} else {
		c.body, c.bodyErr = io.ReadAll(io.LimitReader(c.r.Body, limit+1))
	}
	switch {
	case c.bodyErr != nil:
		c.bodyErr = invalid("body", "could not be read: "+c.bodyErr.Error())
	case int64(len(c.body)) > limit:
		c.bodyErr = tooLarge(limit)
	}
	return c.body, c.bodyErr
}

func tooLarge(limit int64) error {
	return &apiError{code: wire.CodePayloadTooLarge, message: fmt.Sprintf("the body is larger than %d bytes", limit)}
}

// jsonBody is the body as one checked JSON object.
func (c *call) jsonBody() (*object, error) {
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	if declared := c.r.Header.Get("Content-Type"); declared != "" && !isJSON(declared) {
		return nil, &apiError{code: wire.CodeUnsupportedMediaType, message: fmt.Sprintf("Content-Type %q is not JSON: send application/json", declared)}
	}
	return parseObject(body)
}

func isJSON(declared string) bool {
	if declared == wire.ContentTypeJSON {
		return true
	}
	media, _, err := mime.ParseMediaType(declared)
	return err == nil && (media == wire.ContentTypeJSON || strings.HasSuffix(media, "+json"))
}

// idempotencyKey reads the header; "" when there is none.
func (c *call) idempotencyKey() (string, error) {
	values := c.r.Header.Values(wire.HeaderIdempotencyKey)
	if len(values) == 0 {
		return "", nil
	}
	if !wire.ValidIdempotencyKey(values[0]) || len(values) > 1 {
		return "", invalid(wire.HeaderIdempotencyKey, "must be 1 to 255 visible ASCII characters, once")
	}
	return values[0], nil
}
