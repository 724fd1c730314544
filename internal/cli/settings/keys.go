package settings

import "slices"

// Key is a setting: where it can be set, and what it is when it is not.
type Key struct {
	Name    string // in the file; empty: not there
	Flag    string // empty: none
	Env     string // empty: none
	Default string
	Help    string
}

// Keys lists the settings that are one value each, in the order in which
// config view shows them. Server, user and token come from the context, too.
func Keys() []Key {
	return []Key{
		{"", "context", "KERNELCTL_CONTEXT", "", "the context to use; in the file current_context"},
		{"", "server", "KERNELCTL_SERVER", DefaultServer, "address of the service"},
		{"", "by", "KERNELCTL_BY", "", "who decides approvals; in the file user of a context"},
		{"", "token", "KERNELCTL_TOKEN", "", "bearer token"},
		{"", "token-file", "KERNELCTL_TOKEN_FILE", "", "file whose first line is the bearer token"},
		{"output", "output", "KERNELCTL_OUTPUT", "", "output format"},
		{"time", "time", "KERNELCTL_TIME", "", "timestamps in tables: relative, iso or unix"},
		{"utc", "utc", "KERNELCTL_UTC", "false", "ISO timestamps in UTC"},
		{"color", "color", "KERNELCTL_COLOR", "auto", "auto, always or never"},
		{"timeout", "timeout", "KERNELCTL_TIMEOUT", "", "of a whole command"},
		{"request_timeout", "request-timeout", "KERNELCTL_REQUEST_TIMEOUT", "10s", "of one request"},
		{"require_rationale", "", "KERNELCTL_REQUIRE_RATIONALE", "deny", "which decisions need a reason: deny, always or never"},
		{"pager", "", "KERNELCTL_PAGER", "", "command for output taller than the screen; none by default"},
		{"default_command", "", "KERNELCTL_DEFAULT_COMMAND", "help", "what a bare kernelctl does: help or ui"},
		{"no_input", "no-input", "KERNELCTL_NO_INPUT", "false", "never ask"},
		{"accessible", "accessible", "KERNELCTL_ACCESSIBLE", "false", "no redrawing, numbered questions"},
	}
}

// Environment lists the other variables that are read, for help.
func Environment() []Key {
	return []Key{
		{Env: "KERNELCTL_CONFIG", Help: "path of the configuration file"},
		{Env: "KERNELCTL_COMPLETE_WITHIN", Help: "how long the completion of a shell may ask the server; default 300ms"},
		{Env: "KERNELCTL_FORCE_TTY", Help: "number of columns: behave as on a terminal (for tests)"},
		{Env: "SERVICE_BEARER_TOKEN", Help: "the server's own token; used for a server on this machine only"},
		{Env: "NO_COLOR", Help: "no colour when not empty"},
		{Env: "CLICOLOR_FORCE", Help: "colour also when stdout is not a terminal"},
		{Env: "ACCESSIBLE", Help: "as KERNELCTL_ACCESSIBLE"},
		{Env: "CI", Help: "never ask, no spinner"},
		{Env: "TERM", Help: "dumb: no colour, no spinner"},
		{Env: "XDG_CONFIG_HOME, XDG_CACHE_HOME", Help: "where the configuration file and the cache of the completion are"},
	}
}

// DefaultServer is where kernelctl serve listens.
const DefaultServer = "http://127.0.0.1:8080"

// scalarKeys are the keys of the file that are one value.
func scalarKeys() []string {
	var names []string
	for _, k := range Keys() {
		if k.Name != "" {
			names = append(names, k.Name)
		}
	}
	return append(names, "current_context")
}

// contextKeys are the keys of a context.
func contextKeys() []string {
	return []string{"server", "user", "token", "token_file", "token_command", "read_only", "color"}
}

// Choices are the values of a key that has a few; nil for one that takes any.
func Choices(name string) []string {
	switch name {
	case "time":
		return []string{"relative", "iso", "unix"}
	case "color":
		return []string{"auto", "always", "never"}
	case "require_rationale":
		return []string{"deny", "always", "never"}
	case "default_command":
		return []string{"help", "ui"}
	}
	return nil
}

func validChoice(name, value string) bool {
	choices := Choices(name)
	return choices == nil || value == "" || slices.Contains(choices, value)
}
