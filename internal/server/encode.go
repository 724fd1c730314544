package server

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// The encoders append JSON by hand: bodies go out as the very bytes that came
// in, and the hot answers cost one allocation. The shapes are those of
// internal/wire; a test decodes every one of them into its wire type.

// jsonWriter appends an object field by field.
type jsonWriter struct{ b []byte }

func (w *jsonWriter) open() {
	w.comma()
	w.b = append(w.b, '{')
}
func (w *jsonWriter) close() { w.b = append(w.b, '}') }

func (w *jsonWriter) comma() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':', ',':
		default:
			w.b = append(w.b, ',')
		}
	}
}

func (w *jsonWriter) name(name string) {
	w.comma()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *jsonWriter) text(name, value string) {
	w.name(name)
	w.b = canonjson.AppendString(w.b, value)
}

func (w *jsonWriter) textOrNull(name, value string) {
	if value == "" {
		w.null(name)
		return
	}
	w.text(name, value)
}

func (w *jsonWriter) null(name string) {
	w.name(name)
	w.b = append(w.b, "null"...)
}

func (w *jsonWriter) integer(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// raw appends a JSON value as it is; nil is null.
func (w *jsonWriter) raw(name string, value []byte) {
	if value == nil {
		w.null(name)
		return
	}
	w.name(name)
	w.b = append(w.b, value...)
}

func (w *jsonWriter) id(name string, id kernel.UUID) {
	if id.IsZero() {
		w.null(name)
		return
	}
	w.name(name)
	w.b = append(w.b, '"')
	w.b, _ = id.AppendText(w.b) // never fails
	w.b = append(w.b, '"')
}

func (w *jsonWriter) time(name string, at kernel.Instant) {
	if at.IsZero() {
		w.null(name)
		return
	}
	w.name(name)
	w.b = append(w.b, '"')
	w.b, _ = at.AppendText(w.b) // never fails
	w.b = append(w.b, '"')
}

func (w *jsonWriter) labels(name string, labels map[string]string) {
	w.name(name)
	w.b = append(w.b, '{')
	keys := make([]string, 0, len(labels))
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = canonjson.AppendString(w.b, k)
		w.b = append(w.b, ':')
		w.b = canonjson.AppendString(w.b, labels[k])
	}
	w.b = append(w.b, '}')
}

func (w *jsonWriter) execution(x *store.Execution) {
	w.open()
	w.id("id", x.ID.UUID)
	w.text("agent_id", string(x.Agent))
	w.text("status", x.Status.String())
	w.raw("input", x.Input)
	w.raw("output", x.Output)
	w.text("failure_reason", x.Failure)
	w.labels("labels", x.Labels)
	w.null("parent_id")
	w.time("created_at", x.CreatedAt)
	w.time("updated_at", x.UpdatedAt)
	w.time("deadline_at", x.Deadline)
	w.integer("last_event_seq", x.LastSeq)
	w.close()
}

// event is written out, for a page has a thousand of them. Names of types need
// no escapes.
func (w *jsonWriter) event(e *store.Event) {
	w.comma()
	b := append(w.b, `{"id":"`...)
	b, _ = e.ID.AppendText(b) // never fails, nor do the others
	b = append(b, `","execution_id":"`...)
	start := len(b)
	b, _ = e.Execution.AppendText(b)
	execution := b[start:]
	b = append(b, `","event_seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"type":"`...)
	b = append(b, e.Type.String()...)
	b = append(b, `","schema_version":`...)
	b = strconv.AppendInt(b, kernel.SchemaVersion, 10)
	b = append(b, `,"occurred_at":"`...)
	b, _ = e.At.AppendText(b)
	b = append(b, `","causation_id":`...)
	if e.Cause.IsZero() {
		b = append(b, "null"...)
	} else {
		b = append(b, '"')
		b, _ = e.Cause.AppendText(b)
		b = append(b, '"')
	}
	b = append(b, `,"correlation_id":"`...)
	b = append(b, execution...)
	b = append(b, `","payload":`...)
	w.b = append(b, e.Payload...)
	if field := e.Type.BodyField(); field != "" {
		w.b = w.b[:len(w.b)-1] // reopen: the log keeps the body beside the payload
		w.raw(field, e.Body)
		w.close()
	}
	w.close()
}

func (w *jsonWriter) step(s *store.Step) {
	w.open()
	w.text("step_id", s.ID.String())
	w.id("execution_id", s.Execution.UUID)
	w.text("kind", s.Kind.String())
	w.text("target", s.Target)
	w.text("status", s.Step.Status.String())
	w.text("idempotency", s.Idempotency.String())
	w.raw("args", s.Args)
	w.text("args_hash", s.ArgsHash.String())
	w.integer("occurrence", int64(s.Occurrence))
	w.id("dispatch_id", s.Dispatch.UUID)
	w.integer("attempt", s.Attempt)
	w.text("rule_id", s.Rule)
	w.id("approval_id", s.Approval.UUID)
	result, failure := s.Outcome, []byte(nil)
	if s.Step.Status != kernel.StepStatusSucceeded {
		result, failure = nil, s.Outcome
	}
	w.raw("result", result)
	w.raw("error", failure)
	if s.Usage == nil {
		w.null("usage")
	} else {
		w.name("usage")
		w.b = append(w.b, '{')
		w.integer("input_tokens", s.Usage.InputTokens)
		w.integer("output_tokens", s.Usage.OutputTokens)
		w.close()
	}
	w.time("created_at", s.CreatedAt)
	w.time("started_at", s.StartedAt)
	w.time("completed_at", s.CompletedAt)
	w.close()
}

func (w *jsonWriter) approval(a *store.Approval) {
	w.open()
	w.id("id", a.ID.UUID)
	w.id("execution_id", a.Execution.UUID)
	w.text("step_id", a.Step.String())
	w.text("agent_id", string(a.Agent))
	w.text("status", a.Status.String())
	w.text("kind", a.Kind.String())
	w.text("target", a.Target)
	w.raw("args", a.Args)
	w.text("rule_id", a.Rule)
	w.text("reason", a.Reason)
	w.text("message", a.Message)
	w.name("approvers")
	w.b = append(w.b, '[')
	for i, name := range a.Approvers {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = canonjson.AppendString(w.b, name)
	}
	w.b = append(w.b, ']')
	w.time("created_at", a.CreatedAt)
	w.time("timeout_at", a.TimeoutAt)
	w.textOrNull("decided_by", a.DecidedBy)
	w.time("decided_at", a.DecidedAt)
	w.textOrNull("rationale", a.Rationale)
	w.close()
}

func (w *jsonWriter) decision(a *kernel.Answer) {
	w.open()
	w.text("decision", a.Decision.String())
	if a.Step != (kernel.StepID{}) {
		w.text("step_id", a.Step.String())
	}
	switch {
	case a.Decision == kernel.Replay && a.Failed:
		w.raw("error", a.Body)
	case a.Decision == kernel.Replay:
		w.raw("result", a.Body)
	}
	if a.Reason != "" {
		w.text("reason", a.Reason)
	}
	if !a.Approval.IsZero() {
		w.id("approval_id", a.Approval.UUID)
	}
	if a.Rule != "" {
		w.text("rule_id", a.Rule)
	}
	if a.RetryAfter > 0 {
		w.name("retry_after_seconds")
		w.b = strconv.AppendFloat(w.b, a.RetryAfter.Seconds(), 'f', -1, 64)
	}
	w.close()
}

func agentShape(a *store.Agent) wire.Agent {
	return wire.Agent{
		ID: string(a.ID), WebhookURL: a.WebhookURL, PolicyBundle: string(a.Bundle), LeaseTimeoutSeconds: int64(a.Lease / time.Second),
		RegisteredAt: wire.At(a.RegisteredAt.Time()), UpdatedAt: wire.At(a.UpdatedAt.Time()),
	}
}

var contentTypeJSON = []string{wire.ContentTypeJSON}

// write answers with a JSON body.
func (c *call) write(status int, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = contentTypeJSON
	const small = 2048 // net/http counts up to this by itself
	if len(body) >= small {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // a client that is gone is its own business
}

func (c *call) writeShape(status int, v any) error {
	body, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	c.write(status, body)
	return nil
}

func (c *call) noContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
