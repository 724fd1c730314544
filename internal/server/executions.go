package server

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func (c *call) createExecution() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var req engine.Create
	var agent string
	var seconds *int64
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "agent_id":
			return o.text(name, v, &agent)
		case "input":
			return o.raw(v, &req.Input)
		case "labels":
			return o.labels(name, v, &req.Labels)
		case "deadline_at":
			return o.time(name, v, &req.Deadline)
		case "timeout_seconds":
			return o.integer(name, v, &seconds)
		}
		return false
	}); err != nil {
		return err
	}
	o.require("agent_id", agent != "")
	const mostSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)
	switch {
	case seconds == nil:
	case !req.Deadline.IsZero():
		o.bad.add("timeout_seconds", "cannot be given together with deadline_at")
	case *seconds < 1 || *seconds > mostSeconds:
		o.bad.add("timeout_seconds", "must be at least 1, and at most a hundred years")
	default:
		req.Timeout = time.Duration(*seconds) * time.Second
	}
	var keyErr error
	if req.Key, keyErr = c.idempotencyKey(); keyErr != nil {
		o.bad.add(wire.HeaderIdempotencyKey, "must be 1 to 255 visible ASCII characters, once")
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	req.Agent = kernel.AgentID(agent)
	if req.Input == nil {
		req.Input = []byte("{}")
	}
	if req.Key != "" {
		req.Request = canonjson.Digest(o.body)
	}
	x, created, err := c.s.engine.Create(c.r.Context(), req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	c.w.Header().Set("Location", "/v0/executions/"+x.ID.String())
	var w jsonWriter
	w.execution(&x)
	c.write(status, w.b)
	return nil
}

func (c *call) getExecution() error {
	x, err := c.s.read.Execution(c.r.Context(), c.execution.ID)
	if err != nil {
		return named(err, "no execution %s", c.execution.ID)
	}
	var w jsonWriter
	w.execution(&x)
	c.write(http.StatusOK, w.b)
	return nil
}

func (c *call) listExecutions() error {
	params := c.r.URL.Query()
	q := store.ExecutionQuery{Agent: kernel.AgentID(params.Get("agent_id"))}
	var bad problems
	limit, err := c.queryInt("limit", wire.DefaultExecutionsLimit, 1, wire.MaxExecutionsLimit)
	if err != nil {
		bad.add("limit", "must be an integer of at least 1")
	}
	q.Limit = int(limit)
	if name := params.Get("status"); params.Has("status") {
		var ok bool
		if q.Status, ok = kernel.ParseStatus(name); !ok {
			bad.addf("status", "must be one of %s", statusNames())
		}
	}
	if cursor := params.Get("cursor"); cursor != "" {
		var ok bool
		if q.Before, ok = parseCursor(cursor); !ok {
			bad.add("cursor", "is not one that this list returned as next_cursor")
		}
	}
	if len(params["label"]) > wire.MaxLabels {
		bad.addf("label", "can be given at most %d times: no execution has more", wire.MaxLabels)
	}
	for _, label := range params["label"] {
		key, value, ok := strings.Cut(label, ":")
		if !ok || key == "" {
			bad.add("label", "must be key:value")
			continue
		}
		q.Labels = append(q.Labels, [2]string{key, value})
	}
	if err := bad.err(); err != nil {
		return err
	}
	page, next, err := c.s.read.Executions(c.r.Context(), q)
	if err != nil {
		return err
	}
	w := jsonWriter{b: make([]byte, 0, 512*(len(page)+1))}
	w.open()
	w.name("executions")
	w.b = append(w.b, '[')
	for i := range page {
		w.execution(&page[i])
	}
	w.b = append(w.b, ']')
	w.text("next_cursor", formatCursor(next))
	w.close()
	c.write(http.StatusOK, w.b)
	return nil
}

func statusNames() string {
	var names []string
	for _, s := range kernel.Statuses() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// A cursor is opaque: the number of the last execution of the page, marked so
// that a stray number is not taken for one.
const cursorMark = 0xe5

func formatCursor(no int64) string {
	if no == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64([]byte{cursorMark}, uint64(no)))
}

func parseCursor(s string) (int64, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != 9 || b[0] != cursorMark {
		return 0, false
	}
	no := int64(binary.BigEndian.Uint64(b[1:]))
	return no, no > 0
}

func (c *call) cancelExecution() error {
	if err := c.s.engine.Cancel(c.r.Context(), c.execution.ID); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) completeExecution() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	output := []byte(nil)
	if err := o.each(func(name string, v []byte) bool { return name == "output" && o.raw(v, &output) }); err != nil {
		return err
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	if err := c.s.engine.Complete(c.r.Context(), c.execution.ID, c.caller, orNull(output)); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) failExecution() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	reason := ""
	if err := o.each(func(name string, v []byte) bool { return name == "error" && o.text(name, v, &reason) }); err != nil {
		return err
	}
	o.require("error", reason != "")
	if err := o.bad.err(); err != nil {
		return err
	}
	if err := c.s.engine.Fail(c.r.Context(), c.execution.ID, c.caller, reason); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) heartbeat() error {
	if err := c.s.engine.Heartbeat(c.r.Context(), c.execution.ID, c.caller); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) signal() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var signalType string
	var payload []byte
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "signal_type":
			return o.text(name, v, &signalType)
		case "payload":
			return o.raw(v, &payload)
		}
		return false
	}); err != nil {
		return err
	}
	o.signalType(signalType)
	key, keyErr := c.idempotencyKey()
	if keyErr != nil {
		o.bad.add(wire.HeaderIdempotencyKey, "must be 1 to 255 visible ASCII characters, once")
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	id, err := c.s.engine.Signal(c.r.Context(), c.execution.ID, signalType, orNull(payload), key)
	if err != nil {
		return err
	}
	return c.writeShape(http.StatusAccepted, wire.SignalAccepted{SignalID: id.String()})
}

func (o *object) signalType(name string) {
	o.require("signal_type", name != "")
	if name != "" && !wire.ValidName(name) {
		o.bad.add("signal_type", "must be 1 to 128 characters of A-Z a-z 0-9 . _ -")
	}
}

func orNull(v []byte) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}
