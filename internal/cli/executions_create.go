package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type createFlags struct {
	agent, input, deadline, key string
	labels                      []string
	wait, watch                 bool
}

func newExecutionsCreate(f *factory) *cobra.Command {
	var fl createFlags
	cmd := &cobra.Command{
		Use:     "create --agent ID [flags]",
		Aliases: []string{"run", "start"},
		Short:   "Start an execution and print its id",
		Long: `Starts an execution of an agent and prints its id.

The request carries an idempotency key, so that it is safe to repeat when the
answer is lost: one call makes one execution. With --idempotency-key of your own,
so does calling the command again.`,
		Example: `  kernelctl executions create --agent demo --input '{"task":"hello"}'
  kernelctl ex create --agent demo --input @in.json --wait
  id=$(kernelctl ex create --agent demo -q) && kernelctl ex watch "$id"`,
		Args: takes(0, 0, ""),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.agent, "agent", "a", "", "`agent` to run (required)")
	fs.StringVarP(&fl.input, "input", "i", "", "input: `JSON`, @FILE, or - for stdin (default {})")
	fs.StringArrayVarP(&fl.labels, "label", "l", nil, "label as `KEY=VALUE`; repeatable")
	fs.StringVar(&fl.deadline, "deadline", "", "`when` to give up: a duration such as 10m, or an RFC 3339 timestamp")
	fs.StringVar(&fl.key, "idempotency-key", "", "a repeat of this `key` gives the same execution")
	fs.BoolVar(&fl.wait, "wait", false, "wait until it has ended; exit 0, 10 (failed) or 11 (cancelled)")
	fs.BoolVarP(&fl.watch, "watch", "w", false, "as --wait, and show the events")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := traits{writes: true, long: fl.wait || fl.watch}
		return f.do(t, func(ctx context.Context, s *session) error { return s.create(ctx, fl) })(cmd, args)
	}
	return cmd
}

func (s *session) create(ctx context.Context, fl createFlags) error {
	req, err := s.createRequest(fl)
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	key := fl.key
	if key == "" {
		key = rand.Text()
	}
	x, created, err := c.CreateExecution(ctx, req, key)
	if err != nil {
		return createError(err, fl.agent)
	}
	if !created {
		s.io.Notef("this key had been used before: the execution is that one")
	}
	p := s.printer()
	switch {
	case fl.watch:
		s.io.Notef("execution %s", x.ID)
		return s.follow(ctx, x, 0)
	case fl.wait && p.Format.ForPerson():
		if err := s.printCreated(p, x); err != nil {
			return err
		}
		_, err := s.awaitOutcome(ctx, x)
		return err
	case fl.wait:
		end, err := s.awaitOutcome(ctx, x)
		if end.ID == "" {
			return err
		}
		return errors.Join(s.printCreated(p, end), err)
	}
	if err := s.printCreated(p, x); err != nil {
		return err
	}
	if s.io.ErrTTY && p.Format.ForPerson() {
		s.io.Notef("watch it: kernelctl ex watch %s", printer.ShortID(x.ID))
	}
	return nil
}

// printCreated prints the whole id: it is what a script wants, and a person can
// copy it.
func (s *session) printCreated(p *printer.Printer, x wire.Execution) error {
	p.IDsOnly = true
	return printer.One(p, executionView(p, nil), x, nil)
}

func (s *session) createRequest(fl createFlags) (req wire.CreateExecution, err error) {
	if fl.agent == "" {
		return req, exit.Usagef("--agent is missing").Try("kernelctl agents list shows which there are")
	}
	req.AgentID = fl.agent
	if fl.input != "" {
		if req.Input, err = s.json("input", fl.input); err != nil {
			return req, err
		}
	}
	if req.Labels, err = parseLabels(fl.labels); err != nil {
		return req, err
	}
	req.DeadlineAt, req.TimeoutSeconds, err = parseDeadline(fl.deadline)
	return req, err
}

func parseLabels(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	l := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, exit.Usagef("--label %q: want KEY=VALUE", pair)
		}
		l[k] = v
	}
	return l, nil
}

// parseDeadline reads a duration, which the service counts by its own clock, or
// a timestamp.
func parseDeadline(text string) (at *wire.Time, seconds *int64, err error) {
	if text == "" {
		return nil, nil, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d < time.Second {
			return nil, nil, exit.Usagef("--deadline %s: at least one second", text)
		}
		n := int64((d + time.Second - 1) / time.Second)
		return nil, &n, nil
	}
	at = &wire.Time{}
	if err := at.UnmarshalText([]byte(text)); err != nil {
		return nil, nil, exit.Usagef("--deadline %q: want a duration such as 10m, or a timestamp such as 2026-11-20T18:00:00Z", text)
	}
	return at, nil, nil
}

func createError(err error, agent string) error {
	if client.CodeOf(err) != wire.CodeNotFound {
		return err
	}
	return &exit.Error{
		Code: exit.NotFound, What: "no agent " + agent, Why: explain(err).Why,
		Next: "kernelctl agents list", Slug: string(wire.CodeNotFound), Err: err,
	}
}
