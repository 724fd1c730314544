package server

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/stream"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// maxTargetBytes bounds the name of a tool, a model or a local step.
const maxTargetBytes = 1024

func (c *call) submitStep() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	req := engine.Submit{Execution: c.execution, Caller: c.caller, Idempotency: kernel.SafeToRetry}
	var kind, mode string
	hasMode := false
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "kind":
			return o.text(name, v, &kind)
		case "target":
			return o.text(name, v, &req.Target)
		case "args":
			return o.raw(v, &req.Args)
		case "idempotency":
			hasMode = v != nil
			return o.text(name, v, &mode)
		}
		return false
	}); err != nil {
		return err
	}
	var ok bool
	if req.Kind, ok = kernel.ParseStepKind(kind); !ok && !o.said("kind") {
		o.bad.add("kind", "must be one of tool_call, llm_call, local")
	}
	o.require("target", req.Target != "")
	switch {
	case len(req.Target) > maxTargetBytes:
		o.bad.addf("target", "must have at most %d bytes", maxTargetBytes)
	case ok && kernel.ReservedTarget(req.Kind, req.Target):
		o.bad.add("target", "of a local step must not begin with signal: — those are waits, see POST …/wait")
	}
	if hasMode {
		if req.Idempotency, ok = kernel.ParseIdempotency(mode); !ok && !o.said("idempotency") {
			o.bad.add("idempotency", "must be safe_to_retry or at_most_once")
		}
	}
	return c.decide(o, req)
}

func (c *call) wait() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var signalType string
	var seconds *int64
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "signal_type":
			return o.text(name, v, &signalType)
		case "timeout_seconds":
			return o.integer(name, v, &seconds)
		}
		return false
	}); err != nil {
		return err
	}
	o.signalType(signalType)
	wait := &engine.Wait{SignalType: signalType}
	if seconds != nil {
		const mostSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)
		if *seconds < 1 || *seconds > mostSeconds {
			o.bad.add("timeout_seconds", "must be at least 1, and at most a hundred years")
		}
		wait.Timeout = time.Duration(*seconds) * time.Second
	}
	return c.decide(o, engine.Submit{
		Execution: c.execution, Caller: c.caller, Kind: kernel.Local, Target: kernel.SignalTarget(signalType),
		Idempotency: kernel.SafeToRetry, Wait: wait,
	})
}

// decide carries out a submit or a wait.
func (c *call) decide(o *object, req engine.Submit) error {
	var keyErr error
	if req.Key, keyErr = c.idempotencyKey(); keyErr != nil {
		o.bad.add(wire.HeaderIdempotencyKey, "must be 1 to 255 visible ASCII characters, once")
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	if req.Key != "" {
		req.Request = canonjson.Digest(o.body)
	}
	answer, err := c.s.engine.Submit(c.r.Context(), req)
	if err != nil {
		return err
	}
	c.answer(&answer)
	return nil
}

func (c *call) answer(a *kernel.Answer) {
	w := jsonWriter{b: make([]byte, 0, 256+len(a.Body))}
	w.decision(a)
	c.write(http.StatusOK, w.b)
}

func (c *call) stepID() (kernel.StepID, error) {
	id, ok := kernel.ParseStepID(chi.URLParam(c.r, "step_id"))
	if !ok {
		return id, notFound("no step %q in this execution", chi.URLParam(c.r, "step_id"))
	}
	return id, nil
}

func (c *call) completeStep() error { return c.finishStep("result", true) }

func (c *call) failStep() error { return c.finishStep("error", false) }

func (c *call) finishStep(field string, succeeded bool) error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var outcome []byte
	if err := o.each(func(name string, v []byte) bool { return name == field && o.raw(v, &outcome) }); err != nil {
		return err
	}
	if !succeeded {
		o.require(field, outcome != nil)
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	id, err := c.stepID()
	if err != nil {
		return err
	}
	answer, err := c.s.engine.FinishStep(c.r.Context(), c.execution.ID, c.caller, id, succeeded, orNull(outcome))
	if err != nil {
		return err
	}
	c.answer(&answer)
	return nil
}

func (c *call) publishDelta() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var seq *int64
	var data string
	given := false
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "seq":
			return o.integer(name, v, &seq)
		case "data":
			given = v != nil
			return o.text(name, v, &data)
		}
		return false
	}); err != nil {
		return err
	}
	o.require("seq", seq != nil)
	o.require("data", given)
	switch {
	case seq != nil && *seq < 0:
		o.bad.add("seq", "must be at least 0")
	case len(data) > wire.MaxDeltaBytes || !utf8.ValidString(data):
		o.bad.addf("data", "must have at most %d bytes of UTF-8", wire.MaxDeltaBytes)
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	id, err := c.stepID()
	if err != nil {
		return err
	}
	if err := c.s.engine.AllowDelta(c.r.Context(), c.execution.ID, c.caller, id); err != nil {
		return err
	}
	c.s.hub.Publish(c.execution.ID, stream.Delta{Step: id, Seq: *seq, Data: data})
	return c.noContent()
}

func (c *call) getStep() error {
	id, err := c.stepID()
	if err != nil {
		return err
	}
	step, err := c.s.read.Step(c.r.Context(), c.execution.ID, id)
	if err != nil {
		return named(err, "no step %s in this execution", id)
	}
	var w jsonWriter
	w.step(&step)
	c.write(http.StatusOK, w.b)
	return nil
}

func (c *call) listSteps() error {
	wanted := func(kernel.StepStatus) bool { return true }
	if params := c.r.URL.Query(); params.Has("status") {
		name := params.Get("status")
		status, ok := kernel.ParseStepStatus(name)
		switch {
		case name == wire.StepsTerminal:
			wanted = func(s kernel.StepStatus) bool {
				return s == kernel.StepStatusSucceeded || s == kernel.StepStatusFailed || s == kernel.StepStatusDenied
			}
		case ok:
			wanted = func(s kernel.StepStatus) bool { return s == status }
		default:
			return invalid("status", "must be terminal or one status of a step")
		}
	}
	steps, err := c.s.read.Steps(c.r.Context(), c.execution.ID)
	if err != nil {
		return err
	}
	w := jsonWriter{b: append(make([]byte, 0, 512*(len(steps)+1)), '[')}
	for i := range steps {
		if wanted(steps[i].Step.Status) {
			w.step(&steps[i])
		}
	}
	c.write(http.StatusOK, append(w.b, ']'))
	return nil
}
