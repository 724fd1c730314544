package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
)

func newConfig(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:   "config",
		Short: "See and change contexts and settings",
		Long: `The configuration file holds contexts (servers, and who one is there) and
settings. A flag is stronger than the environment, that than the file, and that
than the default.`,
		Example: `  kernelctl config set contexts.prod.server https://k.corp:8443
  kernelctl config set contexts.prod.token_file ~/.config/kernelctl/prod.token
  kernelctl config use prod
  kernelctl config view --origin`,
	}, newConfigView(f), newConfigContexts(f), newConfigUse(f), newConfigSet(f), newConfigPath(f))
}

func newConfigView(f *factory) *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show the settings in force, and where they come from",
		Long: `Shows the settings in force. With --origin also where each comes from: a flag, the
environment, a context, the file, or the default. Tokens are not shown.`,
		Example: `  kernelctl config view --origin
  kernelctl config view -c prod -o json`,
		Args: takes(0, 0, ""),
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "show where each value comes from")
	cmd.RunE = f.do(traits{}, func(_ context.Context, s *session) error {
		p := s.printer()
		v := printer.View[settings.Value]{
			Name: func(v settings.Value) string { return "setting/" + v.Name },
			ID:   func(v settings.Value) string { return v.Name },
			Columns: []printer.Column[settings.Value]{
				{Name: "SETTING", Cell: func(v settings.Value) printer.Cell { return printer.Text(v.Name) }},
				{Name: "VALUE", Flex: true, Cell: func(v settings.Value) printer.Cell { return printer.Dash(v.Value) }},
			},
		}
		if origin {
			v.Columns = append(v.Columns, printer.Column[settings.Value]{
				Name: "ORIGIN", Flex: true, Cell: func(v settings.Value) printer.Cell { return printer.Text(v.Origin) },
			})
		}
		list := printer.NewList(p, v)
		for _, value := range s.Values() {
			if err := list.Add(value); err != nil {
				return err
			}
		}
		return list.Close("")
	})
	return cmd
}

// contextRow is a context and whether it is in force.
type contextRow struct {
	Current bool `json:"current"`
	settings.Context
}

func newConfigContexts(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "contexts",
		Aliases: []string{"list", "ls"},
		Short:   "List the contexts",
		Long:    `Lists the contexts of the configuration file and marks the one in force.`,
		Example: `  kernelctl config contexts`,
		Args:    takes(0, 0, ""),
	}
	cmd.RunE = f.do(traits{}, func(_ context.Context, s *session) error {
		p := s.printer()
		list := printer.NewList(p, contextView())
		for _, c := range s.Contexts {
			if err := list.Add(contextRow{s.Context != nil && s.Context.Name == c.Name, c}); err != nil {
				return err
			}
		}
		if len(s.Contexts) == 0 && p.Format.ForPerson() {
			s.io.Notef("no contexts; make one: kernelctl config set contexts.NAME.server URL")
		}
		return list.Close("")
	})
	return cmd
}

func contextView() printer.View[contextRow] {
	text := func(get func(contextRow) string) func(contextRow) printer.Cell {
		return func(c contextRow) printer.Cell { return printer.Dash(get(c)) }
	}
	return printer.View[contextRow]{
		Name: func(c contextRow) string { return "context/" + c.Name },
		ID:   func(c contextRow) string { return c.Name },
		Columns: []printer.Column[contextRow]{
			{Name: "CURRENT", Cell: func(c contextRow) printer.Cell {
				if c.Current {
					return printer.Text("*")
				}
				return printer.Text("")
			}},
			{Name: "NAME", Cell: text(func(c contextRow) string { return c.Name })},
			{Name: "SERVER", Flex: true, Cell: text(func(c contextRow) string { return c.Server })},
			{Name: "USER", Cell: text(func(c contextRow) string { return c.User })},
			{Name: "TOKEN", Flex: true, Cell: text(contextToken)},
			{Name: "READ-ONLY", Cell: text(func(c contextRow) string {
				if c.ReadOnly {
					return "yes"
				}
				return ""
			})},
		},
	}
}

// contextToken says where the token comes from, and not what it is.
func contextToken(c contextRow) string {
	switch {
	case c.Token != "":
		return "in the file"
	case c.TokenFile != "":
		return "file " + c.TokenFile
	case c.TokenCommand != "":
		return "command " + c.TokenCommand
	}
	return ""
}

func newConfigUse(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "use NAME",
		Short:   "Make a context the one in force",
		Long:    `Makes a context of the configuration file the one that is used unless --context or KERNELCTL_CONTEXT says otherwise.`,
		Example: `  kernelctl config use prod`,
		Args:    takes(1, 1, "the name of a context"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		unknown := (*settings.UnknownContext)(nil)
		if s.settingsErr != nil && !errors.As(s.settingsErr, &unknown) { // that is what one comes here to mend
			return s.settingsErr
		}
		names := make([]string, 0, len(s.Contexts))
		for _, c := range s.Contexts {
			names = append(names, c.Name)
		}
		path := s.Path
		if unknown != nil {
			names, path = unknown.Known, unknown.Path
		}
		name := s.args[0]
		if !slices.Contains(names, name) {
			e := &exit.Error{Code: exit.NotFound, What: "no context " + name, Why: path + " has " + orNone(names), Next: "kernelctl config contexts"}
			if near := nearest(name, names); near != "" {
				e.Next = "kernelctl config use " + near
			}
			return e
		}
		if err := settings.Set(path, "current_context", name); err != nil {
			return err
		}
		s.io.Notef("context %s is in force", name)
		return nil
	})
	return cmd
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "no contexts"
	}
	return strings.Join(names, ", ")
}

func newConfigSet(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Write one setting into the configuration file",
		Long: `Writes one setting into the configuration file, which is made when it is not
there. Comments stay. Keys:

  ` + strings.Join(settings.KnownKeys(), "\n  ") + `

A context that is not there is added, and it needs its server first. Prefer
token_file or token_command to token.`,
		Example: `  kernelctl config set contexts.prod.server https://k.corp:8443
  kernelctl config set require_rationale always`,
		Args: takes(2, 2, "a key and a value"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		path, err := s.configPath()
		if err != nil {
			return err
		}
		err = settings.Set(path, s.args[0], s.args[1])
		unknown := (*settings.UnknownKey)(nil)
		if errors.As(err, &unknown) {
			e := exit.Usagef("there is no setting %s", unknown.Key).Try("kernelctl config set --help")
			if near := nearest(unknown.Key, unknown.Known); near != "" {
				e = e.Because("did you mean %s?", near)
			}
			return e
		}
		if err == nil {
			s.io.Notef("written to %s", path)
		}
		return err
	})
	return cmd
}

// configPath is the file to write, which need not be there.
func (s *session) configPath() (string, error) {
	if f := s.cmd.Flags().Lookup("config"); f != nil && f.Changed {
		return f.Value.String(), nil
	}
	if path, _ := s.f.env("KERNELCTL_CONFIG"); path != "" {
		return path, nil
	}
	return settings.DefaultPath(s.f.env)
}

func newConfigPath(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "path",
		Short:   "Print the path of the configuration file",
		Long:    `Prints the path of the configuration file that is read, whether it is there or not.`,
		Example: `  $EDITOR "$(kernelctl config path)"`,
		Args:    takes(0, 0, ""),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		path, err := s.configPath()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, path)
		return err
	})
	return cmd
}
