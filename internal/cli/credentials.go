package cli

import (
	"context"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// Credentials are the address of the server in force and its bearer token, for
// a command that speaks to it in its own way.
func (s *Session) Credentials(ctx context.Context) (server, token string, err error) {
	if token, err = s.s.Token(ctx, s.s.io.In, s.s.io.Err); err != nil {
		return "", "", exit.Usagef("%v", err).Try("kernelctl config view --origin")
	}
	return s.s.Server, token, nil
}
