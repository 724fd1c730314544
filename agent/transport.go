package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// A TransportOption changes what [Run.Transport] does.
type TransportOption func(*transport)

// TextDeltas publishes only the text that the model writes, and not the raw
// events that carry it, for the event shapes of OpenAI, Anthropic and Gemini.
// Events of other shapes publish nothing. What the reader gets and what is
// recorded stay the same.
func TextDeltas() TransportOption {
	return func(t *transport) { t.textOnly = true }
}

// Transport returns an http.RoundTripper to put below the HTTP client of an LLM
// provider's library. Every request through it is a step of kind llm_call:
//
//   - target is the member "model" of the JSON body, else host and path;
//   - args are {method, url, headers, body}: no credentials, neither from
//     headers nor from the query, and only such headers as change what the
//     request means, so that a new library version or a rotated key does not
//     make it another request;
//   - the result is {status, headers, body}, body being the very bytes as text
//     (base64 when they are no UTF-8; "encoding" says so).
//
// A recorded response is replayed as what it was: status, the headers that
// describe it, and the same bytes. The body of a streamed response (SSE, JSON
// lines) is handed on as it comes; meanwhile it is published as live output of
// the step, and the step is completed before the reader gets the event that
// ends the stream. Do not start other steps from what a stream has said so far.
//
// A status of 400 or above, a network error, and a stream that breaks or is
// closed early are failures of the step: recorded, and replayed as the same
// response, or as a [*StepError]. When the provider's library then tries again,
// that is a new step with a fate of its own; a 429 or 500 of one moment is
// never what all later runs are stuck with.
//
// Other errors are as with [Tool]; libraries wrap them, and errors.As and
// errors.Is find them. base carries the requests; nil means
// http.DefaultTransport. The transport belongs to this run.
func (r *Run) Transport(base http.RoundTripper, opts ...TransportOption) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{run: r, base: base}
	for _, opt := range opts {
		opt(t)
	}
	return t
}

type transport struct {
	run      *Run
	base     http.RoundTripper
	textOnly bool
}

// maxRecorded bounds what is kept of one request or response, in bytes. The
// kernel's bound on a body is lower unless it was raised; this one only keeps a
// runaway response from eating the process.
const maxRecorded = 32 << 20

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readRequest(req)
	if err != nil {
		return nil, err
	}
	in, err := describe(req, body)
	if err != nil {
		return nil, err
	}
	ctx, e, err := t.run.begin(req.Context(), in.Target)
	if err != nil {
		return nil, err
	}
	d, err := e.submit(ctx, in, "steps")
	if err != nil {
		e.end()
		return nil, err
	}
	if d.Decision == decisionReplay {
		e.end()
		return e.replayResponse(req, d)
	}
	resp, err := t.send(ctx, req, body)
	if err != nil {
		defer e.end()
		return nil, e.broken(ctx, response{}, newSecrets(req).scrub(err.Error()), ReasonNetworkError, err)
	}
	resp.Request = req
	if isStream(resp) {
		resp.Body = t.newStream(e, resp)
		return resp, nil
	}
	defer e.end()
	return e.recordWhole(ctx, resp)
}

// send makes the request proper.
func (t *transport) send(ctx context.Context, req *http.Request, body []byte) (*http.Response, error) {
	out := req.Clone(ctx)
	// Without this header net/http asks for gzip by itself and unpacks it:
	// what is recorded is text, and token usage can be found in it.
	out.Header.Del("Accept-Encoding")
	out.Body, out.GetBody, out.ContentLength = http.NoBody, nil, 0
	if len(body) > 0 {
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody() // never fails
		out.ContentLength = int64(len(body))
	}
	out.TransferEncoding = nil
	return t.base.RoundTrip(out)
}

// recordWhole reads a response that is not a stream to its end and records it
// before anybody sees it.
func (e *effect) recordWhole(ctx context.Context, resp *http.Response) (*http.Response, error) {
	body, err := readAtMost(resp.Body, maxRecorded)
	_ = resp.Body.Close() // everything was read, or nothing more is wanted
	if err != nil {
		return nil, e.broken(ctx, response{}, err.Error(), ReasonNetworkError, err)
	}
	rec := newResponse(resp, body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.TransferEncoding = nil
	if resp.StatusCode >= http.StatusBadRequest {
		rec.Reason = ReasonHTTPStatus
		rec.Message = "the provider answered " + resp.Status
		_, err = e.fail(ctx, rec)
		var failed *StepError
		if errors.As(err, &failed) && failed.Reason() == ReasonHTTPStatus {
			return resp, nil // the library reads the error for itself
		}
		return nil, err
	}
	encoded, err := encode(rec)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	if _, err := e.complete(ctx, encoded); err != nil {
		return nil, err
	}
	return resp, nil
}

// broken records a request that got no whole answer, unless a stop of the run
// broke it, and returns what the caller gets.
func (e *effect) broken(ctx context.Context, partial response, message, reason string, cause error) error {
	if stop := e.cutOff(cause); stop != nil {
		return stop
	}
	message = clip(message, maxErrorText)
	var detail any = reasonAndMessage{reason, message}
	if partial.Status != 0 {
		partial.Reason, partial.Message = reason, message
		detail = partial
	}
	_, err := e.fail(ctx, detail)
	if err == nil {
		err = fmt.Errorf("agent: step %s is recorded as a success that this run did not see; a later run will", e.target)
	}
	return err
}

// readRequest reads the body of a request and closes it, as a RoundTripper must.
func readRequest(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := readAtMost(req.Body, maxRecorded)
	_ = req.Body.Close() // reading it is all that was wanted
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	return body, nil
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(body)) > limit {
		return nil, fmt.Errorf("longer than %d bytes", limit)
	}
	return body, err
}
