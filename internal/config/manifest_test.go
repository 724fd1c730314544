package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/policy"
)

const bundle = "default_action: allow\nrules: []\n"

func TestManifest(t *testing.T) {
	t.Parallel()
	path := write(t, "agents.yaml", `
agents:
  - id: shell
    webhook_url: http://${HOST}:9000/webhook
    secret: ${SHELL_SECRET}
    lease_timeout_seconds: 60
    policy_file: policies/shell.yaml
  - {id: 7, webhook_url: "https://b", secret: 'a$b$${c}', lease_timeout_seconds: 9}
  - id: inline
    webhook_url: http://c
    secret: 0123
    policy: |
      default_action: allow
      rules: []
  - id: mapping
    webhook_url: http://d
    secret: s
    policy:
      default_action: allow
      # look at every write
      rules:
        - id: look
          when: {target: "${not replaced}*"}
          then: {decision: deny}
`)
	dir := filepath.Join(filepath.Dir(path), "policies")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shell.yaml"), []byte(bundle), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.LoadManifest(path, env{"HOST": "127.0.0.1", "SHELL_SECRET": "${HOST}"}.lookup)
	if err != nil {
		t.Fatal(err)
	}
	last := len(got.Agents) - 1
	written := got.Agents[last].Policy
	got.Agents[last].Policy = nil
	want := config.Manifest{Path: path, Agents: []config.Agent{
		{ID: "shell", WebhookURL: "http://127.0.0.1:9000/webhook", Secret: "${HOST}", LeaseTimeout: time.Minute, Policy: []byte(bundle)},
		{ID: "7", WebhookURL: "https://b", Secret: "a$b${c}"},
		{ID: "inline", WebhookURL: "http://c", Secret: "0123", Policy: []byte(bundle)},
		{ID: "mapping", WebhookURL: "http://d", Secret: "s"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got)\n%s", diff)
	}
	compiled, err := policy.Compile(written)
	if err != nil || len(compiled.Rules()) != 1 || !strings.Contains(string(written), `"${not replaced}*"`) {
		t.Errorf("policy %v, error %v, of\n%s", compiled.Rules(), err, written)
	}
}

func TestManifestProblems(t *testing.T) {
	t.Parallel()
	const head = "agents:\n- id: a\n  webhook_url: http://a\n  secret: hunter2\n  "
	tests := map[string]struct {
		text string
		want []string // beginnings, after the path
	}{
		"empty":            {"# nothing\n", []string{":1:1: manifest: the file is empty"}},
		"no YAML":          {"agents:\n\t- a\n", []string{":2:1: manifest: not valid YAML"}},
		"not a mapping":    {"- a\n", []string{":1:1: manifest: must be a mapping"}},
		"second document":  {"agents: []\n---\nagents: []\n", []string{":2:1: manifest: a second document"}},
		"unknown section":  {"agent: []\n", []string{":1:1: agent: unknown key, did you mean agents?"}},
		"no list":          {"agents: {}\n", []string{":1:9: agents: must be a list of agents, not a mapping"}},
		"no value":         {"agents:\n", []string{":1:8: agents: needs a value: a list of agents"}},
		"agent is a text":  {"agents: [a]\n", []string{":1:10: agents[0]: must be a mapping"}},
		"nothing is there": {"agents:\n- {}\n", []string{":2:3: agents[0].id: is missing", ":2:3: agents[0].webhook_url: is missing", ":2:3: agents[0].secret: is missing"}},
		"misspelled key":   {head + "webhok_url: x\n", []string{":5:3: agents[0].webhok_url: unknown key, did you mean webhook_url?"}},
		"key twice":        {head + "secret: x\n", []string{":5:3: agents[0].secret: duplicate key, first used on line 4"}},
		"id twice": {head + "\n- {id: a, webhook_url: 'http://b', secret: s}\n", []string{
			":6:8: agents[1].id: duplicate id, first used on line 2",
		}},
		"bad values": {"agents:\n- {id: 'a b', webhook_url: 'http://u:hunter2@x', secret: ''}\n", []string{
			":2:8: agents[0].id: must be 1 to 128", ":2:28: agents[0].webhook_url: must not hold credentials", ":2:58: agents[0].secret: must not be empty",
		}},
		"secret is a list":   {"agents:\n- {id: a, webhook_url: 'http://x', secret: [hunter2]}\n", []string{":2:44: agents[0].secret: must be a text, not a list"}},
		"secret is null":     {"agents:\n- {id: a, webhook_url: 'http://x', secret: ~}\n", []string{":2:44: agents[0].secret: needs a value"}},
		"unset":              {"agents:\n- {id: a, webhook_url: 'http://${X}/${Y}', secret: s}\n", []string{":2:24: agents[0].webhook_url: environment variable X is not set", ":2:24: agents[0].webhook_url: environment variable Y is not set"}},
		"not closed":         {"agents:\n- {id: a, webhook_url: 'http://${X', secret: s}\n", []string{":2:24: agents[0].webhook_url: ${ is never closed"}},
		"no name":            {"agents:\n- {id: a, webhook_url: 'http://${X-1}', secret: s}\n", []string{":2:24: agents[0].webhook_url: ${X-1} is not the name"}},
		"set, but empty":     {"agents:\n- {id: a, webhook_url: 'http://a', secret: '${EMPTY}'}\n", []string{":2:44: agents[0].secret: must not be empty"}},
		"lease is no number": {head + "lease_timeout_seconds: 60s\n", []string{":5:26: agents[0].lease_timeout_seconds: must be a whole number"}},
		"lease is negative":  {head + "lease_timeout_seconds: -1\n", []string{":5:26: agents[0].lease_timeout_seconds: must not be negative"}},
		"lease is endless":   {head + "lease_timeout_seconds: 9000000000000000\n", []string{":5:26: agents[0].lease_timeout_seconds: must be at most"}},
		"two policies":       {head + "policy: {}\n  policy_file: x\n", []string{":5:3: agents[0].policy: give either"}},
		"no policy file":     {head + "policy_file: nowhere.yaml\n", []string{":5:16: agents[0].policy_file: cannot read "}},
		"empty policy file":  {head + "policy_file: ''\n", []string{":5:16: agents[0].policy_file: must not be empty"}},
		"policy is a list":   {head + "policy: []\n", []string{":5:11: agents[0].policy: must be a policy bundle, not a list"}},
		"policy as a text":   {head + "policy: |\n\n    default_action: allow\n    rules:\n      - id: x\n        then: {decision: maybe}\n", []string{":10:26: agents[0].policy.rules[0].then.decision: "}},
		"policy in quotes":   {head + "policy: 'rules: 1'\n", []string{":5:11: agents[0].policy.rules: "}},
		"policy, mapping": {head + "policy:\n    # a comment\n    rules:\n\n      - then:   {decision: maybe}\n        id: x\n      - {id: x, then: {decision: deny}}\n", []string{
			":9:28: agents[0].policy.rules[0].then.decision: ", ":11:14: agents[0].policy.rules[1].id: duplicate id",
		}},
		"alias":     {"agents:\n- &a {id: a, webhook_url: 'http://x', secret: s}\n- *a\n", []string{":3:3: manifest: alias *a is not supported"}},
		"tag":       {"agents: !!seq []\n", []string{":1:9: manifest: tag !!seq is not supported"}},
		"merge key": {"agents:\n- <<: {id: a}\n", []string{":2:3: manifest: merge key << is not supported"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.ParseManifest("m.yaml", []byte(tt.text), env{"EMPTY": ""}.lookup)
			lines := reported(t, err)
			if len(lines) != len(tt.want) {
				t.Fatalf("problems %q, want %q", lines, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], "m.yaml"+want) || strings.Contains(lines[i], "hunter2") {
					t.Errorf("problem %q, want %q", lines[i], want)
				}
			}
		})
	}
}

func TestPolicyFileProblems(t *testing.T) {
	t.Parallel()
	bad := write(t, "shell.yaml", "rules:\n  - id: x\n    then: {decision: maybe}\n")
	text := "agents:\n- {id: a, webhook_url: 'http://a', secret: s, policy_file: " + bad + "}\n- {id: b, webhook_url: 'http://b', secret: s, policy_file: " + bad + "}\n"
	_, err := config.ParseManifest("m.yaml", []byte(text), env{}.lookup)
	lines := reported(t, err)
	if want := bad + ":3:22: rules[0].then.decision: "; len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
		t.Errorf("problems %q, want one, that begins with %q", lines, want)
	}
}

func TestLoadManifestNeedsAFile(t *testing.T) {
	t.Parallel()
	_, err := config.LoadManifest("nowhere.yaml", env{}.lookup)
	want := []string{`manifest: cannot read "nowhere.yaml": no such file or directory`}
	if diff := cmp.Diff(want, reported(t, err)); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
}
