package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newAgentsRotate(f *factory) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Give an agent a new secret, shown once",
		Long: `Gives an agent a new secret and shows it once. Webhook, lease and policy stay.

From then on the old secret is refused, and webhooks are signed with the new one.
Webhooks that are on their way carry the old signature: an agent that checks it
refuses them, and they are delivered again.`,
		Example: `  kernelctl agents rotate-secret demo
  kernelctl ag rotate-secret demo --secret-file new.secret --yes`,
		Args: takes(1, 1, "the id of an agent"),
	}
	cmd.Flags().StringVar(&path, "secret-file", generate, "`file` with the secret, - for stdin, or gen for a new one")
	cmd.Flags().BoolP("yes", "y", false, yesHelp)
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error { return s.rotate(ctx, path) })
	return cmd
}

func (s *session) rotate(ctx context.Context, path string) error {
	secret, show, err := s.secret(path)
	if err != nil {
		return err
	}
	a, err := s.agent(ctx, s.args[0])
	if err != nil {
		return err
	}
	if err := s.confirm(ctx, fmt.Sprintf("Replace the secret of agent %s? The old one stops working at once.", a.ID)); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	req := wire.RegisterAgent{ID: a.ID, WebhookURL: a.WebhookURL, Secret: secret}
	if a.LeaseTimeoutSeconds > 0 {
		req.LeaseTimeoutSeconds = &a.LeaseTimeoutSeconds
	}
	r, err := c.RegisterAgent(ctx, req)
	if err != nil {
		return err
	}
	s.io.Notef("webhooks that are on their way carry the old signature; they are delivered again when the agent refuses them")
	p := s.printer()
	switch {
	case show != "":
		return s.showSecret(p, registered{Agent: r, Secret: show})
	case !p.Format.ForPerson():
		return p.Value(r)
	}
	return p.Card(agentCard(p, r))
}

func newAgentsDelete(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete ID",
		Aliases: []string{"rm"},
		Short:   "Delete an agent",
		Long: `Deletes an agent that has no live execution; one that has is exit 5. Its past
executions stay. It asks first, unless --yes is given.`,
		Example: `  kernelctl agents delete demo
  kernelctl ag rm demo --yes`,
		Args: takes(1, 1, "the id of an agent"),
	}
	cmd.Flags().BoolP("yes", "y", false, yesHelp)
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error { return s.deleteAgent(ctx) })
	return cmd
}

func (s *session) deleteAgent(ctx context.Context) error {
	a, err := s.agent(ctx, s.args[0])
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	live, err := liveExecutions(ctx, c, a.ID)
	if err != nil {
		return err
	}
	if live > 0 {
		return liveConflict(a.ID, printer.Counted(live, "execution")+" of it not ended", nil)
	}
	if err := s.confirm(ctx, fmt.Sprintf("Delete agent %s? It has no live execution.", a.ID)); err != nil {
		return err
	}
	if err := c.DeleteAgent(ctx, a.ID); err != nil {
		if client.CodeOf(err) == wire.CodeConflict {
			return liveConflict(a.ID, explain(err).What, err)
		}
		return agentError(err, a.ID)
	}
	p := s.printer()
	if !p.Format.ForPerson() {
		return p.Value(a)
	}
	_, err = fmt.Fprintln(s.out, a.ID)
	s.io.Notef("agent %s is deleted", a.ID)
	return err
}

func liveConflict(id, why string, err error) error {
	return &exit.Error{
		Code: exit.Conflict, What: fmt.Sprintf("agent %s cannot be deleted", id), Why: why, Err: err, Slug: string(wire.CodeConflict),
		Next: fmt.Sprintf("kernelctl ex ls --agent %s --status pending,running,blocked", id),
	}
}

// liveExecutions counts the executions of an agent that have not ended, as far
// as one page of each status goes.
func liveExecutions(ctx context.Context, c *client.Client, agent string) (n int, err error) {
	for _, st := range wire.ExecutionStatuses() {
		if st.Terminal() {
			continue
		}
		page, err := c.ListExecutions(ctx, client.ExecutionFilter{AgentID: agent, Status: st, Limit: wire.MaxExecutionsLimit})
		if err != nil {
			return 0, err
		}
		n += len(page.Executions)
	}
	return n, nil
}
