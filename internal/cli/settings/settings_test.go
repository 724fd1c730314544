package settings_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/cli/settings"
)

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, name := range []string{"server", "context", "token", "token-file", "config", "output", "time", "color", "by"} {
		fs.String(name, "", "")
	}
	fs.Duration("timeout", 0, "")
	fs.Duration("request-timeout", 0, "")
	fs.Bool("utc", false, "")
	fs.Bool("no-input", false, "")
	fs.Bool("accessible", false, "")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

// write makes a configuration file in a directory of its own and makes it the
// one that is read.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KERNELCTL_CONFIG", path)
	for _, k := range settings.Keys() {
		t.Setenv(k.Env, "")
	}
	t.Setenv("SERVICE_BEARER_TOKEN", "")
	t.Setenv("ACCESSIBLE", "")
	return path
}

func load(t *testing.T, args ...string) *settings.Settings {
	t.Helper()
	s, err := settings.Load(flags(t, args...), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const twoContexts = `current_context: dev
contexts:
  - {name: dev, server: http://127.0.0.1:1, user: alice, token: tok-dev-0123456789}
  - {name: Prod.EU, server: https://k.corp, user: bob, token_file: ~/prod.token, read_only: true, color: red}
output: json
timeout: 5m
`

// Each source is stronger than the one below it.
func TestPrecedence(t *testing.T) {
	write(t, twoContexts)
	origin := func(s *settings.Settings, name string) string {
		for _, v := range s.Values() {
			if v.Name == name {
				return v.Value + " | " + v.Origin
			}
		}
		return ""
	}
	s := load(t)
	if got := origin(s, "server"); got != "http://127.0.0.1:1 | context dev" {
		t.Errorf("server: %s", got)
	}
	if got := origin(s, "output"); !strings.HasPrefix(got, "json | ") || !strings.HasSuffix(got, "config.yaml") {
		t.Errorf("output: %s", got)
	}
	if s.Timeout != 5*time.Minute || !s.TimeoutSet || s.RequestTimeout != 10*time.Second {
		t.Errorf("timeouts: %s %v %s", s.Timeout, s.TimeoutSet, s.RequestTimeout)
	}
	t.Setenv("KERNELCTL_OUTPUT", "yaml")
	t.Setenv("KERNELCTL_SERVER", "http://127.0.0.1:2")
	t.Setenv("KERNELCTL_REQUEST_TIMEOUT", "3s")
	s = load(t)
	if s.Output != "yaml" || s.Server != "http://127.0.0.1:2" || s.RequestTimeout != 3*time.Second {
		t.Errorf("environment: %s %s %s", s.Output, s.Server, s.RequestTimeout)
	}
	s = load(t, "--output", "wide", "--server", "http://127.0.0.1:3", "--request-timeout", "0s", "--by", "carol")
	if s.Output != "wide" || s.Server != "http://127.0.0.1:3" || s.RequestTimeout != 0 || s.User != "carol" {
		t.Errorf("flags: %s %s %s %s", s.Output, s.Server, s.RequestTimeout, s.User)
	}
	// A context that was typed is stronger than the environment.
	s = load(t, "--context", "Prod.EU")
	if s.Server != "https://k.corp" || s.User != "bob" || !s.Context.ReadOnly || len(s.Notes) == 0 {
		t.Errorf("typed context: %s %s %+v %v", s.Server, s.User, s.Context, s.Notes)
	}
}

// A token goes to the server that it belongs to, and nowhere else.
func TestTokens(t *testing.T) {
	write(t, twoContexts)
	token := func(args ...string) string {
		t.Helper()
		text, err := load(t, args...).Token(t.Context(), strings.NewReader("tok-stdin-012345\nmore\n"), &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(" tok-file-0123456 \nsecond line"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "tok-dev-0123456789"},
		{[]string{"--server", "127.0.0.1:1/v0/"}, "tok-dev-0123456789"}, // the same server, said otherwise
		{[]string{"--server", "http://127.0.0.1:9"}, ""},
		{[]string{"--server", "https://evil.example"}, ""},
		{[]string{"--token", "tok-flag-0123456"}, "tok-flag-0123456"},
		{[]string{"--token-file", file}, "tok-file-0123456"},
		{[]string{"--token-file", "-"}, "tok-stdin-012345"},
	} {
		if got := token(tt.args...); got != tt.want {
			t.Errorf("%v: token %q, want %q", tt.args, got, tt.want)
		}
	}
	t.Setenv("SERVICE_BEARER_TOKEN", "tok-server-012345")
	if got := token("--server", "http://127.0.0.1:9"); got != "tok-server-012345" {
		t.Errorf("on this machine: %q", got)
	}
	if got := token("--server", "https://k.example"); got != "" {
		t.Errorf("the server's own token goes to %q", got)
	}
	t.Setenv("KERNELCTL_TOKEN", "tok-env-01234567")
	if got := token("--server", "https://k.example"); got != "tok-env-01234567" {
		t.Errorf("environment: %q", got)
	}
	if got := token("--context", "dev"); got != "tok-dev-0123456789" {
		t.Errorf("typed context: %q", got)
	}
	for _, v := range load(t).Values() {
		if strings.Contains(v.Value, "tok-") {
			t.Errorf("%s shows %s", v.Name, v.Value)
		}
	}
}

func TestTokenProblems(t *testing.T) {
	write(t, "")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--token-file", "/no/such/file"}, {"--token-file", empty}, {"--token", "has a space"}, {"--token", "bad\ntoken"},
	} {
		if got, err := load(t, args...).Token(t.Context(), strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%v: token %q, want an error", args, got)
		} else if strings.Contains(err.Error(), "has a space") {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	tests := []struct{ name, text, problem string }{
		{"unknown key", "outptu: json\n", "line 1: unknown key outptu"},
		{"unknown key of a context", "contexts:\n  - {name: a, server: http://x, usr: b}\n", "unknown key usr"},
		{"not yaml", "a: [\n", "line"},
		{"no name", "contexts: [{server: http://x}]\n", "context 1 has no name"},
		{"no server", "contexts: [{name: a}]\n", "context a has no server"},
		{"twice", "contexts: [{name: a, server: http://x}, {name: a, server: http://y}]\n", "two contexts named a"},
		{"two tokens", "contexts: [{name: a, server: http://x, token: t, token_file: f}]\n", "only one of"},
		{"wrong choice", "color: sometimes\n", "color"},
		{"wrong duration", "timeout: soon\n", "timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write(t, tt.text)
			_, err := settings.Load(flags(t), os.LookupEnv)
			if invalid := (*settings.Invalid)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("Load = %v, want %q", err, tt.problem)
			}
		})
	}
	t.Run("unknown context", func(t *testing.T) {
		write(t, twoContexts)
		_, err := settings.Load(flags(t, "--context", "nowhere"), os.LookupEnv)
		if unknown := (*settings.UnknownContext)(nil); !errors.As(err, &unknown) || len(unknown.Known) != 2 {
			t.Errorf("Load = %v", err)
		}
	})
	t.Run("bad environment", func(t *testing.T) {
		write(t, "")
		t.Setenv("KERNELCTL_UTC", "maybe")
		_, err := settings.Load(flags(t), os.LookupEnv)
		if bad := (*settings.BadValue)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "KERNELCTL_UTC") {
			t.Errorf("Load = %v", err)
		}
	})
}

func TestSetKeepsComments(t *testing.T) {
	path := write(t, "# mine\ncurrent_context: dev # here\ncontexts:\n  # the laptop\n  - name: dev\n    server: http://127.0.0.1:1\n")
	for _, kv := range [][2]string{{"contexts.dev.user", "alice"}, {"current_context", "dev"}, {"contexts.a.b.server", "http://x"}, {"ui.mouse", "true"}} {
		if err := settings.Set(path, kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "# mine\ncurrent_context: dev # here\ncontexts:\n  # the laptop\n  - name: dev\n    server: http://127.0.0.1:1\n    user: alice\n  - name: a.b\n    server: http://x\nui:\n  mouse: true\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// What would make the file unusable is not written.
	before := string(got)
	for _, kv := range [][2]string{{"color", "sometimes"}, {"contexts.new.user", "x"}, {"nonsense", "1"}, {"contexts..server", "x"}} {
		if err := settings.Set(path, kv[0], kv[1]); err == nil {
			t.Errorf("Set %s = nil", kv[0])
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != before {
		t.Errorf("a refused setting changed the file to %s", after)
	}
}
