package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newAgents(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "agents",
		Aliases: []string{"agent", "ag"},
		Short:   "Register and look after agents",
		Long: `An agent is an HTTP service with a webhook that the server calls, and a secret
that both sign with.`,
		Example: `  kernelctl agents list
  kernelctl agents register -f agents.yaml`,
	}, newAgentsList(f), newAgentsGet(f), newAgentsRegister(f), newAgentsRotate(f), newAgentsDelete(f))
}

func agentView(p *printer.Printer) printer.View[wire.Agent] {
	return printer.View[wire.Agent]{
		Name: func(a wire.Agent) string { return "agent/" + a.ID },
		ID:   func(a wire.Agent) string { return a.ID },
		Columns: []printer.Column[wire.Agent]{
			{Name: "ID", Flex: true, Cell: func(a wire.Agent) printer.Cell { return printer.Text(a.ID) }},
			{Name: "WEBHOOK", Flex: true, Cell: func(a wire.Agent) printer.Cell { return printer.Text(a.WebhookURL) }},
			{Name: "LEASE", Cell: agentLease},
			{Name: "POLICY", Cell: agentPolicy},
			{Name: "UPDATED", Cell: func(a wire.Agent) printer.Cell { return p.Ago(a.UpdatedAt) }},
			{Name: "REGISTERED", Wide: true, Cell: func(a wire.Agent) printer.Cell { return p.Ago(a.RegisteredAt) }},
		},
	}
}

func agentLease(a wire.Agent) printer.Cell {
	if a.LeaseTimeoutSeconds == 0 {
		return printer.Cell{Short: "default"}
	}
	return printer.Text(fmt.Sprintf("%ds", a.LeaseTimeoutSeconds))
}

// agentPolicy says how many rules there are, or that nothing is refused.
func agentPolicy(a wire.Agent) printer.Cell {
	if a.PolicyBundle == "" {
		return printer.Cell{Text: "none", Short: "none: all allowed", Style: printer.Warn}
	}
	b, err := policy.Compile([]byte(a.PolicyBundle))
	if err != nil {
		return printer.Text("loaded") // of a newer grammar than this one
	}
	return printer.Text(printer.Counted(len(b.Rules()), "rule"))
}

func newAgentsList(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List agents",
		Long:    `Lists the registered agents by id. Secrets are never shown.`,
		Example: `  kernelctl agents list
  kernelctl ag ls -q`,
		Args: takes(0, 0, ""),
	}
	cmd.RunE = f.do(traits{pages: true}, func(ctx context.Context, s *session) error {
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		agents, err := c.ListAgents(ctx)
		if err != nil {
			return err
		}
		p := s.printer()
		list := printer.NewList(p, agentView(p))
		for _, a := range agents {
			if err := list.Add(a); err != nil {
				return err
			}
		}
		if len(agents) == 0 && p.Format.ForPerson() {
			s.io.Notef("no agents; register one: kernelctl agents register --help")
		}
		return list.Close("")
	})
	return cmd
}

func newAgentsGet(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get ID",
		Aliases: []string{"show"},
		Short:   "Show one agent",
		Long:    `Shows one agent. Its policy is shown by kernelctl policies get, its secret never.`,
		Example: `  kernelctl agents get demo
  kernelctl ag get demo -o json`,
		Args: takes(1, 1, "the id of an agent"),
	}
	cmd.RunE = f.do(traits{}, func(ctx context.Context, s *session) error {
		a, err := s.agent(ctx, s.args[0])
		if err != nil {
			return err
		}
		p := s.printer()
		return printer.One(p, agentView(p), a, func() []printer.Field { return agentCard(p, a) })
	})
	return cmd
}

func agentCard(p *printer.Printer, a wire.Agent) []printer.Field {
	return []printer.Field{
		{Name: "id", Value: printer.Text(a.ID)},
		{Name: "webhook", Value: printer.Text(a.WebhookURL)},
		{Name: "lease", Value: agentLease(a)},
		{Name: "policy", Value: agentPolicy(a)},
		{Name: "registered", Value: p.Ago(a.RegisteredAt)},
		{Name: "updated", Value: p.Ago(a.UpdatedAt)},
	}
}

// agent reads the agent that was named.
func (s *session) agent(ctx context.Context, arg string) (wire.Agent, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return wire.Agent{}, err
	}
	id := agentID(arg)
	if !wire.ValidName(id) {
		return wire.Agent{}, noAgent(id, nil)
	}
	a, err := c.GetAgent(ctx, id)
	return a, agentError(err, id)
}

// agentError names the agent that is not there.
func agentError(err error, id string) error {
	if client.CodeOf(err) != wire.CodeNotFound {
		return err
	}
	return noAgent(id, err)
}

func noAgent(id string, err error) error {
	e := &exit.Error{Code: exit.NotFound, What: "no agent " + id, Next: "kernelctl agents list", Slug: string(wire.CodeNotFound), Err: err}
	if err != nil {
		e.Why = explain(err).Why
	}
	return e
}

// agentID takes agent/id as well as id. Ids of agents are whole: they are names.
func agentID(arg string) string { return strings.TrimPrefix(arg, "agent/") }
