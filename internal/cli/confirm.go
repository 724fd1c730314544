package cli

import (
	"context"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
)

// yesHelp describes -y, which every command that confirms has.
const yesHelp = "do not ask"

// confirm asks, unless --yes was given. Where nobody can be asked, --yes is
// needed.
func (s *session) confirm(ctx context.Context, question string) error {
	if flagBool(s.cmd, "yes") {
		return nil
	}
	if !s.io.CanPrompt() {
		return exit.Usagef("%s needs --yes here", s.cmd.CommandPath()).
			Because("it asks before it acts, and there is no terminal to ask on: %s", question).
			Try("rerun with --yes")
	}
	yes, err := s.io.Confirm(ctx, printer.Clean(question))
	if err != nil {
		return err
	}
	if !yes {
		return &exit.Error{Code: exit.Failed, What: "nothing was done", Why: "the answer was no"}
	}
	return nil
}
