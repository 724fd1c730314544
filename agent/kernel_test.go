package agent_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
)

const (
	testAgent  = "mailer"
	testSecret = "s3cret-that-must-not-leak"
)

// kernel is a small kernel that follows the protocol as docs/api.md has it: step
// identity, occurrences, replay, fencing, idempotency modes and keys. It checks
// the signature and the headers of every request. What it does not do by itself
// (time, delivery, policy) the test does.
type kernel struct {
	t testing.TB

	// rule decides about a new step: proceed, denied, rate_limited, approve
	// (blocked on an approval) or park (blocked on a rate limit).
	rule func(step) string
	// intercept, when it returns true, has answered the request itself.
	intercept func(w http.ResponseWriter, r *http.Request, body []byte) bool
	// after runs when a request was handled, before its answer leaves.
	after func(r *http.Request)

	mu         sync.Mutex
	executions map[string]*execution
	requests   []string // "<method> <rest of path>", in order of arrival
}

type execution struct {
	id, status  string
	input       json.RawMessage
	output      json.RawMessage
	failure     string
	labels      map[string]string
	dispatch    int
	attempt     int64
	live        bool // the newest attempt holds its lease
	steps       []*step
	occurrences map[string]int
	answers     map[string]any    // by Idempotency-Key
	bodies      map[string]string // the same
	signals     map[string][]json.RawMessage
	deltas      []string
	deltaSeqs   []int64
	heartbeats  int
	waitingFor  string
}

type step struct {
	ID, Kind, Target, Mode, Status string
	Args, Result, Error            json.RawMessage
	owner                          string // the attempt that started it last
	identity                       string
}

func newKernel(t testing.TB) *kernel {
	return &kernel{t: t, executions: map[string]*execution{}, rule: func(step) string { return "proceed" }}
}

// create makes an execution with its first dispatch, claimed.
func (k *kernel) create(input string) *execution {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := &execution{
		id: fmt.Sprintf("0190-exec-%d", len(k.executions)+1), status: "running", input: json.RawMessage(input),
		labels: map[string]string{"env": "test"}, signals: map[string][]json.RawMessage{},
	}
	k.executions[e.id] = e
	e.claim(true)
	return e
}

// claim starts the next attempt: of a new dispatch, or of the same.
func (e *execution) claim(newDispatch bool) {
	if newDispatch {
		e.dispatch++
		e.attempt = 0
	}
	e.attempt++
	e.live = true
	if e.status == "blocked" {
		e.status = "running"
	}
	e.occurrences, e.answers, e.bodies = map[string]int{}, map[string]any{}, map[string]string{}
}

func (e *execution) dispatchID() string { return fmt.Sprintf("%s-d%d", e.id, e.dispatch) }

func (e *execution) owner() string { return fmt.Sprintf("%s/%d", e.dispatchID(), e.attempt) }

// lapse ends the lease and claims the next attempt of the same dispatch.
func (k *kernel) lapse(e *execution) { k.locked(func() { e.claim(false) }) }

// grant approves the step that waits and claims a new dispatch.
func (k *kernel) grant(e *execution) {
	k.locked(func() {
		for _, s := range e.steps {
			if s.Status == "awaiting_approval" {
				s.Status = "allowed"
			}
		}
		e.claim(true)
	})
}

func (k *kernel) locked(fn func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fn()
}

// count is how many requests had this method and end of path.
func (k *kernel) count(request string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, r := range k.requests {
		if r == request {
			n++
		}
	}
	return n
}

// webhook is the signed body of the newest attempt.
func (k *kernel) webhook(e *execution, lease int) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	body, err := json.Marshal(map[string]any{
		"execution_id": e.id, "dispatch_id": e.dispatchID(), "dispatch_attempt": e.attempt, "lease_timeout_seconds": lease,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return body
}

func sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(testSecret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// ServeHTTP implements http.Handler.
func (k *kernel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, 400, "validation_error")
		return
	}
	if got := r.Header.Get("Service-Signature"); got != sign(body) {
		k.t.Errorf("%s %s: signature %q, want %q", r.Method, r.URL.Path, got, sign(body))
	}
	if got := r.Header.Get("Service-Agent-Id"); got != testAgent {
		k.t.Errorf("%s %s: agent id %q", r.Method, r.URL.Path, got)
	}
	mux := http.NewServeMux()
	route := func(pattern string, fn func(w http.ResponseWriter, r *http.Request, e *execution, body []byte)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			k.mu.Lock()
			e := k.executions[r.PathValue("id")]
			k.requests = append(k.requests, r.Method+" "+trail(r))
			k.mu.Unlock()
			if k.intercept != nil && k.intercept(w, r, body) {
				return
			}
			if e == nil {
				refuse(w, 404, "not_found")
				return
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			fn(w, r, e, body)
			if k.after != nil {
				k.mu.Unlock()
				k.after(r)
				k.mu.Lock()
			}
		})
	}
	route("GET /v0/executions/{id}", k.read)
	route("POST /v0/executions/{id}/steps", k.submit)
	route("POST /v0/executions/{id}/wait", k.wait)
	route("POST /v0/executions/{id}/steps/{step}/complete", k.outcome)
	route("POST /v0/executions/{id}/steps/{step}/fail", k.outcome)
	route("POST /v0/executions/{id}/steps/{step}/stream", k.stream)
	route("POST /v0/executions/{id}/heartbeat", k.heartbeat)
	route("POST /v0/executions/{id}/complete", k.finish)
	route("POST /v0/executions/{id}/fail", k.finish)
	mux.ServeHTTP(w, r)
}

// trail is the last part of the path, the step's verbs with "step-" in front.
func trail(r *http.Request) string {
	parts := bytes.Split([]byte(r.URL.Path), []byte("/"))
	last := string(parts[len(parts)-1])
	switch {
	case r.PathValue("step") != "":
		return "step-" + last
	case r.Method == http.MethodGet:
		return "execution"
	}
	return last
}

func (k *kernel) read(w http.ResponseWriter, _ *http.Request, e *execution, _ []byte) {
	answer(w, map[string]any{
		"id": e.id, "agent_id": testAgent, "status": e.status, "input": e.input, "output": e.output,
		"failure_reason": e.failure, "labels": e.labels, "created_at": "2026-01-02T03:04:05.000006Z",
	})
}

// fence answers a write that may not be, and says so.
func (k *kernel) fence(w http.ResponseWriter, r *http.Request, e *execution, needLive bool) bool {
	attempt, err := strconv.ParseInt(r.Header.Get("Service-Dispatch-Attempt"), 10, 64)
	if err != nil || r.Header.Get("Service-Dispatch-Id") == "" {
		k.t.Errorf("%s %s: dispatch headers missing", r.Method, r.URL.Path)
		refuse(w, 400, "validation_error")
		return true
	}
	if r.Header.Get("Service-Dispatch-Id") != e.dispatchID() || attempt != e.attempt || needLive && !e.live {
		refuse(w, 409, "lease_superseded")
		return true
	}
	return false
}

func terminal(e *execution) bool {
	return slices.Contains([]string{"completed", "failed", "cancelled"}, e.status)
}

func (k *kernel) submit(w http.ResponseWriter, r *http.Request, e *execution, body []byte) {
	var in struct {
		Kind        string          `json:"kind"`
		Target      string          `json:"target"`
		Args        json.RawMessage `json:"args"`
		Idempotency string          `json:"idempotency"`
	}
	if !k.decode(w, body, &in) {
		return
	}
	if terminal(e) {
		answer(w, map[string]any{"decision": "execution_terminal"})
		return
	}
	if k.fence(w, r, e, e.status != "blocked") {
		return
	}
	k.once(w, r, e, body, func() any {
		if in.Idempotency == "" {
			in.Idempotency = "safe_to_retry"
		}
		return k.decide(e, step{Kind: in.Kind, Target: in.Target, Mode: in.Idempotency, Args: in.Args})
	})
}

// once gives a repeated submit the answer that the first one got.
func (k *kernel) once(w http.ResponseWriter, r *http.Request, e *execution, body []byte, decide func() any) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		k.t.Errorf("%s %s: no Idempotency-Key", r.Method, r.URL.Path)
	}
	first, ok := e.answers[key]
	switch {
	case ok && e.bodies[key] != string(body):
		k.t.Errorf("key %s: body %s after %s", key, body, e.bodies[key])
		refuse(w, 409, "conflict")
		return
	case !ok:
		first = decide()
		e.answers[key], e.bodies[key] = first, string(body)
	}
	answer(w, first)
}

func (k *kernel) decide(e *execution, in step) any {
	base := in.Kind + "|" + in.Target + "|" + canonical(in.Args)
	in.identity = fmt.Sprintf("%s|%d", base, e.occurrences[base])
	in.ID = fmt.Sprintf("%x", sha256.Sum256([]byte(e.id+in.identity)))
	i := slices.IndexFunc(e.steps, func(s *step) bool { return s.ID == in.ID })
	if i < 0 && e.status == "blocked" {
		return map[string]any{"decision": "execution_blocked", "step_id": in.ID}
	}
	if i < 0 {
		switch k.rule(in) {
		case "rate_limited":
			return map[string]any{"decision": "rate_limited", "step_id": in.ID, "reason": "rate_limit_exceeded", "rule_id": "slow", "retry_after_seconds": 1.5}
		case "park":
			e.live = false
			return map[string]any{"decision": "blocked", "step_id": in.ID, "rule_id": "slow", "retry_after_seconds": 30}
		case "denied":
			in.Status = "denied"
		case "approve":
			in.Status = "awaiting_approval"
			e.status, e.live = "blocked", false
		default:
			in.Status = "allowed"
		}
		e.steps = append(e.steps, &in)
		i = len(e.steps) - 1
	}
	e.occurrences[base]++
	s := e.steps[i]
	switch s.Status {
	case "succeeded", "failed":
		return replay(s)
	case "denied":
		return map[string]any{"decision": "denied", "step_id": s.ID, "reason": "not allowed", "rule_id": "no-mail"}
	case "awaiting_approval":
		return map[string]any{"decision": "blocked", "step_id": s.ID, "approval_id": "ap-1", "rule_id": "look"}
	case "executing":
		if s.Mode == "at_most_once" {
			s.Status, s.Error = "failed", json.RawMessage(`{"reason":"indeterminate","message":"unknown"}`)
			return replay(s)
		}
	}
	s.Status, s.owner = "executing", e.owner()
	return map[string]any{"decision": "proceed", "step_id": s.ID}
}

func replay(s *step) any {
	if s.Status == "failed" {
		return map[string]any{"decision": "replay", "step_id": s.ID, "error": s.Error}
	}
	return map[string]any{"decision": "replay", "step_id": s.ID, "result": s.Result}
}

func (k *kernel) wait(w http.ResponseWriter, r *http.Request, e *execution, body []byte) {
	var in struct {
		SignalType     string `json:"signal_type"`
		TimeoutSeconds int64  `json:"timeout_seconds"`
	}
	if !k.decode(w, body, &in) || k.fence(w, r, e, true) {
		return
	}
	k.once(w, r, e, body, func() any {
		n := e.occurrences["wait|"+in.SignalType]
		if got := e.signals[in.SignalType]; n < len(got) {
			e.occurrences["wait|"+in.SignalType]++
			id := fmt.Sprintf("wait-%d", n)
			if string(got[n]) == "timeout" {
				return map[string]any{"decision": "replay", "step_id": id, "error": map[string]any{"reason": "signal_timeout"}}
			}
			return map[string]any{"decision": "replay", "step_id": id, "result": got[n]}
		}
		e.status, e.live, e.waitingFor = "blocked", false, fmt.Sprintf("%s %d", in.SignalType, in.TimeoutSeconds)
		return map[string]any{"decision": "blocked", "step_id": "wait"}
	})
}

func (k *kernel) outcome(w http.ResponseWriter, r *http.Request, e *execution, body []byte) {
	var in struct{ Result, Error json.RawMessage }
	if !k.decode(w, body, &in) || k.fence(w, r, e, false) {
		return
	}
	i := slices.IndexFunc(e.steps, func(s *step) bool { return s.ID == r.PathValue("step") })
	switch {
	case terminal(e):
		answer(w, map[string]any{"decision": "execution_terminal", "step_id": r.PathValue("step")})
		return
	case i < 0:
		refuse(w, 404, "not_found")
		return
	}
	switch s := e.steps[i]; s.Status {
	case "succeeded", "failed":
		answer(w, replay(s))
	case "executing":
		s.Status, s.Result = "succeeded", in.Result
		if trail(r) == "step-fail" {
			if len(in.Error) == 0 || string(in.Error) == "null" {
				refuse(w, 400, "validation_error")
				return
			}
			s.Status, s.Error = "failed", in.Error
		}
		answer(w, map[string]any{"decision": "recorded", "step_id": s.ID})
	default:
		refuse(w, 409, "conflict")
	}
}

func (k *kernel) stream(w http.ResponseWriter, r *http.Request, e *execution, body []byte) {
	var in struct {
		Seq  int64  `json:"seq"`
		Data string `json:"data"`
	}
	if !k.decode(w, body, &in) || k.fence(w, r, e, true) {
		return
	}
	i := slices.IndexFunc(e.steps, func(s *step) bool { return s.ID == r.PathValue("step") })
	switch {
	case len(in.Data) > 7000 || in.Seq < 0:
		k.t.Errorf("delta %d has %d bytes", in.Seq, len(in.Data))
		refuse(w, 400, "validation_error")
	case i < 0 || e.steps[i].Status != "executing":
		refuse(w, 409, "conflict")
	default:
		e.deltas, e.deltaSeqs = append(e.deltas, in.Data), append(e.deltaSeqs, in.Seq)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (k *kernel) heartbeat(w http.ResponseWriter, r *http.Request, e *execution, body []byte) {
	switch {
	case len(body) > 0:
		k.t.Errorf("heartbeat has a body: %s", body)
	case terminal(e):
		refuse(w, 409, "execution_terminal")
	case !k.fence(w, r, e, true):
		e.heartbeats++
		w.WriteHeader(http.StatusNoContent)
	}
}

func (k *kernel) finish(w http.ResponseWriter, r *http.Request, e *execution, body []byte) {
	var in struct {
		Output json.RawMessage `json:"output"`
		Error  string          `json:"error"`
	}
	if !k.decode(w, body, &in) || k.fence(w, r, e, false) {
		return
	}
	status := "completed"
	if trail(r) == "fail" {
		status = "failed"
	}
	switch {
	case terminal(e) && e.status == status && e.failure == in.Error && string(e.output) == string(in.Output):
	case terminal(e):
		refuse(w, 409, "execution_terminal")
		return
	case e.status == "blocked":
		refuse(w, 409, "conflict")
		return
	case status == "failed" && in.Error == "":
		refuse(w, 400, "validation_error")
		return
	}
	e.status, e.output, e.failure = status, in.Output, in.Error
	w.WriteHeader(http.StatusNoContent)
}

// decode is as strict as the kernel is.
func (k *kernel) decode(w http.ResponseWriter, body []byte, into any) bool {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		k.t.Errorf("body %s: %v", body, err)
		refuse(w, 400, "validation_error")
		return false
	}
	return true
}

func canonical(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // values are kept as they were sent
	_ = enc.Encode(v)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req-7")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"code":%q,"message":"no","details":{}}`, code)
}
