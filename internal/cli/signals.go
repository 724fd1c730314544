package cli

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newSignals(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "signals",
		Aliases: []string{"signal", "sig"},
		Short:   "Send signals to executions that wait for one",
		Long: `An agent can wait for a signal. Signals are kept in order for each type until
they are taken, also when nobody waits yet.`,
		Example: `  kernelctl signals send 9f3a71c2 payment.received --payload '{"amount":12}'`,
	}, newSignalsSend(f))
}

func newSignalsSend(f *factory) *cobra.Command {
	var value, key string
	cmd := &cobra.Command{
		Use:   "send ID TYPE",
		Short: "Send a signal to an execution",
		Long: `Sends a signal to an execution and prints the signal's id. The request carries an
idempotency key: one call sends one signal, also when an answer is lost on the way.`,
		Example: `  kernelctl signals send 9f3a71c2 go
  kernelctl signals send 9f3a71c2 payment.received --payload @payment.json`,
		Args: takes(2, 2, "the id of an execution and the type of the signal"),
	}
	cmd.Flags().StringVar(&value, "payload", "", "`JSON`, @FILE, or - for stdin (default null)")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "a repeat of this `key` is the same signal")
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error {
		return s.sendSignal(ctx, value, key)
	})
	return cmd
}

func (s *session) sendSignal(ctx context.Context, value, key string) error {
	sig := wire.Signal{SignalType: s.args[1]}
	if !wire.ValidName(sig.SignalType) {
		return exit.Usagef("signal type %q", sig.SignalType).Because("want 1 to %d characters of A-Z a-z 0-9 . _ -", wire.MaxNameBytes)
	}
	var err error
	if value != "" {
		if sig.Payload, err = s.json("payload", value); err != nil {
			return err
		}
	}
	id, err := s.executionID(ctx, s.args[0])
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if key == "" {
		key = rand.Text()
	}
	a, err := c.SendSignal(ctx, id, sig, key)
	if client.CodeOf(err) == wire.CodeExecutionTerminal {
		e := explain(err)
		e.What, e.Next = fmt.Sprintf("execution %s has ended and takes no signal", s.short(id)), "kernelctl ex get "+printer.ShortID(id)
		return e
	}
	if err != nil {
		return executionError(err, s.args[0])
	}
	p := s.printer()
	if !p.Format.ForPerson() {
		return p.Value(a)
	}
	_, err = fmt.Fprintln(s.out, a.SignalID)
	return err
}
