package config_test

import (
	"errors"
	"testing"

	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// FuzzParseManifest: no text makes the parser panic; what it takes is good,
// and what it refuses has its place.
func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{
		"", "agents: []", "agents:\n- {id: a, webhook_url: 'http://a', secret: s, lease_timeout_seconds: 60}\n",
		"agents:\n- id: a\n  webhook_url: http://${HOST}\n  secret: $${x}\n  policy: |\n    default_action: allow\n",
		"agents:\n- id: a\n  webhook_url: http://a\n  secret: s\n  policy:\n    rules:\n      - {id: x, when: {arguments: {p: {regex: '^a'}}}, then: {decision: deny}}\n",
		"agents:\n- id: a\n  policy: \"rules:\\n- 1\"\n", "server:\n  listen: :80\n  webhook-allow: [a, ${B}]\n", "a: &a [*a]\n", "? [x]\n: y\n",
		"agents:\n- policy: >\n    rules:\n     - x\n", "agents:\n- policy: |2-\n     rules: 1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := config.ParseManifest("/nowhere/m.yaml", src, env{"HOST": "h"}.lookup)
		if err != nil {
			var invalid *config.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("error %T %v, want an *Invalid", err, err)
			}
			for _, p := range invalid.Problems {
				if p.Line < 1 || p.Column < 1 || p.Field == "" || p.Problem == "" {
					t.Errorf("problem without a place or a text: %#v", p)
				}
			}
			return
		}
		for _, a := range m.Agents {
			if err := errors.Join(wire.ValidateAgentID(a.ID), wire.ValidateWebhookURL(a.WebhookURL), wire.ValidateSecret(a.Secret)); err != nil {
				t.Errorf("agent %q was taken: %v", a.ID, err)
			}
			if a.Policy != nil {
				if _, err := policy.Compile(a.Policy); err != nil {
					t.Errorf("policy of %q was taken: %v", a.ID, err)
				}
			}
		}
	})
}
