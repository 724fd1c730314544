package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/version"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newVersion(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version [--server[=URL]]",
		Short: "Show the version of this tool, and of the server",
		Long: `Shows the version of this tool. With --server it also asks the server for its
own, and for what it can do.`,
		Example: `  kernelctl version
  kernelctl version --server -o json`,
		Args: takes(0, 1, ""),
	}
	// The global flag of that name needs a value; here it may stand alone.
	cmd.Flags().StringP("server", "s", "", "also ask the server, the one in force or at this `URL`")
	cmd.Flags().Lookup("server").NoOptDefVal = serverInForce
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := versionServer(cmd, args)
		if err != nil {
			return err
		}
		return f.do(traits{lenient: !server}, func(ctx context.Context, s *session) error {
			return s.showVersion(ctx, server)
		})(cmd, args)
	}
	return cmd
}

// serverInForce is the value of a --server without a value.
const serverInForce = "in force"

// versionServer reports whether the server is to be asked, and makes the flag
// what the settings expect: a URL, or not given.
func versionServer(cmd *cobra.Command, args []string) (bool, error) {
	fl := cmd.Flags().Lookup("server")
	asked := fl.Changed
	switch {
	case len(args) == 1 && asked && fl.Value.String() == serverInForce: // --server URL, in two words
		return true, fl.Value.Set(args[0])
	case len(args) == 1:
		return false, exit.Usagef("%s: unexpected argument %q", cmd.CommandPath(), args[0]).Try("%s --help", cmd.CommandPath())
	case asked && fl.Value.String() == serverInForce:
		fl.Changed = false
		return true, fl.Value.Set("")
	}
	return asked, nil
}

// versions is what the command shows to a program.
type versions struct {
	Client version.Info  `json:"client"`
	Server *wire.Version `json:"server,omitempty"`
}

func (s *session) showVersion(ctx context.Context, server bool) error {
	v := versions{Client: s.f.version}
	if server {
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		sv, err := c.Version(ctx)
		if err != nil {
			return err
		}
		v.Server = &sv
	}
	p := s.printer()
	if !p.Format.ForPerson() {
		return p.Value(v)
	}
	if _, err := fmt.Fprintln(s.out, v.Client); err != nil || v.Server == nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "server    %s (%s) %s, %s: %s\n", v.Server.Version, v.Server.Commit, v.Server.Go, s.Server, strings.Join(v.Server.Features, " "))
	return err
}
