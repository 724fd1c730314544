package policy

import (
	"math"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

var (
	thenKeys     = []string{"decision", "reason", "approval_config", "rate_limit", "budget"}
	approvalKeys = []string{"approvers", "timeout", "message"}
	limitKeys    = []string{"max_calls", "window", "per_what", "max_wait"}
	budgetKeys   = []string{"max_tokens", "on_exceed"}
)

// then reads what a rule does.
func (c *compiler) then(r *kernel.Ruling, n *yaml.Node, field string) {
	f, ok := c.mapping(n, field, thenKeys)
	if !ok {
		return
	}
	if decision := f.byKey["decision"]; decision != nil {
		r.Action = c.action(decision, f.path("decision"), kernel.Allow, kernel.Deny, kernel.RequireApproval)
	} else {
		c.at(n, f.path("decision"), "is missing: allow, deny or require_approval")
	}
	if reason := f.byKey["reason"]; reason != nil {
		r.Reason, _ = c.text(reason, f.path("reason"))
	} else if r.Action == kernel.Deny {
		r.Reason = reasonDenied
	}
	if limit := f.byKey["rate_limit"]; limit != nil {
		r.Limit = c.rateLimit(limit, f.path("rate_limit"))
	}
	if budget := f.byKey["budget"]; budget != nil {
		r.Budget = c.budget(budget, f.path("budget"), r.Action)
	}
	if approval := f.byKey["approval_config"]; approval != nil {
		r.Approval = c.approval(approval, f.path("approval_config"))
		// Whoever writes terms expects to be asked. A rule that never asks must
		// not pass for one that does.
		asks := r.Action == kernel.RequireApproval || r.Budget != nil && r.Budget.OnExceed == kernel.RequireApproval
		if !asks && r.Action != 0 {
			c.at(approval, f.path("approval_config"), "has no effect: neither decision nor budget.on_exceed is require_approval")
		}
	}
}

func (c *compiler) action(n *yaml.Node, field string, allowed ...kernel.Action) kernel.Action {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = a.String()
	}
	word, _ := c.choice(n, field, words...)
	for _, a := range allowed {
		if a.String() == word {
			return a
		}
	}
	return 0
}

func (c *compiler) approval(n *yaml.Node, field string) kernel.ApprovalTerms {
	var terms kernel.ApprovalTerms
	f, ok := c.mapping(n, field, approvalKeys)
	if !ok {
		return terms
	}
	// An empty list is what an approval shows when anyone may decide it.
	if approvers := f.byKey["approvers"]; approvers != nil && !isEmptyList(approvers) {
		c.texts(approvers, f.path("approvers"), func(_ *yaml.Node, _, who string) {
			terms.Approvers = append(terms.Approvers, who)
		})
	}
	if timeout := f.byKey["timeout"]; timeout != nil {
		terms.Timeout = c.duration(timeout, f.path("timeout"))
	}
	if message := f.byKey["message"]; message != nil {
		terms.Message, _ = c.text(message, f.path("message"))
	}
	return terms
}

func isEmptyList(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && len(n.Content) == 0 }

func (c *compiler) rateLimit(n *yaml.Node, field string) *kernel.RateLimit {
	limit := &kernel.RateLimit{Scope: kernel.PerExecution}
	f, ok := c.mapping(n, field, limitKeys)
	if !ok {
		return limit
	}
	if calls := c.required(f, "max_calls", "how many calls a window may have"); calls != nil {
		count := c.count(calls, f.path("max_calls"))
		if count > math.MaxInt32 {
			c.at(calls, f.path("max_calls"), "%d is too large", count)
		}
		limit.MaxCalls = int(count)
	}
	if window := c.required(f, "window", "a duration such as 1m"); window != nil {
		limit.Window = c.duration(window, f.path("window"))
	}
	if scope := f.byKey["per_what"]; scope != nil {
		switch word, _ := c.choice(scope, f.path("per_what"), "execution", "agent", "global"); word {
		case "agent":
			limit.Scope = kernel.PerAgent
		case "global":
			limit.Scope = kernel.PerService
		}
	}
	if wait := f.byKey["max_wait"]; wait != nil {
		limit.MaxWait = c.duration(wait, f.path("max_wait"))
	}
	return limit
}

func (c *compiler) budget(n *yaml.Node, field string, decision kernel.Action) *kernel.Budget {
	budget := &kernel.Budget{OnExceed: kernel.Deny}
	f, ok := c.mapping(n, field, budgetKeys)
	if !ok {
		return budget
	}
	if tokens := c.required(f, "max_tokens", "how many tokens an execution may have used"); tokens != nil {
		budget.MaxTokens = c.count(tokens, f.path("max_tokens"))
	}
	if exceed := f.byKey["on_exceed"]; exceed != nil {
		budget.OnExceed = c.action(exceed, f.path("on_exceed"), kernel.Deny, kernel.RequireApproval)
		if budget.OnExceed == kernel.RequireApproval && decision == kernel.Deny {
			c.at(exceed, f.path("on_exceed"), "would let over the budget what the rule denies under it")
		}
	}
	return budget
}

// required is the value of a key that must be there.
func (c *compiler) required(f fields, key, what string) *yaml.Node {
	n := f.byKey[key]
	if n == nil {
		c.at(f.node, f.path(key), "is missing: %s", what)
	}
	return n
}
