package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	before := s.Await(run.ExecutionID, wire.EventExecutionStarted)
	tests := []struct{ name, body, field string }{
		{"no kind", `{"target":"t"}`, "kind"},
		{"unknown kind", `{"kind":"tool","target":"t"}`, "kind"},
		{"kind of another type", `{"kind":1,"target":"t"}`, "kind"},
		{"no target", `{"kind":"local"}`, "target"},
		{"empty target", `{"kind":"local","target":""}`, "target"},
		{"null target", `{"kind":"local","target":null}`, "target"},
		{"target of another type", `{"kind":"local","target":{}}`, "target"},
		{"target of a wait", `{"kind":"local","target":"signal:x"}`, "target"},
		{"unknown mode", `{"kind":"local","target":"t","idempotency":"never"}`, "idempotency"},
		{"empty mode", `{"kind":"local","target":"t","idempotency":""}`, "idempotency"},
		{"mode of another type", `{"kind":"local","target":"t","idempotency":false}`, "idempotency"},
	}
	for _, tt := range tests {
		wantProblem(t, tt.name, run.Post("/steps", tt.body), tt.field)
	}
	for name, key := range badKeys {
		wantProblem(t, name, run.Post("/steps", `{"kind":"local","target":"t"}`, key), wire.HeaderIdempotencyKey)
	}
	for _, body := range []string{`{}`, `{"signal_type":""}`, `{"signal_type":"a b"}`, `{"signal_type":1}`, `{"signal_type":"` + strings.Repeat("s", 129) + `"}`} {
		wantProblem(t, "wait "+body, run.Post("/wait", body), "signal_type")
		wantProblem(t, "signal "+body, s.Send(http.MethodPost, run.Path("/signal"), body, daemontest.Bearer(daemontest.Token)), "signal_type")
	}
	for _, seconds := range []string{"0", "-1", "1.5", `"1"`, "9223372036854775807"} {
		wantProblem(t, "wait for "+seconds, run.Post("/wait", `{"signal_type":"s","timeout_seconds":`+seconds+`}`), "timeout_seconds")
	}
	for _, body := range []string{`{}`, `{"error":null}`} {
		wantProblem(t, "fail a step "+body, run.Post("/steps/"+strings.Repeat("0", 64)+"/fail", body), "error")
	}
	for _, body := range []string{`{}`, `{"error":null}`, `{"error":""}`, `{"error":{}}`} {
		wantProblem(t, "fail "+body, run.Post("/fail", body), "error")
	}
	for body, field := range map[string]string{
		`{"data":"x"}`:                           "seq",
		`{"seq":null,"data":"x"}`:                "seq",
		`{"seq":-1,"data":"x"}`:                  "seq",
		`{"seq":1.0,"data":"x"}`:                 "seq",
		`{"seq":"1","data":"x"}`:                 "seq",
		`{"seq":9223372036854775808,"data":"x"}`: "seq",
		`{"seq":1}`:                              "data",
		`{"seq":1,"data":null}`:                  "data",
		`{"seq":1,"data":1}`:                     "data",
		`{"seq":1,"data":"` + strings.Repeat("x", 7001) + `"}`: "data",
		`{"seq":1,"data":"` + strings.Repeat("€", 2334) + `"}`: "data", // 7,002 bytes
	} {
		wantProblem(t, fmt.Sprintf("delta %.40s", body), run.Post("/steps/"+strings.Repeat("0", 64)+"/stream", body), field)
	}
	if diff := cmp.Diff(before, s.Events(run.ExecutionID)); diff != "" {
		t.Errorf("what was refused wrote (-before +after):\n%s", diff)
	}
}

// TestDispatchHeaders: every write is refused without, or with bad, dispatch
// headers; the heartbeat and the stream take none at all.
func TestDispatchHeaders(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	run := owner.Start("")
	step := run.Tool("t", "1")
	stranger := owner.Start("")
	other := s.Agent("other").Start("")
	writes := []struct {
		path, body string
		optional   bool
	}{
		{"/steps", `{"kind":"local","target":"t"}`, false},
		{"/wait", `{"signal_type":"s"}`, false},
		{"/steps/" + step + "/complete", `{}`, false},
		{"/steps/" + step + "/fail", `{"error":1}`, false},
		{"/steps/" + step + "/stream", `{"seq":0,"data":"x"}`, true},
		{"/heartbeat", ``, true},
		{"/complete", `{}`, false},
		{"/fail", `{"error":"e"}`, false},
	}
	id, attempt := run.DispatchID, "1"
	tests := []struct {
		name, id, attempt string
		code              wire.ErrorCode
	}{
		{"neither", "", "", wire.CodeValidation},
		{"no attempt", id, "", wire.CodeValidation},
		{"no id", "", attempt, wire.CodeValidation},
		{"an id that is none", "x", attempt, wire.CodeValidation},
		{"an id without dashes", strings.ReplaceAll(id, "-", ""), attempt, wire.CodeValidation},
		{"attempt 0", id, "0", wire.CodeValidation},
		{"negative attempt", id, "-1", wire.CodeValidation},
		{"fractional attempt", id, "1.0", wire.CodeValidation},
		{"attempt in words", id, "one", wire.CodeValidation},
		{"attempt of 65 bits", id, "9223372036854775808", wire.CodeValidation},
		{"an attempt to come", id, "2", wire.CodeLeaseSuperseded},
		{"the last attempt of all", id, "9223372036854775807", wire.CodeLeaseSuperseded},
		{"unknown dispatch", "019e1f0a-7c3b-7d10-9a4e-3f2b8c5d6e7f", attempt, wire.CodeLeaseSuperseded},
		{"a UUID of another version", "2b4c8f7e-1111-4222-8333-444455556666", attempt, wire.CodeLeaseSuperseded},
		{"another execution's dispatch", stranger.DispatchID, attempt, wire.CodeLeaseSuperseded},
		{"another agent's dispatch", other.DispatchID, attempt, wire.CodeLeaseSuperseded},
	}
	before := s.Events(run.ExecutionID)
	for _, w := range writes {
		for _, tt := range tests {
			a := s.Send(http.MethodPost, run.Path(w.path), w.body, owner.Signed(),
				daemontest.Header(wire.HeaderDispatchID, tt.id), daemontest.Header(wire.HeaderDispatchAttempt, tt.attempt))
			want := tt.code
			if w.optional && tt.id+tt.attempt == "" {
				want = ""
			}
			if a.Code() != want {
				t.Errorf("%s, %s: status %d, want code %q: %s", w.path, tt.name, a.Status, want, a.Body)
			}
		}
	}
	if diff := cmp.Diff(before, s.Events(run.ExecutionID)); diff != "" {
		t.Errorf("refused writes wrote (-before +after):\n%s", diff)
	}
	// Upper case is the same UUID; and headers are compared without case.
	if a := s.Send(http.MethodPost, run.Path("/heartbeat"), "", owner.Signed(), daemontest.Fenced(strings.ToUpper(id), attempt)); a.Status != http.StatusNoContent {
		t.Errorf("upper case: status %d: %s", a.Status, a.Body)
	}
}

// TestStepIdentity derives the id of a step from nothing but the documents.
func TestStepIdentity(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	hash := func(canonical string) string {
		sum := sha256.Sum256([]byte(canonical))
		return hex.EncodeToString(sum[:])
	}
	id := func(kind, target, canonical string, occurrence int) string {
		var b strings.Builder
		for _, field := range []string{run.ExecutionID, kind, target, hash(canonical), fmt.Sprint(occurrence)} {
			fmt.Fprintf(&b, "%d:%s", len(field), field)
		}
		return hash(b.String())
	}
	tests := []struct{ kind, target, args, canonical string }{
		{"tool_call", "t", `{"b":1,"a":[1, 2.50 ,1E3]}`, `{"a":[1,2.50,1E3],"b":1}`},
		{"tool_call", "t", `9007199254740993`, `9007199254740993`},
		{"tool_call", "t", `"\u00e4\u20ac\/\u001f\n"`, `"ä€/\u001f\n"`},
		{"tool_call", "t", `{"\ud83d\ude00":1,"\ufb33":2}`, `{"😀":1,"` + "\ufb33" + `":2}`}, // by UTF-16 code units
		{"llm_call", "gpt-5/ä", `null`, `null`},
		{"local", "l", `{}`, `{}`},
	}
	for _, tt := range tests {
		for occurrence := range 3 {
			d := run.Submit(wire.StepKind(tt.kind), tt.target, tt.args)
			if want := id(tt.kind, tt.target, tt.canonical, occurrence); d.StepID != want {
				t.Errorf("%s %s %s, occurrence %d: %s, want %s", tt.kind, tt.target, tt.args, occurrence, d.StepID, want)
				continue
			}
			step := run.Step(d.StepID)
			if step.ArgsHash != hash(tt.canonical) || int(step.Occurrence) != occurrence || string(step.Args) != tt.args {
				t.Errorf("%s: %s", tt.args, daemontest.JSON(step))
			}
		}
	}
	absent := run.Decide("/steps", `{"kind":"local","target":"absent"}`)
	if want := id("local", "absent", "null", 0); absent.StepID != want || string(run.Step(absent.StepID).Args) != "null" {
		t.Errorf("absent args: %s, want %s", absent.StepID, want)
	}
}

// TestStepRecord looks at every field of a step at each of its stages.
func TestStepRecord(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	d := run.Decide("/steps", `{"kind":"llm_call","target":"m","args":{"x": 1},"idempotency":"at_most_once"}`)
	if diff := cmp.Diff(wire.Decision{Decision: wire.DecisionProceed, StepID: d.StepID}, d); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	step := run.Step(d.StepID)
	want := wire.Step{
		StepID: d.StepID, ExecutionID: run.ExecutionID, Kind: wire.KindLLMCall, Target: "m", Status: wire.StepExecuting, Idempotency: wire.AtMostOnce,
		Args: []byte(`{"x": 1}`), ArgsHash: step.ArgsHash, DispatchID: run.DispatchID, Attempt: 1, RuleID: "permissive",
		Result: []byte("null"), Error: []byte("null"), CreatedAt: step.CreatedAt, StartedAt: step.StartedAt,
	}
	if diff := cmp.Diff(want, step); diff != "" || step.StartedAt == nil {
		t.Errorf("executing (-want +got):\n%s", diff)
	}
	const result = `{"status":200, "body":{"usage":{"prompt_tokens":12,"completion_tokens":34}}}`
	if got := run.Result(d.StepID, result); got.Decision != wire.DecisionRecorded || got.StepID != d.StepID {
		t.Errorf("complete: %s", daemontest.JSON(got))
	}
	step = run.Step(d.StepID)
	want.Status, want.Result, want.Usage, want.CompletedAt = wire.StepSucceeded, []byte(result), &wire.Usage{InputTokens: 12, OutputTokens: 34}, step.CompletedAt
	if diff := cmp.Diff(want, step); diff != "" || step.CompletedAt == nil {
		t.Errorf("succeeded (-want +got):\n%s", diff)
	}
	failing := run.Tool("t", `[]`)
	const failure = `"just a text"`
	run.Decide("/steps/"+failing+"/fail", `{"error":`+failure+`}`)
	if step := run.Step(failing); step.Status != wire.StepFailed || string(step.Error) != failure || string(step.Result) != "null" {
		t.Errorf("failed: %s", daemontest.JSON(step))
	}
}

// TestReports: complete and fail of a step record once, and replay from then on.
func TestReports(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy("rules:\n  - {id: no, when: {target: no}, then: {decision: deny}}\n  - {id: yes, then: {decision: allow}}\n")
	run := owner.Start("")
	good, bad, null := run.Tool("good", "1"), run.Tool("bad", "1"), run.Tool("null", "1")
	denied := run.Submit(wire.KindToolCall, "no", "1").StepID
	const result, failure = `{ "n" : 9007199254740993 }`, `{"message":"x"}`
	report := func(step, verb, body string) string {
		return run.Must("/steps/"+step+"/"+verb, body, http.StatusOK).Body
	}
	recorded := func(step string) string { return `{"decision":"recorded","step_id":"` + step + `"}` }
	replay := func(step, field, value string) string {
		return `{"decision":"replay","step_id":"` + step + `","` + field + `":` + value + `}`
	}
	for _, tt := range []struct{ step, verb, body, want string }{
		{good, "complete", `{"result":` + result + `}`, recorded(good)},
		{good, "complete", `{"result":"another"}`, replay(good, "result", result)},
		{good, "fail", `{"error":"too late"}`, replay(good, "result", result)},
		{bad, "fail", `{"error":` + failure + `}`, recorded(bad)},
		{bad, "complete", `{"result":1}`, replay(bad, "error", failure)},
		{bad, "fail", `{"error":1}`, replay(bad, "error", failure)},
		{null, "complete", `{}`, recorded(null)},
		{null, "complete", `{"result":1}`, replay(null, "result", "null")},
	} {
		if got := report(tt.step, tt.verb, tt.body); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.verb, tt.body, got, tt.want)
		}
	}
	if a := run.Post("/steps/"+denied+"/complete", `{}`); a.Code() != wire.CodeConflict {
		t.Errorf("complete a denied step: status %d: %s", a.Status, a.Body)
	}
	count := 0
	for _, e := range s.Events(run.ExecutionID) {
		if e.Type == wire.EventStepSucceeded || e.Type == wire.EventStepFailed {
			count++
		}
	}
	if count != 3 {
		t.Errorf("%d outcomes in the log, want 3", count)
	}
	open := run.Tool("open", "1")
	run.Complete(`1`)
	if got := report(open, "complete", `{}`); got != `{"decision":"execution_terminal","step_id":"`+open+`"}` {
		t.Errorf("after the end: %s", got)
	}
	if step := run.Step(open); step.Status != wire.StepExecuting {
		t.Errorf("after the end: %s, want executing: whether it ran is unknown", step.Status)
	}
}

// TestListSteps in order of proposal, by status.
func TestListSteps(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy("rules:\n  - {id: no, when: {target: no}, then: {decision: deny}}\n  - {id: ask, when: {target: ask}, then: {decision: require_approval}}\n  - {id: yes, then: {decision: allow}}\n")
	run := owner.Start("")
	good, bad, open := run.Tool("z", "1"), run.Tool("a", "1"), run.Tool("m", "1")
	run.Result(good, "1")
	run.Decide("/steps/"+bad+"/fail", `{"error":1}`)
	denied := run.Submit(wire.KindToolCall, "no", "1").StepID
	asks := run.Submit(wire.KindToolCall, "ask", "1").StepID
	for query, want := range map[string][]string{
		"":                          {good, bad, open, denied, asks},
		"?status=terminal":          {good, bad, denied},
		"?status=succeeded":         {good},
		"?status=failed":            {bad},
		"?status=denied":            {denied},
		"?status=executing":         {open},
		"?status=awaiting_approval": {asks},
		"?status=allowed":           nil,
		"?status=proposed":          nil,
		"?status=cancelled":         nil,
	} {
		for _, who := range []daemontest.Option{daemontest.Bearer(daemontest.Token), owner.Signed()} {
			a := s.Send(http.MethodGet, run.Path("/steps"+query), "", who)
			var steps []wire.Step
			if err := a.Into(&steps); err != nil {
				t.Fatalf("%s: %v", a.Body, err)
			}
			var got []string
			for _, step := range steps {
				got = append(got, step.StepID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
	}
}

// TestSubmitOnce: a key makes a submit safe to repeat within its attempt.
func TestSubmitOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	run := s.Agent("owner").Start("")
	key := daemontest.Key("k1")
	first := run.Submit(wire.KindToolCall, "t", `{"a":1,"b":2}`, key)
	again := run.Submit(wire.KindToolCall, "t", `{"b":2, "a":1}`, key)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("a repeat (-first +again):\n%s", diff)
	}
	for _, body := range []string{
		`{"kind":"tool_call","target":"t","args":{"a":1,"b":3}}`,
		`{"kind":"tool_call","target":"u","args":{"a":1,"b":2}}`,
		`{"kind":"tool_call","target":"t","args":{"a":1,"b":2},"idempotency":"at_most_once"}`,
	} {
		if a := run.Post("/steps", body, key); a.Code() != wire.CodeConflict {
			t.Errorf("the key with another body: status %d: %s", a.Status, a.Body)
		}
	}
	if a := run.Post("/wait", `{"signal_type":"s"}`, key); a.Code() != wire.CodeConflict {
		t.Errorf("the key with a wait: status %d: %s", a.Status, a.Body)
	}
	// The repeats did not count: the next is the second occurrence.
	next := run.Submit(wire.KindToolCall, "t", `{"a":1,"b":2}`, daemontest.Key("k2"))
	if step := run.Step(next.StepID); step.Occurrence != 1 {
		t.Errorf("occurrence %d, want 1", step.Occurrence)
	}
	// A replay under a key is kept, too: what was decided, not what would be.
	run.Result(first.StepID, "1")
	if kept := run.Submit(wire.KindToolCall, "t", `{"a":1,"b":2}`, key); kept.Decision != wire.DecisionProceed {
		t.Errorf("a repeat after the report: %s, want the decision of then", daemontest.JSON(kept))
	}
}
