package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// maxResponseBytes bounds a response that is read as a whole.
const maxResponseBytes = 1 << 30

// call is one request of a route.
type call struct {
	method string
	path   string // of the route, with /v0
	query  url.Values
	header http.Header
	body   any  // nil: none
	out    any  // nil: the body of the answer is not wanted
	safe   bool // may be sent twice
	sign   func(h http.Header, body []byte)
}

// result is what a caller may want to know of a success beside its body.
type result struct {
	status int
}

// get is a read: safe to repeat.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, out: out, safe: true})
	return err
}

// do sends a request, again when that is safe and may help.
func (c *Client) do(ctx context.Context, k call) (result, error) {
	var body []byte
	if k.body != nil {
		var err error
		if body, err = wire.Marshal(k.body); err != nil {
			return result{}, fmt.Errorf("%s %s: encode the request: %w", k.method, k.path, err)
		}
	}
	for failures := 1; ; failures++ {
		res, err := c.once(ctx, k, body)
		if err == nil || failures >= c.opt.Tries || !repeatable(err, k.safe) {
			return res, err
		}
		d := c.opt.Backoff.pause(failures)
		if e := (*Error)(nil); errors.As(err, &e) {
			d = max(d, e.RetryAfter)
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
			return res, err // no time left for another try: say what is wrong, not that time is up
		}
		if Sleep(ctx, d) != nil {
			return res, ended(ctx, k.method, k.path)
		}
	}
}

// once sends a request one time and reads the answer.
func (c *Client) once(ctx context.Context, k call, body []byte) (result, error) {
	try := ctx
	if c.opt.RequestTimeout > 0 {
		var cancel context.CancelFunc
		try, cancel = context.WithTimeout(ctx, c.opt.RequestTimeout)
		defer cancel()
	}
	resp, sent, err := c.send(try, k, body) //nolint:bodyclose // closeBody closes it
	if err != nil {
		return result{}, c.connectionError(ctx, k, sent, err)
	}
	defer closeBody(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return result{}, readError(k.method, k.path, resp)
	}
	res := result{status: resp.StatusCode}
	if k.out == nil || resp.StatusCode == http.StatusNoContent {
		return res, nil
	}
	return res, c.decode(ctx, k, resp)
}

// send sends a request one time. Sent tells whether it may have left.
func (c *Client) send(ctx context.Context, k call, body []byte) (resp *http.Response, sent bool, err error) {
	var got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	var r io.Reader
	if k.body != nil {
		r = bytes.NewReader(body)
	}
	u := *c.base
	u.Path, u.RawPath = joinPath(c.base.Path, k.path)
	u.RawQuery = k.query.Encode()
	req, err := http.NewRequestWithContext(ctx, k.method, u.String(), r)
	if err != nil {
		return nil, false, withoutURL(err)
	}
	req.Header.Set("User-Agent", c.opt.UserAgent)
	req.Header.Set("Accept", wire.ContentTypeJSON)
	if r != nil {
		req.Header.Set("Content-Type", wire.ContentTypeJSON)
	}
	for name, values := range k.header {
		req.Header[name] = values
	}
	switch {
	case k.sign != nil:
		k.sign(req.Header, body)
	case c.opt.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.opt.Token)
	}
	resp, err = c.http.Do(req)
	if err != nil {
		return nil, got.Load(), withoutURL(err)
	}
	c.noteClock(resp.Header)
	return resp, true, nil
}

// joinPath puts an already escaped route behind the path of the server.
func joinPath(base, route string) (path, raw string) {
	raw = (&url.URL{Path: base}).EscapedPath() + route
	path, err := url.PathUnescape(raw)
	if err != nil {
		return raw, ""
	}
	return path, raw
}

// connectionError tells the end of the caller's context, the request timeout
// and a broken connection from each other.
func (c *Client) connectionError(ctx context.Context, k call, sent bool, err error) error {
	if ctx.Err() != nil {
		return ended(ctx, k.method, k.path)
	}
	e := &ConnectionError{Method: k.method, Path: k.path, Server: c.Server(), Sent: sent, Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Timeout = true
		e.Err = fmt.Errorf("no answer within %s: %w", c.opt.RequestTimeout, err)
	}
	return e
}

// decode reads the body of a success into k.out.
func (c *Client) decode(ctx context.Context, k call, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes))
	if err != nil {
		return c.connectionError(ctx, k, true, fmt.Errorf("read the answer: %w", err))
	}
	if text, ok := k.out.(*[]byte); ok {
		*text = body
		return nil
	}
	if err := json.Unmarshal(body, k.out); err != nil {
		return &ProtocolError{
			Method: k.method, Path: k.path, Server: c.Server(),
			Problem: fmt.Sprintf("the answer (%s) is not what the service would say: %v", mediaType(resp.Header), err),
		}
	}
	return nil
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return "no content type"
	}
	return t
}

// closeBody leaves the connection usable for the next request when little is
// left to read.
func closeBody(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}

// route is a path with its parameters escaped.
func route(format string, params ...string) string {
	escaped := make([]any, len(params))
	for i, p := range params {
		escaped[i] = url.PathEscape(p)
	}
	return fmt.Sprintf(format, escaped...)
}
