package settings

import (
	"fmt"
	"strings"
)

// UnknownContext is a context that is not in the file.
type UnknownContext struct {
	Name, Path, Origin string
	Known              []string
}

// Error names the context and those that there are.
func (e *UnknownContext) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("context %s (%s): there are no contexts in %s", e.Name, e.Origin, e.Path)
	}
	return fmt.Sprintf("context %s (%s): %s has %s", e.Name, e.Origin, e.Path, strings.Join(e.Known, ", "))
}

// place finds out where to go and who one is there.
func (s *Settings) place(r reader, f *file) error {
	if err := s.chooseContext(r, f); err != nil {
		return err
	}
	s.chooseServer(r)
	s.chooseUser(r)
	s.chooseToken(r)
	return nil
}

func (s *Settings) chooseContext(r reader, f *file) error {
	name, origin := f.CurrentContext, s.Path+" (current_context)"
	switch {
	case r.byFlag("context"):
		name, origin, s.Explicit = r.flag("context"), "flag --context", true
	case r.byEnv("KERNELCTL_CONTEXT"):
		name, origin = r.envValue("KERNELCTL_CONTEXT"), "environment KERNELCTL_CONTEXT"
	}
	if name == "" {
		s.origins["context"] = "not set"
		return nil
	}
	s.origins["context"] = origin
	if s.Context = f.context(name); s.Context != nil {
		return nil
	}
	e := &UnknownContext{Name: name, Path: s.Path, Origin: origin}
	for _, c := range f.Contexts {
		e.Known = append(e.Known, c.Name)
	}
	return e
}

// chooseServer: a context that was named on the command line is stronger than
// the environment, because whoever typed it meant it.
func (s *Settings) chooseServer(r reader) {
	env := r.envValue("KERNELCTL_SERVER")
	switch {
	case r.byFlag("server"):
		s.Server, s.origins["server"] = r.flag("server"), "flag --server"
	case env != "" && !s.Explicit:
		s.Server, s.origins["server"] = env, "environment KERNELCTL_SERVER"
	case s.Context != nil:
		s.Server, s.origins["server"] = s.Context.Server, "context "+s.Context.Name
		if env != "" && env != s.Server {
			s.Notes = append(s.Notes, "KERNELCTL_SERVER is not used, because --context was given")
		}
	default:
		s.Server, s.origins["server"] = DefaultServer, "default"
	}
}

func (s *Settings) chooseUser(r reader) {
	switch {
	case r.byFlag("by"):
		s.User, s.origins["user"] = r.flag("by"), "flag --by"
	case r.byEnv("KERNELCTL_BY"):
		s.User, s.origins["user"] = r.envValue("KERNELCTL_BY"), "environment KERNELCTL_BY"
	case s.Context != nil && s.Context.User != "":
		s.User, s.origins["user"] = s.Context.User, "context "+s.Context.Name
	default:
		s.origins["user"] = "not set"
	}
}

// chooseToken: what a context holds goes to the context's own server, and the
// server's own token to this machine.
func (s *Settings) chooseToken(r reader) {
	type candidate struct {
		on   bool
		from tokenSource
	}
	env := !s.Explicit
	if s.Explicit && (r.byEnv("KERNELCTL_TOKEN") || r.byEnv("KERNELCTL_TOKEN_FILE")) {
		s.Notes = append(s.Notes, "KERNELCTL_TOKEN and KERNELCTL_TOKEN_FILE are not used, because --context was given")
	}
	for _, c := range []candidate{
		{r.byFlag("token"), tokenSource{value: r.flag("token"), from: "flag --token"}},
		{r.byFlag("token-file"), tokenSource{file: r.flag("token-file"), from: "flag --token-file"}},
		{env && r.byEnv("KERNELCTL_TOKEN"), tokenSource{value: r.envValue("KERNELCTL_TOKEN"), from: "environment KERNELCTL_TOKEN"}},
		{env && r.byEnv("KERNELCTL_TOKEN_FILE"), tokenSource{file: r.envValue("KERNELCTL_TOKEN_FILE"), from: "environment KERNELCTL_TOKEN_FILE"}},
	} {
		if c.on {
			s.token = c.from
			return
		}
	}
	if c := s.Context; c != nil && sameServer(c.Server, s.Server) {
		s.token = tokenSource{value: c.Token, file: c.TokenFile, command: c.TokenCommand, from: "context " + c.Name}
	}
	if s.token.empty() && loopback(s.Server) && r.byEnv("SERVICE_BEARER_TOKEN") {
		s.token = tokenSource{value: r.envValue("SERVICE_BEARER_TOKEN"), from: "environment SERVICE_BEARER_TOKEN (this machine only)"}
	}
}
