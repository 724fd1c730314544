package cli

import (
	"context"
	"io"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newPolicies(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "policies",
		Aliases: []string{"policy", "pol"},
		Short:   "Read, change and test what agents may do",
		Long: `A policy bundle is the YAML text that says what an agent may do: rules that
allow, deny, or want a person to decide. An agent without one may do everything.`,
		Example: `  kernelctl policies get demo > p.yaml
  kernelctl pol lint p.yaml && kernelctl pol test demo -f p.yaml
  kernelctl pol set demo -f p.yaml`,
	}, newPoliciesGet(f), newPoliciesSet(f), newPoliciesDelete(f), newPoliciesTest(f), newPoliciesLint(f))
}

func newPoliciesGet(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get AGENT",
		Aliases: []string{"show"},
		Short:   "Print the policy bundle of an agent",
		Long: `Prints the policy bundle of an agent as it was loaded, so that it can be edited
and set again. With -o json the whole object, with its digest.`,
		Example: `  kernelctl policies get demo > p.yaml
  kernelctl pol get demo -o json | jq -r .sha256`,
		Args: takes(1, 1, "the id of an agent"),
	}
	cmd.RunE = f.do(traits{pages: true}, func(ctx context.Context, s *session) error {
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		id := agentID(s.args[0])
		pol, err := c.GetPolicy(ctx, id)
		if client.CodeOf(err) == wire.CodeNotFound {
			return s.noPolicy(ctx, c, id, err)
		}
		if err != nil {
			return err
		}
		p := s.printer()
		if !p.Format.ForPerson() {
			return p.Value(pol)
		}
		text := pol.Bundle
		if s.io.OutTTY {
			text = printer.Lines(text)
		}
		_, err = io.WriteString(s.out, text)
		return err
	})
	return cmd
}

// noPolicy tells an agent that is not there from one without a policy.
func (s *session) noPolicy(ctx context.Context, c *client.Client, id string, err error) error {
	if _, agentErr := c.GetAgent(ctx, id); client.CodeOf(agentErr) == wire.CodeNotFound {
		return noAgent(id, agentErr)
	}
	return &exit.Error{
		Code: exit.NotFound, What: "agent " + id + " has no policy", Why: "everything it does is allowed",
		Next: "kernelctl policies set " + id + " -f FILE", Slug: string(wire.CodeNotFound), Err: err,
	}
}

func newPoliciesSet(f *factory) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "set AGENT -f FILE",
		Aliases: []string{"load", "apply"},
		Short:   "Load or replace the policy bundle of an agent",
		Long: `Checks a policy bundle, shows what changes against the one that is loaded, asks,
and loads it. It is in force from the next step on.`,
		Example: `  kernelctl policies set demo -f p.yaml
  kernelctl pol set demo -f - --yes < p.yaml`,
		Args: takes(1, 1, "the id of an agent"),
	}
	cmd.Flags().StringVarP(&path, "file", "f", "", "`file` with the bundle; - is stdin (required)")
	cmd.Flags().BoolP("yes", "y", false, yesHelp)
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error {
		if path == "" {
			return exit.Usagef("--file is missing").Try("kernelctl policies set %s -f FILE", s.args[0])
		}
		return s.setPolicy(ctx, agentID(s.args[0]), path)
	})
	return cmd
}

func (s *session) setPolicy(ctx context.Context, agent, path string) error {
	text, err := s.bundle("file", path)
	if err != nil {
		return err
	}
	a, err := s.agent(ctx, agent)
	if err != nil {
		return err
	}
	if a.PolicyBundle == text {
		s.io.Notef("nothing changes: agent %s has this very policy", agent)
		return s.printPolicy(ctx, agent)
	}
	if changes := diff.Diff("loaded", []byte(a.PolicyBundle), path, []byte(text)); len(changes) > 0 && !s.io.Quiet {
		s.io.Warnf("%s", paintDiff(s.io.ColorErr(), string(changes)))
	}
	question := "Load this policy for agent " + agent + "?"
	if a.PolicyBundle == "" {
		question = "Load the first policy of agent " + agent + ", which may do everything now?"
	}
	if err := s.confirm(ctx, question); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := c.LoadPolicy(ctx, agent, text); err != nil {
		return agentError(err, agent)
	}
	s.io.Notef("policy of agent %s loaded", agent)
	return s.printPolicy(ctx, agent)
}

// printPolicy prints the digest of what is loaded now.
func (s *session) printPolicy(ctx context.Context, agent string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	pol, err := c.GetPolicy(ctx, agent)
	if err != nil {
		return err
	}
	p := s.printer()
	return printer.One(p, policyView(), pol, func() []printer.Field {
		return []printer.Field{
			{Name: "agent", Value: printer.Text(pol.AgentID)},
			{Name: "rules", Value: agentPolicy(wire.Agent{PolicyBundle: pol.Bundle})},
			{Name: "sha256", Value: printer.Text(pol.SHA256)},
			{Name: "updated", Value: p.Ago(pol.UpdatedAt)},
		}
	})
}

func policyView() printer.View[wire.Policy] {
	return printer.View[wire.Policy]{
		Name: func(p wire.Policy) string { return "policy/" + p.AgentID },
		ID:   func(p wire.Policy) string { return p.AgentID },
	}
}

func newPoliciesDelete(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete AGENT",
		Aliases: []string{"rm", "unset"},
		Short:   "Remove the policy bundle of an agent",
		Long: `Removes the policy bundle of an agent: from then on everything it does is
allowed. It asks first, unless --yes is given. With -o json it prints what it
removed.`,
		Example: `  kernelctl policies delete demo
  kernelctl pol rm demo --yes`,
		Args: takes(1, 1, "the id of an agent"),
	}
	cmd.Flags().BoolP("yes", "y", false, yesHelp)
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error {
		a, err := s.agent(ctx, s.args[0])
		if err != nil {
			return err
		}
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		pol, err := c.GetPolicy(ctx, a.ID)
		if client.CodeOf(err) == wire.CodeNotFound {
			return s.noPolicy(ctx, c, a.ID, err)
		}
		if err != nil {
			return err
		}
		if err := s.confirm(ctx, "Remove the policy of agent "+a.ID+"? Everything it does is allowed then."); err != nil {
			return err
		}
		if err := c.DeletePolicy(ctx, a.ID); err != nil {
			return agentError(err, a.ID)
		}
		s.io.Notef("agent %s has no policy now", a.ID)
		if p := s.printer(); !p.Format.ForPerson() {
			return p.Value(pol)
		}
		_, err = io.WriteString(s.out, a.ID+"\n")
		return err
	})
	return cmd
}
