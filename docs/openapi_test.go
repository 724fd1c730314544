package docs_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/docs"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatalf("load openapi.yaml: %v", err)
	}
	return doc
}

func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	err := load(t).Validate(context.Background(), openapi3.IsOpenAPI31OrLater(),
		openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation(), openapi3.EnableSchemaPatternValidation())
	if err != nil {
		t.Errorf("validate openapi.yaml: %v", err)
	}
}

// routes are all routes of the service.
var routes = []string{
	"DELETE /v0/agents/{id}", "DELETE /v0/policies/{agent_id}",
	"GET /metrics", "GET /v0/agents", "GET /v0/agents/{id}", "GET /v0/approvals", "GET /v0/approvals/{id}",
	"GET /v0/events", "GET /v0/executions", "GET /v0/executions/{id}", "GET /v0/executions/{id}/events",
	"GET /v0/executions/{id}/steps", "GET /v0/executions/{id}/steps/{step_id}", "GET /v0/executions/{id}/stream",
	"GET /v0/health", "GET /v0/openapi.yaml", "GET /v0/policies/{agent_id}", "GET /v0/ready", "GET /v0/version",
	"POST /v0/agents", "POST /v0/approvals/{id}/deny", "POST /v0/approvals/{id}/grant", "POST /v0/executions",
	"POST /v0/executions/{id}/cancel", "POST /v0/executions/{id}/complete", "POST /v0/executions/{id}/fail",
	"POST /v0/executions/{id}/heartbeat", "POST /v0/executions/{id}/signal", "POST /v0/executions/{id}/steps",
	"POST /v0/executions/{id}/steps/{step_id}/complete", "POST /v0/executions/{id}/steps/{step_id}/fail",
	"POST /v0/executions/{id}/steps/{step_id}/stream", "POST /v0/executions/{id}/wait",
	"POST /v0/policies/{agent_id}", "POST /v0/policies/{agent_id}/test",
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	var got []string
	for path, item := range load(t).Paths.Map() {
		for method := range item.Operations() {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(routes, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func TestOpenAPIOperationsAreComplete(t *testing.T) {
	t.Parallel()
	doc := load(t)
	ids := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || op.Summary == "" || len(op.Tags) == 0 || op.Security == nil {
				t.Errorf("%s: id %q, summary %q, tags %v, security %v: all are needed", name, op.OperationID, op.Summary, op.Tags, op.Security)
			}
			if other := ids[op.OperationID]; other != "" {
				t.Errorf("%s: the id %s is that of %s, too", name, op.OperationID, other)
			}
			ids[op.OperationID] = name
			checkResponses(t, name, op)
			checkContent(t, name+" request", requestContent(op))
		}
	}
}

func requestContent(op *openapi3.Operation) openapi3.Content {
	if op.RequestBody == nil {
		return nil
	}
	return op.RequestBody.Value.Content
}

func checkContent(t *testing.T, name string, content openapi3.Content) {
	t.Helper()
	for media, m := range content {
		if m.Schema == nil {
			t.Errorf("%s: %s has no schema", name, media)
		}
		if media != "text/plain" && m.Example == nil && len(m.Examples) == 0 {
			t.Errorf("%s: %s has no example", name, media)
		}
	}
}

// checkResponses: a success, the request id on everything, and a body whose
// codes belong to the status on every error.
func checkResponses(t *testing.T, name string, op *openapi3.Operation) {
	t.Helper()
	success := false
	for status, ref := range op.Responses.Map() {
		at := name + " " + status
		r := ref.Value
		success = success || status[0] == '2'
		if r.Headers["X-Request-Id"] == nil {
			t.Errorf("%s: no X-Request-Id", at)
		}
		checkContent(t, at, r.Content)
		if status[0] == '2' {
			continue
		}
		for _, c := range codesOf(t, at, r) {
			if got := wire.ErrorCode(c).Status(); status != itoa(got) {
				t.Errorf("%s: lists the code %s, whose status is %d", at, c, got)
			}
		}
	}
	if !success {
		t.Errorf("%s: no success", name)
	}
	if secured := len(*op.Security) > 0; secured && op.Responses.Value("401") == nil {
		t.Errorf("%s: needs a credential and has no 401", name)
	}
}

func codesOf(t *testing.T, at string, r *openapi3.Response) (codes []string) {
	t.Helper()
	media := r.Content["application/json"]
	if media == nil {
		t.Errorf("%s: an error without a JSON body", at)
		return nil
	}
	for _, part := range media.Schema.Value.AllOf {
		if part.Ref != "" {
			continue
		}
		for _, c := range part.Value.Properties["code"].Value.Enum {
			codes = append(codes, c.(string))
		}
	}
	if len(codes) == 0 {
		t.Errorf("%s: names no code", at)
	}
	return codes
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

// shapes are the schemas and the types that speak them.
var shapes = map[string]any{
	"CreateExecution": wire.CreateExecution{}, "Execution": wire.Execution{}, "ExecutionList": wire.ExecutionList{},
	"CompleteExecution": wire.CompleteExecution{}, "FailExecution": wire.FailExecution{},
	"SubmitStep": wire.SubmitStep{}, "CompleteStep": wire.CompleteStep{}, "FailStep": wire.FailStep{},
	"Step": wire.Step{}, "Usage": wire.Usage{}, "Decision": wire.Decision{},
	"PublishDelta": wire.PublishDelta{}, "StreamDelta": wire.StreamDelta{}, "StreamEnd": wire.StreamEnd{},
	"Signal": wire.Signal{}, "SignalAccepted": wire.SignalAccepted{}, "Wait": wire.Wait{}, "Webhook": wire.Webhook{},
	"RegisterAgent": wire.RegisterAgent{}, "Agent": wire.Agent{},
	"LoadPolicy": wire.LoadPolicy{}, "Policy": wire.Policy{}, "PolicyTest": wire.PolicyTest{}, "PolicyCase": wire.PolicyCase{},
	"PolicyTestReport": wire.PolicyTestReport{}, "PolicyResult": wire.PolicyResult{},
	"Approval": wire.Approval{}, "DecideApproval": wire.DecideApproval{},
	"EventEnvelope": wire.Event{}, "ExecutionPayload": wire.ExecutionPayload{}, "StepPayload": wire.StepPayload{},
	"ApprovalPayload": wire.ApprovalPayload{}, "DispatchPayload": wire.DispatchPayload{}, "SignalPayload": wire.SignalPayload{},
	"Health": wire.Health{}, "Version": wire.Version{},
	"ErrorEnvelope": wire.ErrorEnvelope{}, "ErrorDetails": wire.ErrorDetails{}, "Problem": wire.Problem{},
}

// TestOpenAPIFieldsAreThoseOfWire: a field is in the document exactly when it is
// in the code, and required exactly when it is always written.
func TestOpenAPIFieldsAreThoseOfWire(t *testing.T) {
	t.Parallel()
	doc := load(t)
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := doc.Components.Schemas[name]
			if ref == nil {
				t.Fatal("no such schema")
			}
			var fields, always []string
			for i := range reflect.TypeOf(shape).NumField() {
				tag, opts, _ := strings.Cut(reflect.TypeOf(shape).Field(i).Tag.Get("json"), ",")
				fields = append(fields, tag)
				if opts == "" {
					always = append(always, tag)
				}
			}
			var documented []string
			for p := range ref.Value.Properties {
				documented = append(documented, p)
			}
			required := slices.Clone(ref.Value.Required)
			if name == "FailStep" {
				required = nil // required, but a raw value: its absence shows by itself
			}
			for _, list := range [][]string{fields, always, documented, required} {
				slices.Sort(list)
			}
			if diff := cmp.Diff(fields, documented); diff != "" {
				t.Errorf("fields (-code +document):\n%s", diff)
			}
			if diff := cmp.Diff(always, required); diff != "" {
				t.Errorf("required (-code +document):\n%s", diff)
			}
		})
	}
}

func TestOpenAPIEnumsAreThoseOfWire(t *testing.T) {
	t.Parallel()
	doc := load(t)
	tests := map[string]struct{ got, want []string }{
		"ExecutionStatus": {enum(doc, "ExecutionStatus", ""), texts(wire.ExecutionStatuses())},
		"StepStatus":      {enum(doc, "StepStatus", ""), texts(wire.StepStatuses())},
		"ApprovalStatus":  {enum(doc, "ApprovalStatus", ""), texts(wire.ApprovalStatuses())},
		"Decision":        {enum(doc, "Decision", "decision"), texts(wire.DecisionNames())},
		"ErrorEnvelope":   {enum(doc, "ErrorEnvelope", "code"), texts(wire.ErrorCodes())},
		"Event":           {eventTypes(doc), texts(wire.EventTypes())},
	}
	for name, tt := range tests {
		slices.Sort(tt.got)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-code +document):\n%s", name, diff)
		}
	}
}

func texts[T ~string](in []T) (out []string) {
	for _, v := range in {
		out = append(out, string(v))
	}
	return out
}

func enum(doc *openapi3.T, schema, property string) (out []string) {
	s := doc.Components.Schemas[schema].Value
	if property != "" {
		s = s.Properties[property].Value
	}
	for _, v := range s.Enum {
		out = append(out, v.(string))
	}
	return out
}

func eventTypes(doc *openapi3.T) (out []string) {
	for _, variant := range doc.Components.Schemas["Event"].Value.OneOf {
		for _, v := range variant.Value.AllOf[1].Value.Properties["type"].Value.Enum {
			out = append(out, v.(string))
		}
	}
	return out
}

// TestOpenAPIStreamsCanBeRead reads every example of a stream with the scanner
// that clients use.
func TestOpenAPIStreamsCanBeRead(t *testing.T) {
	t.Parallel()
	for path, item := range load(t).Paths.Map() {
		for _, op := range item.Operations() {
			media := op.Responses.Value("200")
			if media == nil || media.Value.Content["text/event-stream"] == nil {
				continue
			}
			for name, example := range media.Value.Content["text/event-stream"].Examples {
				s := wire.NewScanner(strings.NewReader(example.Value.Value.(string)), 0)
				n := 0
				for s.Scan() {
					n++
				}
				if n == 0 || s.Err() != nil {
					t.Errorf("%s, example %s: %d frames, %v", path, name, n, s.Err())
				}
			}
		}
	}
}
