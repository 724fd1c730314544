package agent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// requestArgs are the args of an llm_call. They decide what counts as the same
// call, so nothing may be in them that changes from one run to the next.
type requestArgs struct {
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"`               // the JSON value, else a string, null when empty
	Encoding string            `json:"encoding,omitempty"` // base64 when body is such a string
}

const encodingBase64 = "base64"

// meaningfulHeaders are the request headers that change what a request asks
// for. All others stay out: credentials, and what libraries add that differs
// between two tries of the same request (retry counts, versions, trace ids).
var meaningfulHeaders = []string{
	"Content-Type", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "Openai-Organization", "Openai-Project",
}

// describe makes the submit of a request.
func describe(req *http.Request, body []byte) (submission, error) {
	headers := map[string]string{}
	for _, name := range meaningfulHeaders {
		if v := strings.Join(req.Header.Values(name), ", "); v != "" {
			headers[name] = v
		}
	}
	body = withoutBoundary(headers, body)
	args := requestArgs{Method: method(req), URL: publicURL(req.URL), Headers: headers}
	args.Body, args.Encoding = requestBody(body)
	encoded, err := encode(args)
	if err != nil {
		return submission{}, fmt.Errorf("encode args of %s: %w", args.URL, err)
	}
	return submission{Kind: kindLLMCall, Target: modelOf(req.URL, body), Args: encoded}, nil
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

func requestBody(body []byte) (json.RawMessage, string) {
	switch {
	case len(body) == 0:
		return json.RawMessage("null"), ""
	case utf8.Valid(body) && json.Valid(body):
		return body, ""
	case utf8.Valid(body):
		return quote(string(body)), ""
	}
	return quote(base64.StdEncoding.EncodeToString(body)), encodingBase64
}

func quote(s string) json.RawMessage {
	raw, _ := encode(s) // a string always encodes
	return raw
}

// withoutBoundary gives a multipart body a fixed boundary in place of the random
// one, which would make every run's request a new one.
func withoutBoundary(headers map[string]string, body []byte) []byte {
	kind, params, err := mime.ParseMediaType(headers["Content-Type"])
	boundary := params["boundary"]
	if err != nil || !strings.HasPrefix(kind, "multipart/") || boundary == "" {
		return body
	}
	headers["Content-Type"] = kind + "; boundary=boundary"
	return bytes.ReplaceAll(body, []byte("--"+boundary), []byte("--boundary"))
}

// modelOf is the target of a request.
func modelOf(u *url.URL, body []byte) string {
	var in struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(body, &in) == nil && in.Model != "" {
		return in.Model
	}
	return u.Host + u.Path
}

// publicURL is u without credentials, fragment, and query parameters that look
// like secrets or are part of a signature. Those are left out and not masked:
// with a new key it is still the same request.
func publicURL(u *url.URL) string {
	out := *u
	out.User, out.Fragment, out.RawFragment = nil, "", ""
	query := u.Query()
	for name := range query {
		if isSecretName(name) {
			query.Del(name)
		}
	}
	out.RawQuery = query.Encode()
	return out.String()
}

// isSecretName errs on the side of taking a name for that of a secret.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "x-amz-") || slices.ContainsFunc(
		[]string{"key", "token", "secret", "auth", "sig", "pass", "credential", "cookie"},
		func(part string) bool { return strings.Contains(name, part) })
}

// secrets are the credentials of one request, to be kept out of error texts.
type secrets []string

func newSecrets(req *http.Request) secrets {
	var found secrets
	for name, values := range req.Header {
		if isSecretName(name) {
			for _, v := range values {
				found = append(found, v)
				_, token, _ := strings.Cut(v, " ") // "Bearer …"
				found = append(found, token)
			}
		}
	}
	for name, values := range req.URL.Query() {
		if isSecretName(name) {
			for _, v := range values {
				found = append(found, v, url.QueryEscape(v))
			}
		}
	}
	if password, ok := req.URL.User.Password(); ok {
		found = append(found, password, url.PathEscape(password))
	}
	return found
}

func (s secrets) scrub(text string) string {
	for _, secret := range s {
		if len(secret) > 3 { // shorter ones would shred the text and hide nothing
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}
