package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/version"
)

// Host is what a command of another package may use of this one. Its errors
// are printed and turned into exit codes like any other; an [exit.Error] says
// more than a plain one.
type Host struct{ f *factory }

// Streams are the terminal. Their flags (--no-color, --quiet) are in force once
// Session was called.
func (h *Host) Streams() *iostreams.Streams { return h.f.io }

// Version is this build.
func (h *Host) Version() version.Info { return h.f.version }

// Session reads the settings that are in force for a command, for one that
// talks to a server.
func (h *Host) Session(cmd *cobra.Command) (*Session, error) {
	s, err := h.f.session(cmd, nil, traits{long: true})
	if err != nil {
		return nil, err
	}
	s.out = s.io.Out
	return &Session{s: s}, nil
}

// Session is one run of a command of another package.
type Session struct{ s *session }

// Settings are those in force.
func (s *Session) Settings() *settings.Settings { return s.s.Settings }

// Client is the client of the server in force.
func (s *Session) Client(ctx context.Context) (*client.Client, error) { return s.s.connect(ctx) }

// Print writes v in the format that was asked for, unless that is one for
// people, which is the command's own business.
func (s *Session) Print(v any) (done bool, err error) {
	p := s.s.printer()
	if p.Format.ForPerson() {
		return false, nil
	}
	return true, p.Value(v)
}

// PrintDiagnoses writes what a command checked: a line each for a person, and
// tab-separated values for a pipe.
func (s *Session) PrintDiagnoses(found []Diagnosis) error {
	return printDiagnoses(s.s.printer(), found)
}

// Printer writes tables and cards as the settings and the terminal say.
func (s *Session) Printer() *printer.Printer { return s.s.printer() }
