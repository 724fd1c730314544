package config

import (
	"strings"

	"github.com/spf13/pflag"
)

// The settings, by the names of their flags.
const (
	keyListen          = "listen"
	keyDB              = "db"
	keyToken           = "bearer-token"
	keyTokenFile       = "bearer-token-file"
	keyConfig          = "config"
	keyDev             = "dev"
	keyDevAllowRemote  = "dev-allow-remote"
	keyWebhookAllow    = "webhook-allow"
	keyMaxBodyBytes    = "max-body-bytes"
	keyTimeout         = "dispatch-timeout"
	keyMaxAttempts     = "dispatch-max-attempts"
	keyConcurrency     = "dispatch-concurrency"
	keyLeaseTimeout    = "dispatch-lease-timeout"
	keyApprovalTimeout = "approval-timeout"
	keyExecTimeout     = "execution-timeout"
	keyRetention       = "retention"
	keyLogLevel        = "log-level"
	keyLogFormat       = "log-format"
	keyGrace           = "shutdown-grace"
)

// setting is one that a flag, the environment or the manifest can give.
type setting struct {
	name     string // of the flag
	kind     string // of the value, as help shows it
	fallback string
	help     string
}

// env is the name of the environment variable.
func (s setting) env() string {
	return "SERVICE_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

var settings = []setting{
	{keyListen, "address", "127.0.0.1:8080", "address to listen on, host:port"},
	{keyDB, "file", "", "SQLite database file (default kernel.db in $XDG_DATA_HOME/kernelctl; with --dev a temporary file)"},
	{keyToken, "token", "", "token of clients and admins, at least 16 characters; visible in ps, so prefer the environment or a file"},
	{keyTokenFile, "file", "", "file that holds the bearer token, - for standard input"},
	{keyConfig, "file", "", "manifest (YAML): agents to register, and settings under the key server"},
	{keyWebhookAllow, "pattern", "", "host that webhooks may go to, with * and ?; repeatable (default any)"},
	{keyMaxBodyBytes, "bytes", "4194304", "largest body of a request"},
	{keyTimeout, "duration", "30s", "time an agent has to answer a webhook"},
	{keyMaxAttempts, "count", "5", "attempts of a dispatch without progress before its execution fails"},
	{keyConcurrency, "count", "64", "webhooks under way at once"},
	{keyLeaseTimeout, "duration", "2m", "silence after which a run is taken from its agent, at least 10s; for agents that set none"},
	{keyApprovalTimeout, "duration", "15m", "time to decide an approval whose rule sets none"},
	{keyExecTimeout, "duration", "0", "deadline of executions that set none; 0 for none"},
	{keyRetention, "duration", "0", "age at which ended executions are deleted; 0 to keep them for ever"},
	{keyLogLevel, "level", "info", "lowest level to log: debug, info, warn or error"},
	{keyLogFormat, "format", "text", "format of the log: text or json"},
	{keyGrace, "duration", "20s", "time that requests and deliveries have to finish when the service stops"},
}

// fileKeys are the settings that may stand in the manifest.
func fileKeys() []string {
	var keys []string
	for _, s := range settings {
		if s.name != keyConfig {
			keys = append(keys, strings.ReplaceAll(s.name, "-", "_"))
		}
	}
	return keys
}

// Flags registers the flags of serve. They take any text: [Load] checks them
// together with what the environment and the manifest say.
func Flags(fs *pflag.FlagSet) {
	for _, s := range settings {
		fs.Var(&flagValue{text: s.fallback, kind: s.kind, list: s.name == keyWebhookAllow}, s.name, s.help+" [$"+s.env()+"]")
	}
	fs.Bool(keyDev, false, "development: no authentication, this machine only, and a temporary database unless --db is given")
	fs.Bool(keyDevAllowRemote, false, "let --dev listen beyond this machine, without authentication")
}

// flagValue is a flag's text as it was given.
type flagValue struct {
	text, kind string
	list       bool // given again, it adds to what it has
}

// Set implements [pflag.Value].
func (v *flagValue) Set(s string) error {
	if v.list && v.text != "" {
		s = v.text + "," + s
	}
	v.text = s
	return nil
}

// String implements [pflag.Value].
func (v *flagValue) String() string { return v.text }

// Type implements [pflag.Value].
func (v *flagValue) Type() string { return v.kind }
