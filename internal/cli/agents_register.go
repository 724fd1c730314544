package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type registerFlags struct {
	id, webhook, secretFile, policy, manifest string
	lease                                     time.Duration
}

// generate is the --secret-file that asks for a new secret.
const generate = "gen"

func newAgentsRegister(f *factory) *cobra.Command {
	var fl registerFlags
	cmd := &cobra.Command{
		Use:     "register (--id ID --webhook-url URL --secret-file FILE | -f MANIFEST)",
		Aliases: []string{"create", "add"},
		Short:   "Register agents, or replace their webhook and secret",
		Long: `Registers an agent. One with the same id gets the new webhook, secret and lease;
its policy stays, unless --policy gives a new one.

The secret is never a flag, because others can see those: --secret-file reads the
first line of a file or, with -, of stdin; with gen a new secret is made and shown
once.

-f registers all agents of a manifest, as kernelctl serve --config does: a list
of id, webhook_url, secret, lease_timeout_seconds and policy_file or policy under
agents. ${NAME} in it is replaced from the environment.`,
		Example: `  kernelctl agents register --id demo --webhook-url http://127.0.0.1:9000/hook --secret-file gen
  kernelctl ag register --id shell --webhook-url https://shell.corp/hook --secret-file shell.secret --policy shell.yaml
  kernelctl ag register -f agents.yaml`,
		Args: takes(0, 0, ""),
	}
	fs := cmd.Flags()
	fs.StringVar(&fl.id, "id", "", "`id` of the agent")
	fs.StringVar(&fl.webhook, "webhook-url", "", "`URL` that the server calls")
	fs.StringVar(&fl.secretFile, "secret-file", "", "`file` with the secret, - for stdin, or gen for a new one")
	fs.DurationVar(&fl.lease, "lease-timeout", 0, "how long a dispatch may be quiet; the server's default when 0")
	fs.StringVar(&fl.policy, "policy", "", "`file` with a policy bundle to load")
	fs.StringVarP(&fl.manifest, "file", "f", "", "manifest `file` with agents")
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error {
		agents, secret, err := s.toRegister(fl)
		if err != nil {
			return err
		}
		return s.register(ctx, agents, secret)
	})
	return cmd
}

// toRegister checks everything before anything is sent. Secret is a new one
// that must be shown.
func (s *session) toRegister(fl registerFlags) (agents []config.Agent, secret string, err error) {
	single := fl.id != "" || fl.webhook != "" || fl.secretFile != "" || fl.policy != "" || fl.lease != 0
	switch {
	case fl.manifest != "" && single:
		return nil, "", exit.Usagef("--file goes alone").Because("the manifest says all of it")
	case fl.manifest != "":
		m, err := config.LoadManifest(fl.manifest, s.f.env)
		if err == nil && len(m.Agents) == 0 {
			err = exit.Usagef("%s: there are no agents in it", fl.manifest)
		}
		return m.Agents, "", manifestError(err, fl.manifest)
	}
	for _, need := range []struct{ flag, value string }{{"id", fl.id}, {"webhook-url", fl.webhook}, {"secret-file", fl.secretFile}} {
		if need.value == "" {
			return nil, "", exit.Usagef("--%s is missing", need.flag).Try("%s --help", s.cmd.CommandPath())
		}
	}
	a := config.Agent{ID: fl.id, WebhookURL: fl.webhook, LeaseTimeout: fl.lease}
	if a.Secret, secret, err = s.secret(fl.secretFile); err != nil {
		return nil, "", err
	}
	if fl.policy != "" {
		text, err := s.bundle("policy", fl.policy)
		if err != nil {
			return nil, "", err
		}
		a.Policy = []byte(text)
	}
	return []config.Agent{a}, secret, nil
}

// secret reads a secret, or makes one, which is then to be shown.
func (s *session) secret(path string) (secret wire.Secret, show string, err error) {
	if path == generate {
		if s.io.Quiet {
			return "", "", exit.Usagef("--secret-file gen does not go with --quiet").Because("the new secret would be shown nowhere")
		}
		var b [32]byte
		if _, err := rand.Read(b[:]); err != nil {
			return "", "", fmt.Errorf("make a secret: %w", err)
		}
		show = hex.EncodeToString(b[:])
		return wire.Secret(show), show, nil
	}
	text, err := s.file("secret-file", path)
	if err != nil {
		return "", "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", "", exit.Usagef("--secret-file %s: the first line is empty", path)
	}
	return wire.Secret(line), "", nil
}

// bundle reads a policy and makes sure that it is one.
func (s *session) bundle(flag, path string) (string, error) {
	text, err := s.file(flag, path)
	if err != nil {
		return "", err
	}
	if _, err := policy.Compile([]byte(text)); err != nil {
		return "", policyError(path, err)
	}
	return text, nil
}

// policyError is a bundle that is refused, as an error of usage.
func policyError(path string, err error) error {
	invalid := (*policy.Invalid)(nil)
	if !errors.As(err, &invalid) {
		return exit.Usagef("%s: %v", path, err)
	}
	lines := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s: %s", path, p.Line, p.Column, p.Field, p.Problem)
	}
	e := exit.Usagef("%s is not a policy bundle", path).Because("%s", strings.Join(lines, "; ")).Try("kernelctl policies lint %s", path)
	e.Details = map[string]any{"problems": invalid.Problems}
	return e
}

func manifestError(err error, path string) error {
	invalid := (*config.Invalid)(nil)
	if !errors.As(err, &invalid) {
		return err
	}
	lines := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		lines[i] = p.String()
	}
	return exit.Usagef("%s cannot be used, and nothing was registered", path).Because("%s", strings.Join(lines, "; "))
}

// registered is an agent as it was registered, with the secret when that was
// made just now.
type registered struct {
	wire.Agent
	Secret string `json:"secret,omitempty"`
}

func (s *session) register(ctx context.Context, agents []config.Agent, secret string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	p := s.printer()
	if secret != "" {
		r, err := s.registerOne(ctx, c, agents[0])
		if err != nil {
			return err
		}
		return s.showSecret(p, registered{Agent: r, Secret: secret})
	}
	list := printer.NewList(p, agentView(p))
	for i, a := range agents {
		r, err := s.registerOne(ctx, c, a)
		if err != nil {
			if i > 0 {
				s.io.Warnf("%d of %d agents were registered before this:", i, len(agents))
			}
			return errors.Join(list.Close(""), err)
		}
		if err := list.Add(r); err != nil {
			return err
		}
	}
	return list.Close("")
}

func (s *session) registerOne(ctx context.Context, c *client.Client, a config.Agent) (wire.Agent, error) {
	req := wire.RegisterAgent{ID: a.ID, WebhookURL: a.WebhookURL, Secret: a.Secret}
	if a.LeaseTimeout > 0 {
		n := int64(a.LeaseTimeout / time.Second)
		req.LeaseTimeoutSeconds = &n
		if n < 10 {
			s.io.Warnf("note: a lease of %s is under ten seconds, so the server's default applies", a.LeaseTimeout)
		}
	}
	r, err := c.RegisterAgent(ctx, req)
	if err != nil || a.Policy == nil {
		return r, err
	}
	if err := c.LoadPolicy(ctx, a.ID, string(a.Policy)); err != nil {
		return r, fmt.Errorf("agent %s is registered, but its policy was not loaded: %w", a.ID, err)
	}
	return c.GetAgent(ctx, a.ID)
}

// showSecret shows a secret once; it cannot be read again.
func (s *session) showSecret(p *printer.Printer, r registered) error {
	s.io.Notef("the secret is shown this once: give it to the agent and keep it nowhere else")
	if !p.Format.ForPerson() {
		return p.Value(r)
	}
	return p.Card(append(agentCard(p, r.Agent), printer.Field{Name: "secret", Value: printer.Text(r.Secret)}))
}
