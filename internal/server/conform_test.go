package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentkernel/kernelctl/docs"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// conform holds every answer that a test gets to the documents: the headers
// that all answers have, the envelope of errors, the status and the body that
// openapi.yaml lists for the route, and the shape that internal/wire has.
type conform struct {
	t    *testing.T
	next http.RoundTripper
	api  *api
}

func (c *conform) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if err := c.check(r, resp); err != nil {
		c.t.Errorf("%s %s: status %d: %v", r.Method, r.URL.Path, resp.StatusCode, err)
	}
	return resp, nil
}

func (c *conform) check(r *http.Request, resp *http.Response) error {
	if id := resp.Header.Get(wire.HeaderRequestID); id == "" {
		return fmt.Errorf("no %s", wire.HeaderRequestID)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	op := c.api.find(r.Method, r.URL.Path)
	if media == wire.ContentTypeEventStream {
		return op.check(resp.StatusCode, media, nil)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		if err := envelope(r, resp, body); err != nil {
			return err
		}
	}
	if op == nil {
		if resp.StatusCode < http.StatusBadRequest {
			return fmt.Errorf("openapi.yaml has no such route")
		}
		return nil
	}
	return op.check(resp.StatusCode, media, body)
}

// envelope checks what every error has.
func envelope(r *http.Request, resp *http.Response, body []byte) error {
	var e struct {
		Code    wire.ErrorCode
		Message string
		Details *map[string]any
	}
	if err := strict(body, &e); err != nil {
		return fmt.Errorf("envelope %s: %w", body, err)
	}
	h := resp.Header
	status := resp.StatusCode
	switch {
	case h.Get("Content-Type") != wire.ContentTypeJSON:
		return fmt.Errorf("Content-Type %q", h.Get("Content-Type"))
	case e.Code.Status() != status:
		return fmt.Errorf("code %q", e.Code)
	case e.Message == "" || e.Details == nil:
		return fmt.Errorf("envelope %s: message and details are needed", body)
	case e.Code == wire.CodeValidation && (*e.Details)["problems"] == nil:
		return fmt.Errorf("envelope %s: no problems", body)
	case (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && h.Get("Retry-After") == "":
		return fmt.Errorf("no Retry-After")
	case status == http.StatusMethodNotAllowed && h.Get("Allow") == "":
		return fmt.Errorf("no Allow")
	case status == http.StatusInternalServerError:
		return fmt.Errorf("a failure: %s", body)
	}
	challenge := h.Get("WWW-Authenticate")
	if challenge != "" && challenge != "Bearer" || challenge == "" && status == http.StatusUnauthorized && tokenWouldDo(r) {
		return fmt.Errorf("WWW-Authenticate %q", challenge)
	}
	return nil
}

func tokenWouldDo(r *http.Request) bool {
	asAgent := len(r.Header.Values(wire.HeaderSignature)) > 0 || len(r.Header.Values(wire.HeaderAgentID)) > 0
	ofExecution := strings.Contains(r.URL.Path, "/v0/executions/")
	return !ofExecution || r.Method == http.MethodGet && !asAgent || strings.HasSuffix(r.URL.Path, "/cancel") || strings.HasSuffix(r.URL.Path, "/signal")
}

// strict decodes JSON that has no field that the shape does not have.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// api is openapi.yaml, compiled.
type api struct{ operations map[string]*operation } // by "METHOD /path/{template}"

type operation struct {
	name      string
	id        string
	segments  []string
	responses map[int]map[string]*jsonschema.Schema // by status and media type; nil: any text
}

var loadOnce = sync.OnceValues(compileAPI)

func loadAPI(t *testing.T) *api {
	t.Helper()
	a, err := loadOnce()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return a
}

func compileAPI() (*api, error) {
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		return nil, err
	}
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const at = "https://kernelctl.test/openapi.json"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(at, tree); err != nil {
		return nil, err
	}
	a := &api{operations: make(map[string]*operation)}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := &operation{
				name: method + " " + path, id: op.OperationID, segments: strings.Split(path, "/"),
				responses: make(map[int]map[string]*jsonschema.Schema),
			}
			a.operations[o.name] = o
			for code, ref := range op.Responses.Map() {
				status, err := strconv.Atoi(code)
				if err != nil {
					return nil, err
				}
				o.responses[status] = make(map[string]*jsonschema.Schema)
				where := ref.Ref
				if where == "" {
					where = "#/paths/" + escape.Replace(path) + "/" + strings.ToLower(method) + "/responses/" + code
				}
				for media := range ref.Value.Content {
					if media != wire.ContentTypeJSON {
						o.responses[status][media] = nil
						continue
					}
					if o.responses[status][media], err = compiler.Compile(at + where + "/content/" + escape.Replace(media) + "/schema"); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return a, nil
}

// find is the operation that a request means; nil: none.
func (a *api) find(method, path string) *operation {
	segments := strings.Split(path, "/")
	for _, o := range a.operations {
		if strings.HasPrefix(o.name, method+" ") && o.matches(segments) {
			return o
		}
	}
	return nil
}

func (o *operation) matches(segments []string) bool {
	if len(segments) != len(o.segments) {
		return false
	}
	for i, want := range o.segments {
		if segments[i] != want && (want == "" || want[0] != '{') {
			return false
		}
	}
	return true
}

// shapes are what internal/wire calls the successful answers.
var shapes = map[string]func() any{
	"createExecution": func() any { return new(wire.Execution) },
	"getExecution":    func() any { return new(wire.Execution) },
	"listExecutions":  func() any { return new(wire.ExecutionList) },
	"listEvents":      func() any { return new([]wire.Event) },
	"sendSignal":      func() any { return new(wire.SignalAccepted) },
	"listSteps":       func() any { return new([]wire.Step) },
	"getStep":         func() any { return new(wire.Step) },
	"submitStep":      func() any { return new(wire.Decision) },
	"waitForSignal":   func() any { return new(wire.Decision) },
	"completeStep":    func() any { return new(wire.Decision) },
	"failStep":        func() any { return new(wire.Decision) },
	"registerAgent":   func() any { return new(wire.Agent) },
	"getAgent":        func() any { return new(wire.Agent) },
	"listAgents":      func() any { return new([]wire.Agent) },
	"getPolicy":       func() any { return new(wire.Policy) },
	"testPolicy":      func() any { return new(wire.PolicyTestReport) },
	"getApproval":     func() any { return new(wire.Approval) },
	"listApprovals":   func() any { return new([]wire.Approval) },
	"health":          func() any { return new(wire.Health) },
	"ready":           func() any { return new(wire.Health) },
	"version":         func() any { return new(wire.Version) },
}

// check holds an answer to the document. A nil body is a stream.
func (o *operation) check(status int, media string, body []byte) error {
	documented, ok := o.responses[status]
	if !ok {
		return fmt.Errorf("openapi.yaml does not list this status for %s: %s", o.name, body)
	}
	if len(documented) == 0 {
		if len(body) > 0 || media != "" {
			return fmt.Errorf("a body (%s) where none is documented: %s", media, body)
		}
		return nil
	}
	schema, ok := documented[media]
	if !ok {
		return fmt.Errorf("openapi.yaml does not list the media type %q", media)
	}
	if schema == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	if status >= http.StatusBadRequest {
		return nil
	}
	shape, ok := shapes[o.id]
	if !ok {
		return fmt.Errorf("operation %s: the test knows no shape", o.id)
	}
	if err := strict(body, shape()); err != nil {
		return fmt.Errorf("not the shape of internal/wire: %w: %s", err, body)
	}
	return nil
}
