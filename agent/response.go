package agent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// response is what is recorded of a provider's response: the result of an
// llm_call, or with a reason its error.
type response struct {
	Reason   string            `json:"reason,omitempty"`
	Message  string            `json:"message,omitempty"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
	Encoding string            `json:"encoding,omitempty"` // base64 when body is not the text itself
}

// keptHeaders are the response headers that are recorded: those that say how to
// read the body, and those that help to find a call in the provider's own logs.
// None of them can hold a credential, as Set-Cookie can.
var keptHeaders = []string{
	"Content-Type", "Content-Encoding", "Retry-After", "Request-Id", "X-Request-Id", "Openai-Version", "Openai-Processing-Ms",
}

func newResponse(resp *http.Response, body []byte) response {
	rec := response{Status: resp.StatusCode, Headers: map[string]string{}}
	for _, name := range keptHeaders {
		if v := strings.Join(resp.Header.Values(name), ", "); v != "" {
			rec.Headers[name] = v
		}
	}
	// A string even where the body is JSON: it has to come back byte for byte.
	rec.Body = string(body)
	if !utf8.Valid(body) {
		rec.Body, rec.Encoding = base64.StdEncoding.EncodeToString(body), encodingBase64
	}
	return rec
}

func (rec response) bytes() ([]byte, error) {
	if rec.Encoding == encodingBase64 {
		return base64.StdEncoding.DecodeString(rec.Body)
	}
	return []byte(rec.Body), nil
}

// replayResponse rebuilds the response of a recorded request, whole or broken.
func (e *effect) replayResponse(req *http.Request, d decision) (*http.Response, error) {
	failed := &StepError{Target: e.target, StepID: d.StepID, Raw: d.Error}
	raw := d.Result
	if d.failed() {
		raw = d.Error
	}
	var rec response
	if err := json.Unmarshal(raw, &rec); err != nil || rec.Status < 100 {
		if d.failed() {
			return nil, failed // no response came: a network error, say
		}
		return nil, fmt.Errorf("agent: the result recorded for step %s of %s is no response: %w", d.StepID, e.target, errors.Join(err, errNoStatus))
	}
	body, err := rec.bytes()
	if err != nil {
		return nil, fmt.Errorf("decode recorded body of step %s: %w", d.StepID, err)
	}
	header := http.Header{}
	for name, v := range rec.Headers {
		header.Set(name, v)
	}
	// Recorded for those who read the log. A library would wait for it, in
	// every run anew, though the moment is long past.
	header.Del("Retry-After")
	resp := &http.Response{
		Status:        fmt.Sprintf("%d %s", rec.Status, http.StatusText(rec.Status)),
		StatusCode:    rec.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}
	if d.failed() && rec.Status < http.StatusBadRequest {
		// A stream that broke or was closed: the reader gets as far as it got.
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failingReader{failed}))
	}
	if isStream(resp) {
		resp.ContentLength = -1
	}
	return resp, nil
}

var errNoStatus = errors.New("it has no HTTP status")

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// isStream says whether a body is to be read while it is still being written.
func isStream(resp *http.Response) bool {
	if resp.StatusCode >= http.StatusBadRequest {
		return false
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return false
	}
	switch kind {
	case "text/event-stream", "application/x-ndjson", "application/jsonl", "application/stream+json",
		"application/vnd.amazon.eventstream":
		return true
	}
	return false
}
