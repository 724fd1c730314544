package engine

import (
	"context"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
)

// PolicyTest evaluates a bundle without storing anything.
type PolicyTest struct {
	Agent     kernel.AgentID
	Bundle    []byte // nil: the agent's stored one
	Cases     []policy.Case
	Execution kernel.ExecutionID // non-zero: replays its recorded steps, after the cases
}

// TestPolicy runs the cases, and one case per recorded step of an execution
// that expects what was decided then.
func (e *Engine) TestPolicy(ctx context.Context, t PolicyTest) (policy.Report, error) {
	agent, ok := e.agents.get(t.Agent)
	if !ok {
		return policy.Report{}, notFound("agent %q is not registered", t.Agent)
	}
	bundle := agent.Policy
	if t.Bundle != nil {
		var err error
		if bundle, err = compileBundle(t.Bundle); err != nil {
			return policy.Report{}, err
		}
	}
	cases := t.Cases
	if !t.Execution.IsZero() {
		recorded, err := e.recordedCases(ctx, t.Execution)
		if err != nil {
			return policy.Report{}, err
		}
		cases = append(cases, recorded...)
	}
	return policy.RunCases(bundle, string(t.Agent), cases), nil
}

func (e *Engine) recordedCases(ctx context.Context, id kernel.ExecutionID) ([]policy.Case, error) {
	h, err := e.Header(ctx, id)
	if err != nil {
		return nil, notFound("no execution %s", id)
	}
	steps, err := e.store.Steps(ctx, id)
	if err != nil {
		return nil, err
	}
	cases := make([]policy.Case, 0, len(steps))
	for i := range steps {
		s := &steps[i]
		expect := kernel.Allow
		switch {
		case !s.Approval.IsZero():
			expect = kernel.RequireApproval
		case s.Status == kernel.StepStatusDenied:
			expect = kernel.Deny
		}
		cases = append(cases, policy.Case{
			Name: s.Target, StepID: s.ID.String(), Kind: s.Kind.String(), Target: s.Target, Args: s.Args,
			Labels: h.Labels, AgentID: string(h.Agent), Expect: expect.String(), ExpectRule: s.Rule,
		})
	}
	return cases, nil
}
