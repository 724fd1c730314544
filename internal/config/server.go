package config

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentkernel/kernelctl/internal/logging"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Server is the checked configuration of serve.
type Server struct {
	Listen      string      // host:port
	DB          string      // SQLite file; "" (only with Dev): a temporary one, removed at exit
	BearerToken wire.Secret // never empty without Dev; always empty with it
	Manifest    Manifest    // of --config; its Path is "" without one

	Dev            bool // no authentication
	DevAllowRemote bool // although reachable from elsewhere

	WebhookAllow []string // host patterns; empty: any host
	MaxBodyBytes int64    // of a request

	DispatchTimeout      time.Duration // of one delivery
	DispatchMaxAttempts  int           // claims of a dispatch without progress
	DispatchConcurrency  int           // deliveries at once
	DispatchLeaseTimeout time.Duration // of agents that set none; at least 10s

	ApprovalTimeout  time.Duration // of approvals whose rule sets none
	ExecutionTimeout time.Duration // deadline of executions that set none; 0: none
	Retention        time.Duration // of ended executions; 0: for ever

	LogLevel  slog.Level
	LogFormat logging.Format

	ShutdownGrace time.Duration
}

// Load is the configuration that flags ([Flags] registered them), environment,
// manifest and defaults come to. The error for one that is refused is an
// [*Invalid] with every problem, those of the manifest's agents included.
// stdin is read only for a bearer token file of the name "-".
func Load(fs *pflag.FlagSet, env func(string) (string, bool), stdin io.Reader) (Server, error) {
	return load(fs, env, stdin, runtime.GOOS)
}

func load(fs *pflag.FlagSet, env func(string) (string, bool), stdin io.Reader, goos string) (Server, error) {
	l, err := newLayers(fs, env)
	if err != nil {
		return Server{}, err
	}
	if path := l.text(keyConfig); path != "" {
		if err := l.readFile(path); err != nil {
			return Server{}, fmt.Errorf("settings of %s: %w", path, err)
		}
	}
	var s Server
	if s.Dev, err = fs.GetBool(keyDev); err != nil {
		return Server{}, err
	}
	if s.DevAllowRemote, err = fs.GetBool(keyDevAllowRemote); err != nil {
		return Server{}, err
	}
	if s.DevAllowRemote && !s.Dev {
		l.problem(keyDevAllowRemote, "has a meaning only together with --dev")
	}
	s.Listen = l.listen(s.Dev && !s.DevAllowRemote)
	s.DB = l.db(s.Dev, goos)
	if !s.Dev {
		s.BearerToken = l.token(stdin)
	}
	s.WebhookAllow = l.patterns(keyWebhookAllow)
	s.MaxBodyBytes = l.number(keyMaxBodyBytes, 1<<10, 1<<30)
	s.DispatchTimeout = l.duration(keyTimeout, positive)
	s.DispatchMaxAttempts = int(l.number(keyMaxAttempts, 1, 1000))
	s.DispatchConcurrency = int(l.number(keyConcurrency, 1, 10_000))
	s.DispatchLeaseTimeout = l.duration(keyLeaseTimeout, wire.MinLeaseTimeoutSeconds*time.Second)
	s.ApprovalTimeout = l.duration(keyApprovalTimeout, positive)
	s.ExecutionTimeout = l.duration(keyExecTimeout, 0)
	s.Retention = l.duration(keyRetention, 0)
	s.ShutdownGrace = l.duration(keyGrace, 0)
	s.LogLevel = parsed(l, keyLogLevel, logging.ParseLevel)
	s.LogFormat = parsed(l, keyLogFormat, logging.ParseFormat)
	if l.file != nil {
		s.Manifest = l.file.manifest
		l.addManifestProblems()
	}
	if err := l.problems.err(); err != nil {
		return Server{}, err
	}
	return s, nil
}

// addManifestProblems reports what is wrong with the manifest after what is
// wrong with the settings.
func (l *layers) addManifestProblems() {
	settings := l.problems
	l.problems = nil
	for _, p := range l.file.sorted() {
		if p.Source == "" { // of the file as a whole: where its name came from
			l.problem(keyConfig, "%s", p.Problem)
			continue
		}
		l.problems = append(l.problems, p)
	}
	l.problems = append(settings, l.problems...)
}
