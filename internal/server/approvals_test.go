package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// ask starts an execution of the agent that is blocked on an approval.
func ask(a *daemontest.Agent, args string) (*daemontest.Run, string) {
	run := a.Start("")
	return run, run.Submit(wire.KindToolCall, "ask", args).ApprovalID
}

func TestListApprovals(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	bundle := func(timeout string) string {
		return "rules:\n  - {id: ask, then: {decision: require_approval, approval_config: {timeout: " + timeout + "}}}\n"
	}
	a, b := s.Agent("a"), s.Agent("b")
	a.Policy(bundle("3h"))
	late, lateID := ask(a, "1")
	a.Policy(bundle("1h"))
	soon, soonID := ask(a, "2")
	b.Policy(bundle("2h"))
	_, middleID := ask(b, "3")
	a.Policy(bundle("4h"))
	_, grantedID := ask(a, "4")
	s.Admin(http.MethodPost, "/v0/approvals/"+grantedID+"/grant", `{"decided_by":"x"}`, http.StatusNoContent, nil)
	a.Next()
	gone, goneID := ask(a, "5")
	s.Admin(http.MethodPost, gone.Path("/cancel"), "", http.StatusNoContent, nil)
	for query, want := range map[string][]string{
		"":                                 {soonID, middleID, lateID},
		"status=pending":                   {soonID, middleID, lateID},
		"status=all":                       {soonID, middleID, lateID, grantedID, goneID},
		"status=granted":                   {grantedID},
		"status=cancelled":                 {goneID},
		"status=denied":                    nil,
		"status=expired":                   nil,
		"agent_id=a":                       {soonID, lateID},
		"agent_id=nobody":                  nil,
		"execution_id=" + late.ExecutionID: {lateID},
		"execution_id=" + gone.ExecutionID: nil,
		"execution_id=" + gone.ExecutionID + "&status=all": {goneID},
		"execution_id=x":     nil,
		"limit=1":            {soonID},
		"limit=2&agent_id=a": {soonID, lateID},
		"limit=100000":       {soonID, middleID, lateID},
	} {
		var list []wire.Approval
		s.Admin(http.MethodGet, "/v0/approvals?"+query, "", http.StatusOK, &list)
		var got []string
		for _, approval := range list {
			got = append(got, approval.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	var one wire.Approval
	s.Admin(http.MethodGet, "/v0/approvals/"+soonID, "", http.StatusOK, &one)
	want := wire.Approval{
		ID: soonID, ExecutionID: soon.ExecutionID, StepID: one.StepID, AgentID: "a", Status: wire.ApprovalPending,
		Kind: wire.KindToolCall, Target: "ask", Args: []byte("2"), RuleID: "ask", Approvers: wire.List[string]{}, CreatedAt: one.CreatedAt, TimeoutAt: wire.At(one.CreatedAt.Add(time.Hour)),
	}
	if diff := cmp.Diff(want, one); diff != "" || soon.Step(one.StepID).ApprovalID == nil {
		t.Errorf("approval (-want +got):\n%s", diff)
	}
}

// TestDecisions: who may decide, what a decision needs, and what comes too late.
func TestDecisions(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy(approvalPolicy)
	post := func(id, verb, body string) daemontest.Answer {
		return s.Send(http.MethodPost, "/v0/approvals/"+id+"/"+verb, body, daemontest.Bearer(daemontest.Token))
	}
	granted, grantedID := ask(owner, "1")
	_, deniedID := ask(owner, "2")
	cancelledRun, cancelledID := ask(owner, "3")
	s.Admin(http.MethodPost, cancelledRun.Path("/cancel"), "", http.StatusNoContent, nil)
	expiredRun := owner.Start("")
	expiredID := expiredRun.Submit(wire.KindToolCall, "hurry", "1").ApprovalID
	s.Await(expiredRun.ExecutionID, wire.EventApprovalExpired)

	for _, verb := range []string{"grant", "deny"} {
		for _, body := range []string{`{}`, `{"decided_by":null}`, `{"decided_by":""}`, `{"decided_by":1}`, `{"rationale":"x"}`} {
			wantProblem(t, verb+" "+body, post(grantedID, verb, body), "decided_by")
		}
		wantProblem(t, verb, post(grantedID, verb, `{"decided_by":"alice","rationale":1}`), "rationale")
		for _, who := range []string{"eve", "Alice", "alice "} {
			if a := post(grantedID, verb, `{"decided_by":"`+who+`"}`); a.Code() != wire.CodeForbidden {
				t.Errorf("%s by %q: status %d: %s", verb, who, a.Status, a.Body)
			}
		}
	}
	for _, tt := range []struct {
		id, verb, who string
		code          wire.ErrorCode
		status        wire.ApprovalStatus
	}{
		{grantedID, "grant", "alice", "", ""},
		{grantedID, "grant", "alice", "", ""}, // the answer was lost
		{grantedID, "grant", "bob", wire.CodeConflict, wire.ApprovalGranted},
		{grantedID, "deny", "alice", wire.CodeConflict, wire.ApprovalGranted},
		{grantedID, "deny", "eve", wire.CodeForbidden, ""}, // looked at first
		{deniedID, "deny", "bob", "", ""},
		{deniedID, "deny", "bob", "", ""},
		{deniedID, "deny", "alice", wire.CodeConflict, wire.ApprovalDenied},
		{deniedID, "grant", "bob", wire.CodeConflict, wire.ApprovalDenied},
		{cancelledID, "grant", "alice", wire.CodeConflict, wire.ApprovalCancelled},
		{cancelledID, "deny", "alice", wire.CodeConflict, wire.ApprovalCancelled},
		{expiredID, "grant", "anyone", wire.CodeConflict, wire.ApprovalExpired},
		{expiredID, "deny", "anyone", wire.CodeConflict, wire.ApprovalExpired},
	} {
		a := post(tt.id, tt.verb, `{"decided_by":"`+tt.who+`","rationale":null}`)
		var e wire.ErrorEnvelope
		if tt.code != "" {
			_ = a.Into(&e)
		}
		if a.Code() != tt.code || tt.code == "" && a.Status != http.StatusNoContent || e.Details.Status != string(tt.status) {
			t.Errorf("%s %s by %s: status %d, want code %q, details.status %q: %s", tt.verb, tt.id, tt.who, a.Status, tt.code, tt.status, a.Body)
		}
	}
	count := 0
	for _, e := range s.Events(granted.ExecutionID) {
		if e.Type == wire.EventApprovalGranted {
			count++
		}
	}
	if count != 1 {
		t.Errorf("granted %d times", count)
	}
	var expired wire.Approval
	s.Admin(http.MethodGet, "/v0/approvals/"+expiredID, "", http.StatusOK, &expired)
	if expired.Status != wire.ApprovalExpired || expired.DecidedBy != nil || expired.Rationale != nil {
		t.Errorf("expired: %s", daemontest.JSON(expired))
	}
}

// TestDeniedStep: what the agent and the reader see of it.
func TestDeniedStep(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy(approvalPolicy)
	for _, tt := range []struct{ target, decide, reason, failure string }{
		{"ask", `{"decided_by":"bob","rationale":"wrong <list>"}`, "wrong <list>", `{"reason":"approval_denied","decided_by":"bob","rationale":"wrong <list>","rule_id":"ask"}`},
		{"ask", `{"decided_by":"bob"}`, "approval_denied", `{"reason":"approval_denied","decided_by":"bob","rationale":null,"rule_id":"ask"}`},
		{"hurry", ``, "approval_timeout", `{"reason":"approval_timeout","decided_by":null,"rationale":null,"rule_id":"hurry"}`},
	} {
		run := owner.Start("")
		d := run.Submit(wire.KindToolCall, tt.target, "1")
		if tt.decide != "" {
			s.Admin(http.MethodPost, "/v0/approvals/"+d.ApprovalID+"/deny", tt.decide, http.StatusNoContent, nil)
		}
		run = owner.Next()
		want := wire.Decision{Decision: wire.DecisionDenied, StepID: d.StepID, Reason: tt.reason, RuleID: tt.target}
		if diff := cmp.Diff(want, run.Submit(wire.KindToolCall, tt.target, "1")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.decide, diff)
		}
		if step := run.Step(d.StepID); step.Status != wire.StepDenied || string(step.Error) != tt.failure || step.ApprovalID == nil || step.CompletedAt == nil {
			t.Errorf("%s: %s", tt.decide, daemontest.JSON(step))
		}
		run.Complete("1")
	}
}

// TestManyDecideAtOnce: exactly one wins.
func TestManyDecideAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	owner.Policy("rules:\n  - {id: ask, then: {decision: require_approval}}\n")
	run, id := ask(owner, "1")
	const n = 16
	won := make([]bool, n)
	atOnce(n, func(i int) {
		verb := []string{"grant", "deny"}[i%2]
		a := s.Send(http.MethodPost, "/v0/approvals/"+id+"/"+verb, fmt.Sprintf(`{"decided_by":"person %d"}`, i), daemontest.Bearer(daemontest.Token))
		if won[i] = a.Status == http.StatusNoContent; !won[i] && a.Code() != wire.CodeConflict {
			t.Errorf("person %d: status %d: %s", i, a.Status, a.Body)
		}
	})
	winners := 0
	for _, w := range won {
		if w {
			winners++
		}
	}
	decided := 0
	for _, e := range s.Events(run.ExecutionID) {
		if e.Type == wire.EventApprovalGranted || e.Type == wire.EventApprovalDenied {
			decided++
		}
	}
	if winners != 1 || decided != 1 {
		t.Errorf("%d winners, %d decisions in the log: want one", winners, decided)
	}
}
