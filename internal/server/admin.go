package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func (c *call) registerAgent() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var req wire.RegisterAgent
	var secret string
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "id":
			return o.text(name, v, &req.ID)
		case "webhook_url":
			return o.text(name, v, &req.WebhookURL)
		case "secret":
			return o.text(name, v, &secret)
		case "lease_timeout_seconds":
			return o.integer(name, v, &req.LeaseTimeoutSeconds)
		}
		return false
	}); err != nil {
		return err
	}
	req.Secret = wire.Secret(secret)
	o.check("id", wire.ValidateAgentID(req.ID))
	o.check("webhook_url", wire.ValidateWebhookURL(req.WebhookURL))
	o.check("secret", wire.ValidateSecret(req.Secret))
	if req.LeaseTimeoutSeconds != nil {
		o.check("lease_timeout_seconds", wire.ValidateLeaseTimeoutSeconds(*req.LeaseTimeoutSeconds))
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	stored, err := c.s.engine.RegisterAgent(c.r.Context(), store.AgentSpec{
		ID: kernel.AgentID(req.ID), WebhookURL: req.WebhookURL, Secret: secret, Lease: leaseOf(req.LeaseTimeoutSeconds),
	})
	if err != nil {
		return err
	}
	return c.writeShape(http.StatusCreated, agentShape(&stored))
}

// leaseOf is the lease that an agent asks for; one that is too short is
// ignored, and the service's own is in force.
func leaseOf(seconds *int64) time.Duration {
	if seconds == nil {
		return 0
	}
	const most = int64(365 * 24 * time.Hour / time.Second)
	lease := time.Duration(min(*seconds, most)) * time.Second
	if lease < engine.MinLeaseTimeout {
		return 0
	}
	return lease
}

func (c *call) listAgents() error {
	agents, err := c.s.read.Agents(c.r.Context())
	if err != nil {
		return err
	}
	list := make(wire.List[wire.Agent], 0, len(agents))
	for i := range agents {
		list = append(list, agentShape(&agents[i]))
	}
	return c.writeShape(http.StatusOK, list)
}

func (c *call) getAgent() error {
	a, err := c.s.read.Agent(c.r.Context(), kernel.AgentID(chi.URLParam(c.r, "id")))
	if err != nil {
		return named(err, "agent %q is not registered", chi.URLParam(c.r, "id"))
	}
	return c.writeShape(http.StatusOK, agentShape(&a))
}

func (c *call) deleteAgent() error {
	if err := c.s.engine.DeleteAgent(c.r.Context(), kernel.AgentID(chi.URLParam(c.r, "id"))); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) policyAgent() kernel.AgentID { return kernel.AgentID(chi.URLParam(c.r, "agent_id")) }

func (c *call) putPolicy() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var bundle string
	given := false
	if err := o.each(func(name string, v []byte) bool {
		if name != "bundle" {
			return false
		}
		given = v != nil
		return o.text(name, v, &bundle)
	}); err != nil {
		return err
	}
	o.require("bundle", given)
	if err := o.bad.err(); err != nil {
		return err
	}
	if _, known := c.s.engine.Agent(c.policyAgent()); !known {
		return notFound("agent %q is not registered", c.policyAgent())
	}
	if err := c.s.engine.PutPolicy(c.r.Context(), c.policyAgent(), []byte(bundle)); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) getPolicy() error {
	a, err := c.s.read.Agent(c.r.Context(), c.policyAgent())
	if err != nil {
		return named(err, "agent %q is not registered", c.policyAgent())
	}
	if a.Bundle == nil {
		return notFound("agent %q has no policy: everything it does is allowed", c.policyAgent())
	}
	return c.writeShape(http.StatusOK, wire.Policy{
		AgentID: string(a.ID), Bundle: string(a.Bundle), SHA256: a.BundleSum.String(), UpdatedAt: wire.At(a.BundleAt.Time()),
	})
}

func (c *call) deletePolicy() error {
	if err := c.s.engine.DeletePolicy(c.r.Context(), c.policyAgent()); err != nil {
		return err
	}
	return c.noContent()
}

func (c *call) testPolicy() error {
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	test := engine.PolicyTest{Agent: c.policyAgent()}
	var bundle, execution string
	var cases []byte
	hasBundle := false
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "bundle":
			hasBundle = v != nil
			return o.text(name, v, &bundle)
		case "cases":
			return o.raw(v, &cases)
		case "execution_id":
			return o.text(name, v, &execution)
		}
		return false
	}); err != nil {
		return err
	}
	if hasBundle {
		test.Bundle = []byte(bundle)
	}
	if cases == nil && execution == "" && len(o.bad) == 0 {
		o.bad.add("cases", "or execution_id is required: there is nothing to evaluate")
	}
	if cases != nil {
		test.Cases = o.cases(cases)
	}
	if err := o.bad.err(); err != nil {
		return err
	}
	if _, known := c.s.engine.Agent(test.Agent); !known {
		return notFound("agent %q is not registered", test.Agent)
	}
	if execution != "" {
		id, ok := kernel.ParseExecutionID(execution)
		if !ok {
			return notFound("no execution %q", execution)
		}
		test.Execution = id
	}
	report, err := c.s.engine.TestPolicy(c.r.Context(), test)
	if err != nil {
		return err
	}
	return c.writeShape(http.StatusOK, report)
}

// cases reads the test cases by the policy's own reader.
func (o *object) cases(raw []byte) []policy.Case {
	if canonjson.Kind(raw) != '[' {
		o.bad.add("cases", "must be a list of cases")
		return nil
	}
	cases, err := policy.ParseCases(raw)
	if err != nil {
		o.caseProblems(err)
	}
	return cases
}

func (c *call) listApprovals() error {
	params := c.r.URL.Query()
	q := store.ApprovalQuery{Status: kernel.ApprovalStatusPending, Agent: kernel.AgentID(params.Get("agent_id"))}
	var bad problems
	limit, err := c.queryInt("limit", wire.DefaultApprovalsLimit, 1, wire.MaxApprovalsLimit)
	if err != nil {
		bad.add("limit", "must be an integer of at least 1")
	}
	q.Limit = int(limit)
	if name := params.Get("status"); params.Has("status") {
		var ok bool
		switch q.Status, ok = kernel.ParseApprovalStatus(name); {
		case name == wire.ApprovalsAll:
			q.Status = 0
		case !ok:
			bad.add("status", "must be one of pending, granted, denied, expired, cancelled, all")
		}
	}
	none := false
	if id := params.Get("execution_id"); id != "" {
		var ok bool
		if q.Execution, ok = kernel.ParseExecutionID(strings.ToLower(id)); !ok {
			none = true // no execution has such an id, so no approval does
		}
	}
	if err := bad.err(); err != nil {
		return err
	}
	var page []store.Approval
	if !none {
		if page, err = c.s.read.Approvals(c.r.Context(), q); err != nil {
			return err
		}
	}
	w := jsonWriter{b: append(make([]byte, 0, 512*(len(page)+1)), '[')}
	for i := range page {
		w.approval(&page[i])
	}
	c.write(http.StatusOK, append(w.b, ']'))
	return nil
}

func (c *call) approvalID() (kernel.ApprovalID, error) {
	id, ok := kernel.ParseApprovalID(chi.URLParam(c.r, "id"))
	if !ok {
		return id, notFound("no approval %q", chi.URLParam(c.r, "id"))
	}
	return id, nil
}

func (c *call) getApproval() error {
	id, err := c.approvalID()
	if err != nil {
		return err
	}
	a, err := c.s.read.Approval(c.r.Context(), id)
	if err != nil {
		return named(err, "no approval %s", id)
	}
	var w jsonWriter
	w.approval(&a)
	c.write(http.StatusOK, w.b)
	return nil
}

func (c *call) grantApproval() error { return c.decideApproval(kernel.ApprovalStatusGranted) }

func (c *call) denyApproval() error { return c.decideApproval(kernel.ApprovalStatusDenied) }

func (c *call) decideApproval(verdict kernel.ApprovalStatus) error {
	id, err := c.approvalID()
	if err != nil {
		return err
	}
	if _, err := c.s.read.Approval(c.r.Context(), id); err != nil {
		return named(err, "no approval %s", id)
	}
	o, err := c.jsonBody()
	if err != nil {
		return err
	}
	var by, rationale string
	if err := o.each(func(name string, v []byte) bool {
		switch name {
		case "decided_by":
			return o.text(name, v, &by)
		case "rationale":
			return o.text(name, v, &rationale)
		}
		return false
	}); err != nil {
		return err
	}
	o.require("decided_by", by != "")
	if err := o.bad.err(); err != nil {
		return err
	}
	if err := c.s.engine.Decide(c.r.Context(), id, verdict, by, rationale); err != nil {
		return named(err, "no approval %s", id)
	}
	return c.noContent()
}

// caseProblems says what is wrong with the cases, in the policy reader's words.
func (o *object) caseProblems(err error) {
	var bad *policy.Invalid
	if !errors.As(err, &bad) {
		o.bad.add("cases", err.Error())
		return
	}
	for _, p := range bad.Problems {
		o.bad.add(p.Field, p.Problem)
	}
}
