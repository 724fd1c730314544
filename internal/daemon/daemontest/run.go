package daemontest

import (
	"net/http"
	"strconv"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Run is what an agent does under one delivery.
type Run struct {
	Delivery
	agent *Agent
}

// On is the run in the eyes of another service on the same database.
func (r *Run) On(s *Service) *Run { return &Run{Delivery: r.Delivery, agent: r.agent.On(s)} }

// Path is the path of something of this run's execution.
func (r *Run) Path(rest string) string { return "/v0/executions/" + r.ExecutionID + rest }

// Fenced sends the dispatch headers of this delivery.
func (r *Run) Fenced() Option {
	return Fenced(r.DispatchID, strconv.FormatInt(r.DispatchAttempt, 10))
}

// Post makes a signed and fenced call.
func (r *Run) Post(path, body string, opts ...Option) Answer {
	r.agent.t.Helper()
	return r.agent.service.Send(http.MethodPost, r.Path(path), body, append([]Option{r.agent.Signed(), r.Fenced()}, opts...)...)
}

// Must is [Run.Post] that fails the test unless the status is the wanted one.
func (r *Run) Must(path, body string, status int, opts ...Option) Answer {
	r.agent.t.Helper()
	a := r.Post(path, body, opts...)
	r.agent.service.check(http.MethodPost, r.Path(path), a, status, nil)
	return a
}

// Decide is [Run.Must] for what answers a decision.
func (r *Run) Decide(path, body string, opts ...Option) (d wire.Decision) {
	r.agent.t.Helper()
	a := r.Must(path, body, http.StatusOK, opts...)
	r.agent.service.check(http.MethodPost, r.Path(path), a, http.StatusOK, &d)
	return d
}

// Submit submits a step; args is JSON.
func (r *Run) Submit(kind wire.StepKind, target, args string, opts ...Option) wire.Decision {
	r.agent.t.Helper()
	return r.Decide("/steps", `{"kind":"`+string(kind)+`","target":"`+target+`","args":`+args+`}`, opts...)
}

// Tool submits a tool call and wants to proceed; it returns the step's id.
func (r *Run) Tool(target, args string) string {
	r.agent.t.Helper()
	d := r.Submit(wire.KindToolCall, target, args)
	if d.Decision != wire.DecisionProceed {
		r.agent.t.Fatalf("submit %s: %s, want proceed", target, JSON(d))
	}
	return d.StepID
}

// Result reports the result of a step.
func (r *Run) Result(step, result string) wire.Decision {
	r.agent.t.Helper()
	return r.Decide("/steps/"+step+"/complete", `{"result":`+result+`}`)
}

// Complete ends the execution well.
func (r *Run) Complete(output string) {
	r.agent.t.Helper()
	r.Must("/complete", `{"output":`+output+`}`, http.StatusNoContent)
}

// Wait waits for a signal.
func (r *Run) Wait(body string) wire.Decision { r.agent.t.Helper(); return r.Decide("/wait", body) }

// Step reads a step of the execution.
func (r *Run) Step(id string) (step wire.Step) {
	r.agent.t.Helper()
	r.agent.service.Admin(http.MethodGet, r.Path("/steps/"+id), "", http.StatusOK, &step)
	return step
}

// Execution reads the execution.
func (r *Run) Execution() (x wire.Execution) {
	r.agent.t.Helper()
	r.agent.service.Admin(http.MethodGet, r.Path(""), "", http.StatusOK, &x)
	return x
}

// Steps reads all steps of the execution.
func (r *Run) Steps() (steps []wire.Step) {
	r.agent.t.Helper()
	r.agent.service.Admin(http.MethodGet, r.Path("/steps"), "", http.StatusOK, &steps)
	return steps
}
