package config_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/logging"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const token = "0123456789abcdef"

type env map[string]string

func (e env) lookup(name string) (string, bool) { v, ok := e[name]; return v, ok }

// load is what a command line comes to on Linux.
func load(t *testing.T, e env, stdin string, args ...string) (config.Server, error) {
	t.Helper()
	return loadOn(t, "linux", e, stdin, args...)
}

func loadOn(t *testing.T, goos string, e env, stdin string, args ...string) (config.Server, error) {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.Flags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config.LoadOn(fs, e.lookup, strings.NewReader(stdin), goos)
}

// write is the path of a new file.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reported are the problems of an error, as they are shown.
func reported(t *testing.T, err error) []string {
	t.Helper()
	var invalid *config.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v, want an *Invalid", err)
	}
	var lines []string
	for _, p := range invalid.Problems {
		lines = append(lines, p.String())
	}
	return lines
}

func defaults() config.Server {
	return config.Server{
		Listen: "127.0.0.1:8080", DB: "/data/kernelctl/kernel.db", BearerToken: token, MaxBodyBytes: wire.DefaultMaxBodyBytes,
		DispatchTimeout: 30 * time.Second, DispatchMaxAttempts: engine.DefaultMaxAttempts, DispatchConcurrency: 64,
		DispatchLeaseTimeout: engine.DefaultLeaseTimeout, ApprovalTimeout: engine.DefaultApprovalTimeout,
		LogLevel: slog.LevelInfo, LogFormat: logging.Text, ShutdownGrace: 20 * time.Second,
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := load(t, env{"XDG_DATA_HOME": "/data", "SERVICE_BEARER_TOKEN": token}, "")
	if diff := cmp.Diff(defaults(), got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

func TestEverySetting(t *testing.T) {
	t.Parallel()
	want := config.Server{
		Listen: "0.0.0.0:9", DB: "/k.db", BearerToken: "fedcba9876543210", WebhookAllow: []string{"a.example", "*.b"}, MaxBodyBytes: 2048,
		DispatchTimeout: time.Second, DispatchMaxAttempts: 2, DispatchConcurrency: 3, DispatchLeaseTimeout: 10 * time.Second,
		ApprovalTimeout: time.Minute, ExecutionTimeout: time.Hour, Retention: 720 * time.Hour,
		LogLevel: slog.LevelDebug, LogFormat: logging.JSON, ShutdownGrace: 0,
	}
	values := map[string]string{
		"listen": "0.0.0.0:9", "db": "/k.db", "bearer-token": "fedcba9876543210", "webhook-allow": "a.example,*.b", "max-body-bytes": "2048",
		"dispatch-timeout": "1s", "dispatch-max-attempts": "2", "dispatch-concurrency": "3", "dispatch-lease-timeout": "10s",
		"approval-timeout": "1m", "execution-timeout": "1h", "retention": "720h", "log-level": "debug", "log-format": "json", "shutdown-grace": "0",
	}
	snake := func(s string) string { return strings.ReplaceAll(s, "-", "_") }
	var args []string
	vars := env{}
	kebabFile, snakeFile := "server:\n", "server:\n"
	for name, v := range values {
		args = append(args, "--"+name+"="+v)
		vars["SERVICE_"+strings.ToUpper(snake(name))] = v
		kebabFile += "  " + name + ": '" + v + "'\n"
		snakeFile += "  " + snake(name) + ": '" + v + "'\n"
	}
	for from, run := range map[string]func() (config.Server, error){
		"flags":       func() (config.Server, error) { return load(t, env{}, "", args...) },
		"environment": func() (config.Server, error) { return load(t, vars, "") },
		"kebab file": func() (config.Server, error) {
			return load(t, env{"SERVICE_CONFIG": write(t, "m.yaml", kebabFile)}, "")
		},
		"snake file": func() (config.Server, error) {
			return load(t, env{}, "", "--config", write(t, "m.yaml", snakeFile))
		},
	} {
		got, err := run()
		got.Manifest = config.Manifest{}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got)\n%s", from, err, diff)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := write(t, "m.yaml", "server:\n  log_level: error\n  log_format: json\n  retention: 1h\n  bearer_token: ffffffffffffffff\n")
	vars := env{"SERVICE_LOG_LEVEL": "warn", "SERVICE_LOG_FORMAT": "", "SERVICE_RETENTION": "2h", "SERVICE_BEARER_TOKEN": "eeeeeeeeeeeeeeee", "HOME": "/h"}
	got, err := load(t, vars, "", "--config", file, "--retention", "3h")
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Level     slog.Level
		Format    logging.Format
		Retention time.Duration
		Token     wire.Secret
		Attempts  int
	}
	want := seen{slog.LevelWarn, logging.JSON, 3 * time.Hour, "eeeeeeeeeeeeeeee", 5}
	if diff := cmp.Diff(want, seen{got.LogLevel, got.LogFormat, got.Retention, got.BearerToken, got.DispatchMaxAttempts}); diff != "" {
		t.Errorf("environment, file (an empty variable is none), flag, environment, default (-want +got)\n%s", diff)
	}
}

func TestEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	file := write(t, "m.yaml", "server:\n  approval_timeout: never\n  lisen: :80\nagents:\n  - id: a b\n    webhook_url: ftp://x\n")
	vars := env{"SERVICE_DISPATCH_LEASE_TIMEOUT": "9s", "SERVICE_BEARER_TOKEN": "hunter2", "HOME": "/h"}
	_, err := load(t, vars, "", "--config", file, "--listen", "8080", "--dispatch-max-attempts=0", "--log-format=xml",
		"--webhook-allow=https://x", "--db", "postgres://u:hunter2@db/x", "--retention=-1h", "--dispatch-timeout=0", "--dev-allow-remote")
	want := []string{
		`dev-allow-remote (from --dev-allow-remote): has a meaning only together with --dev`,
		`listen (from --listen): "8080" is not an address: write host:port, such as 127.0.0.1:8080, or :8080 for every interface`,
		`db (from --db): is a postgres URL, and this build has SQLite only: give a file path`,
		`bearer-token (from SERVICE_BEARER_TOKEN): the token is too short: at least 16 characters are needed, such as those of openssl rand -hex 32`,
		`webhook-allow (from --webhook-allow): "https://x" is not a host pattern: write a host name or an IP address without scheme, port and path; * stands for any characters, ? for one`,
		`dispatch-timeout (from --dispatch-timeout): must be longer than zero, not "0"`,
		`dispatch-max-attempts (from --dispatch-max-attempts): must be a whole number from 1 to 1000, not "0"`,
		`dispatch-lease-timeout (from SERVICE_DISPATCH_LEASE_TIMEOUT): must be at least 10s, not "9s"`,
		file + `:2:21: server.approval_timeout: "never" is not a duration: write a number and a unit, such as 30s, 5m or 720h`,
		`retention (from --retention): must not be negative, not "-1h"`,
		`log-format (from --log-format): unknown log format "xml": use text or json`,
		file + `:3:3: server.lisen: unknown key, did you mean listen?`,
		file + `:5:5: agents[0].secret: is missing: every agent needs one`,
		file + `:5:9: agents[0].id: must be 1 to 128 characters of A-Z a-z 0-9 . _ -`,
		file + `:6:18: agents[0].webhook_url: must be an absolute http or https URL, such as https://agent.example/webhook`,
	}
	if diff := cmp.Diff(want, reported(t, err)); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret is shown: %s", err)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	file := write(t, "token", "  "+token+"\r\n")
	short := write(t, "short", "hunter2\n")
	tests := map[string]struct {
		env   env
		stdin string
		args  []string
		want  wire.Secret
		wrong string
	}{
		"flag":                       {args: []string{"--bearer-token", token}, want: token},
		"file":                       {args: []string{"--bearer-token-file", file}, want: token},
		"file, by the environment":   {env: env{"SERVICE_BEARER_TOKEN_FILE": file}, want: token},
		"standard input":             {stdin: token + "\n", args: []string{"--bearer-token-file=-"}, want: token},
		"file flag over environment": {env: env{"SERVICE_BEARER_TOKEN": "hunter2"}, args: []string{"--bearer-token-file", file}, want: token},
		"flag over file variable":    {env: env{"SERVICE_BEARER_TOKEN_FILE": short}, args: []string{"--bearer-token", token}, want: token},
		"none":                       {wrong: "bearer-token: is missing"},
		"empty":                      {args: []string{"--bearer-token="}, wrong: "from --bearer-token): the token is too short"},
		"short file":                 {args: []string{"--bearer-token-file", short}, wrong: "from --bearer-token-file): the token is too short"},
		"two lines":                  {stdin: token + "\n" + token, args: []string{"--bearer-token-file=-"}, wrong: "space or another character"},
		"not ASCII":                  {args: []string{"--bearer-token", "0123456789abcdéf"}, wrong: "space or another character"},
		"both":                       {args: []string{"--bearer-token", token, "--bearer-token-file", file}, wrong: "given twice"},
		"no such file":               {args: []string{"--bearer-token-file", file + "x"}, wrong: "no such file"},
		"no name":                    {args: []string{"--bearer-token-file="}, wrong: "name is empty"},
		"too large":                  {stdin: strings.Repeat("x", 1<<17), args: []string{"--bearer-token-file=-"}, wrong: "more than 65536 bytes"},
		"not needed in development":  {env: env{"SERVICE_BEARER_TOKEN": "hunter2"}, args: []string{"--dev", "--bearer-token-file", "nowhere"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.env == nil {
				tt.env = env{}
			}
			tt.env["HOME"] = "/h"
			got, err := load(t, tt.env, tt.stdin, tt.args...)
			if tt.wrong == "" {
				if err != nil || got.BearerToken != tt.want {
					t.Errorf("token %q, error %v, want %q", string(got.BearerToken), err, string(tt.want))
				}
				return
			}
			lines := reported(t, err)
			if len(lines) != 1 || !strings.Contains(lines[0], tt.wrong) || strings.Contains(lines[0], "hunter2") || strings.Contains(lines[0], token) {
				t.Errorf("problems %q, want one with %q", lines, tt.wrong)
			}
		})
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	dev, remote := []string{"--dev"}, []string{"--dev", "--dev-allow-remote"}
	tests := map[string]struct {
		args    []string
		address string
		wrong   string
	}{
		"default":                 {args: dev},
		"IPv4":                    {dev, "127.0.0.9:0", ""},
		"IPv6":                    {dev, "[::1]:8080", ""},
		"name":                    {dev, "localhost:8080", ""},
		"every interface":         {dev, ":8080", "add --dev-allow-remote"},
		"every interface, really": {remote, ":8080", ""},
		"elsewhere":               {dev, "10.0.0.1:8080", "add --dev-allow-remote"},
		"another name":            {dev, "localhost.example:8080", "add --dev-allow-remote"},
		"server":                  {[]string{"--bearer-token", token}, "0.0.0.0:8080", ""},
		"no port":                 {dev, "127.0.0.1", "not an address"},
		"large port":              {dev, "127.0.0.1:65536", "not an address"},
		"named port":              {dev, "127.0.0.1:http", "not an address"},
		"URL":                     {dev, "http://127.0.0.1:80", "not an address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			want := "127.0.0.1:8080"
			if tt.address != "" {
				args = append([]string{"--listen", tt.address}, args...)
				want = tt.address
			}
			got, err := load(t, env{"HOME": "/h"}, "", args...)
			switch {
			case tt.wrong != "":
				if lines := reported(t, err); len(lines) != 1 || !strings.Contains(lines[0], tt.wrong) {
					t.Errorf("problems %q, want one with %q", lines, tt.wrong)
				}
			case err != nil || got.Listen != want:
				t.Errorf("listens on %q, error %v, want %q", got.Listen, err, want)
			}
		})
	}
}

func TestDB(t *testing.T) {
	t.Parallel()
	file := write(t, "m.yaml", "server: {db: data/k.db}\n")
	tests := map[string]struct {
		goos  string
		env   env
		args  []string
		want  string
		wrong string
	}{
		"data home":             {"linux", env{"XDG_DATA_HOME": "/d", "HOME": "/h"}, nil, "/d/kernelctl/kernel.db", ""},
		"home":                  {"linux", env{"HOME": "/h"}, nil, "/h/.local/share/kernelctl/kernel.db", ""},
		"relative data home":    {"linux", env{"XDG_DATA_HOME": "d", "HOME": "/h"}, nil, "/h/.local/share/kernelctl/kernel.db", ""},
		"macOS":                 {"darwin", env{"HOME": "/h"}, nil, "/h/.local/share/kernelctl/kernel.db", ""},
		"Windows":               {"windows", env{"LocalAppData": "/l", "HOME": "/h"}, nil, "/l/kernelctl/kernel.db", ""},
		"no home":               {"linux", env{}, nil, "", "no home folder"},
		"flag":                  {"linux", env{"SERVICE_DB": "y.db"}, []string{"--db", "x.db"}, "x.db", ""},
		"tilde":                 {"linux", env{"SERVICE_DB": "~/y.db", "HOME": "/h"}, nil, "/h/y.db", ""},
		"manifest":              {"linux", env{}, []string{"--config", file}, filepath.Join(filepath.Dir(file), "data/k.db"), ""},
		"development":           {"linux", env{"HOME": "/h"}, []string{"--dev"}, "", ""},
		"development, database": {"linux", env{"HOME": "/h"}, []string{"--dev", "--db", "x.db"}, "x.db", ""},
		"postgres":              {"linux", env{}, []string{"--db", "postgresql://db/x"}, "", "SQLite only"},
		"URL":                   {"linux", env{}, []string{"--db", "file:x.db"}, "", "not a URL"},
		"memory":                {"linux", env{}, []string{"--db", ":memory:"}, "", "no database in memory"},
		"folder":                {"linux", env{}, []string{"--db", "x/"}, "", "must be a file path"},
		"empty":                 {"linux", env{}, []string{"--db="}, "", "must be a file path"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.env["SERVICE_BEARER_TOKEN"] = token
			got, err := loadOn(t, tt.goos, tt.env, "", tt.args...)
			switch {
			case tt.wrong != "":
				if lines := reported(t, err); len(lines) != 1 || !strings.Contains(lines[0], tt.wrong) {
					t.Errorf("problems %q, want one with %q", lines, tt.wrong)
				}
			case err != nil || filepath.ToSlash(got.DB) != filepath.ToSlash(tt.want):
				t.Errorf("database %q, error %v, want %q", got.DB, err, tt.want)
			}
		})
	}
}

func TestWebhookAllow(t *testing.T) {
	t.Parallel()
	got, err := load(t, env{"SERVICE_WEBHOOK_ALLOW": "x"}, "", "--dev", "--webhook-allow", "a.example", "--webhook-allow=*.b, ::1")
	if diff := cmp.Diff([]string{"a.example", "*.b", "::1"}, got.WebhookAllow); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	file := write(t, "m.yaml", "server:\n  webhook_allow:\n    - ${HOST}\n    - '*'\n")
	got, err = load(t, env{"HOST": "h"}, "", "--dev", "--config", file)
	if diff := cmp.Diff([]string{"h", "*"}, got.WebhookAllow); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	for _, bad := range []string{"", "a:80", "http://a", "a/b", "[a", "a b", "a,,b"} {
		if _, err := load(t, env{}, "", "--dev", "--webhook-allow="+bad); err == nil {
			t.Errorf("pattern %q was taken", bad)
		}
	}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"settings of the command line": {"server: {dev: true, config: x}\n", []string{
			"unknown key; known are", "unknown key; known are",
		}},
		"twice":     {"server: {log_level: info, log-level: debug}\n", []string{"server.log_level: duplicate key, first used on line 1"}},
		"unset":     {"server: {bearer_token: '${NONE}'}\n", []string{"server.bearer_token: environment variable NONE is not set"}},
		"no value":  {"server: {bearer_token: }\n", []string{"server.bearer_token: needs a value"}},
		"raw value": {"server: {listen: '${HOME}'}\n", []string{`server.listen: "${HOME}" is not an address`}},
		"list":      {"server: {listen: [a]}\n", []string{"server.listen: must be a text, not a list"}},
		"no list":   {"server: {webhook_allow: []}\n", []string{"server.webhook_allow: must not be empty"}},
		"section":   {"server: 1\n", []string{"server: must be a mapping of keys to values, not a text"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--config", write(t, "m.yaml", tt.text)}
			if !strings.Contains(tt.text, "bearer") {
				args = append(args, "--dev")
			}
			_, err := load(t, env{"HOME": "/h"}, "", args...)
			lines := reported(t, err)
			if len(lines) != len(tt.want) {
				t.Fatalf("problems %q, want %q", lines, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("problem %q, want %q", lines[i], want)
				}
			}
		})
	}
	_, err := load(t, env{}, "", "--dev", "--config", "nowhere.yaml")
	want := []string{`config (from --config): cannot read "nowhere.yaml": no such file or directory`}
	if diff := cmp.Diff(want, reported(t, err)); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
}

func TestHelpSaysEverything(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.Flags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s has no help", f.Name)
		}
		variable := "[$SERVICE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "]"
		if strings.HasPrefix(f.Name, "dev") == strings.Contains(f.Usage, variable) {
			t.Errorf("--%s: help is %q; the variable %s exists for all but --dev", f.Name, f.Usage, variable)
		}
	})
	if usage := fs.FlagUsages(); !strings.Contains(usage, "--dispatch-timeout duration") || !strings.Contains(usage, "(default 30s)") {
		t.Errorf("help does not show types and defaults:\n%s", usage)
	}
}
