package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	s.Admin(http.MethodDelete, "/v0/policies/owner", "", http.StatusNoContent, nil) // none is there
	const bundle = "# <&>\nrules:\n  - {id: no-mail, when: {target: mail}, then: {decision: deny, reason: not by mail}}\n  - {id: rest, then: {decision: allow}}\n"
	owner.Policy(bundle)
	var got wire.Policy
	s.Admin(http.MethodGet, "/v0/policies/owner", "", http.StatusOK, &got)
	sum := sha256.Sum256([]byte(bundle))
	if got.AgentID != "owner" || got.Bundle != bundle || got.SHA256 != hex.EncodeToString(sum[:]) || got.UpdatedAt.IsZero() {
		t.Errorf("policy: %s", daemontest.JSON(got))
	}
	run := owner.Start("")
	if d := run.Submit(wire.KindToolCall, "mail", "1"); d.Decision != wire.DecisionDenied || d.Reason != "not by mail" || d.RuleID != "no-mail" {
		t.Errorf("ruled by the bundle: %s", daemontest.JSON(d))
	}
	// A bundle that is refused changes nothing.
	for _, bad := range []string{
		`{}`, `{"bundle":null}`, `{"bundle":1}`, `{"bundle":"rules: ["}`, `{"bundle":"rules: []\nunknown: 1\n"}`, `{"bundle":"- 1"}`,
		`{"bundle":"rules:\n  - {id: a, then: {decision: maybe}}\n  - {id: a, then: {decision: allow}}\n"}`,
		daemontest.JSON(wire.LoadPolicy{Bundle: "# " + strings.Repeat("x", wire.MaxBundleBytes)}),
	} {
		if a := s.Send(http.MethodPost, "/v0/policies/owner", bad, daemontest.Bearer(daemontest.Token)); a.Code() != wire.CodeValidation {
			t.Errorf("%.60s: status %d, want 400: %s", bad, a.Status, a.Body)
		}
	}
	var still wire.Policy
	if s.Admin(http.MethodGet, "/v0/policies/owner", "", http.StatusOK, &still); cmp.Diff(got, still) != "" {
		t.Errorf("a refused bundle changed the policy (-before +after):\n%s", cmp.Diff(got, still))
	}
	s.Admin(http.MethodDelete, "/v0/policies/owner", "", http.StatusNoContent, nil)
	if a := s.Send(http.MethodGet, "/v0/policies/owner", "", daemontest.Bearer(daemontest.Token)); a.Code() != wire.CodeNotFound {
		t.Errorf("a deleted policy: status %d", a.Status)
	}
	if d := run.Submit(wire.KindToolCall, "mail", "2"); d.Decision != wire.DecisionProceed || run.Step(d.StepID).RuleID != "permissive" {
		t.Errorf("without a bundle: %s", daemontest.JSON(d))
	}
}

// TestPolicyProblems: all of them, each with its place.
func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	s.Agent("owner")
	const bundle = "default_action: perhaps\nrules:\n  - id: a\n    when: {target: \"[\"}\n    then: {decision: allow}\n  - id: a\n    then: {decision: allow, rate_limit: {max_calls: 0, window: -1s}}\n"
	a := s.Admin(http.MethodPost, "/v0/policies/owner", daemontest.JSON(wire.LoadPolicy{Bundle: bundle}), http.StatusBadRequest, nil)
	var e wire.ErrorEnvelope
	if err := a.Into(&e); err != nil {
		t.Fatal(err)
	}
	lines := map[int]int{}
	for _, p := range e.Details.Problems {
		if p.Field == "" || p.Problem == "" || p.Column == 0 {
			t.Errorf("problem %s", daemontest.JSON(p))
		}
		lines[p.Line]++
	}
	if diff := cmp.Diff(map[int]int{1: 1, 4: 1, 6: 1, 7: 2}, lines); diff != "" {
		t.Errorf("problems by line (-want +got):\n%s%s", diff, a.Body)
	}
	// One that is not the bundle's has no place.
	wantProblem(t, "no bundle", s.Send(http.MethodPost, "/v0/policies/owner", `{"bundel":"x"}`, daemontest.Bearer(daemontest.Token)), "bundle")
}

func TestPolicyTest(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy("rules:\n  - {id: no-mail, when: {target: mail}, then: {decision: deny, reason: not by mail}}\n  - {id: never, when: {target: x}, then: {decision: allow}}\n")
	run := owner.Start(`"labels":{"env":"prod"}`)
	denied := run.Submit(wire.KindToolCall, "mail", `{"to":1}`)
	local := run.Submit(wire.KindLocal, "l", `null`)
	test := func(body string) (r wire.PolicyTestReport) {
		s.Admin(http.MethodPost, "/v0/policies/owner/test", body, http.StatusOK, &r)
		return r
	}
	got := test(`{"cases":[
	  {"name":"as is","target":"mail"},
	  {"target":"mail","kind":"llm_call","args":{"a":1},"labels":{"a":"b"},"agent_id":"x","expect":"deny","expect_rule":"no-mail"},
	  {"name":"wrong","target":"mail","expect":"allow"}]}`)
	want := wire.PolicyTestReport{
		Total: 3, Failed: 1, UnexercisedRules: []string{"never"},
		Results: []wire.PolicyResult{
			{Name: "as is", Kind: "tool_call", Target: "mail", Decision: "deny", RuleID: "no-mail", Reason: "not by mail", Pass: true},
			{Name: got.Results[1].Name, Kind: "llm_call", Target: "mail", Decision: "deny", RuleID: "no-mail", Reason: "not by mail", Expect: "deny", ExpectRule: "no-mail", Pass: true},
			{Name: "wrong", Kind: "tool_call", Target: "mail", Decision: "deny", RuleID: "no-mail", Reason: "not by mail", Expect: "allow", Failure: "deny, want allow"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	replay := test(`{"execution_id":"` + run.ExecutionID + `"}`)
	if len(replay.Results) != 2 || replay.Failed != 0 || replay.Results[0].StepID != denied.StepID || replay.Results[1].StepID != local.StepID ||
		replay.Results[0].ExpectRule != "no-mail" || replay.Results[1].ExpectRule != "local" || replay.Results[1].Expect != "allow" {
		t.Errorf("replay: %s", daemontest.JSON(replay))
	}
	other := test(`{"execution_id":"` + run.ExecutionID + `","bundle":"default_action: allow\n","cases":[{"target":"first"}]}`)
	if other.Total != 3 || other.Failed != 1 || other.Results[0].Target != "first" || other.Results[1].Pass {
		t.Errorf("another bundle: %s", daemontest.JSON(other))
	}
	if empty := test(`{"cases":[]}`); empty.Total != 0 || empty.Results == nil {
		t.Errorf("no cases: %s", daemontest.JSON(empty))
	}
	for body, field := range map[string]string{
		`{}`:                        "cases",
		`{"bundle":"rules: []"}`:    "cases",
		`{"cases":null}`:            "cases",
		`{"cases":{}}`:              "cases",
		`{"cases":[{}]}`:            "cases[0].target",
		`{"cases":[{"target":""}]}`: "cases[0].target",
		`{"cases":[{"target":"x","expect":"maybe"}]}`: "cases[0].expect",
		`{"cases":[{"target":"x","kind":"tool"}]}`:    "cases[0].kind",
		`{"cases":[{"target":"x","unknown":1}]}`:      "cases[0].unknown",
		`{"cases":[],"execution_id":7}`:               "execution_id",
	} {
		wantProblem(t, body, s.Send(http.MethodPost, "/v0/policies/owner/test", body, daemontest.Bearer(daemontest.Token)), field)
	}
	if a := s.Send(http.MethodPost, "/v0/policies/owner/test", `{"cases":[],"bundle":"rules: ["}`, daemontest.Bearer(daemontest.Token)); a.Code() != wire.CodeValidation {
		t.Errorf("a bad bundle: status %d: %s", a.Status, a.Body)
	}
}
