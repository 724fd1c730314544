package storetest

import (
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// testTexts keeps every text as it was sent, whatever is in it.
func testTexts(t *testing.T, d Driver) {
	for name, text := range map[string]string{
		"zero":   "a\x00b",
		"ends":   "\x00",
		"quotes": `'";--` + "`\\",
		"signs":  "é 漢字 🙂 \u2028 <&>",
		"spaces": " \t\r\n ",
		"long":   strings.Repeat("x", 5_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d, t.TempDir(), Options{})
			defer w.close()
			a := w.agents["mailer"]
			a.Secret, a.WebhookURL, a.Bundle = text, text, []byte(text)
			a.BundleSum, a.BundleAt = kernel.Sum(a.Bundle), w.now
			err := w.update(func(tx store.Tx) error {
				if err := tx.PutAgent(a.AgentSpec, w.now); err != nil {
					return err
				}
				return tx.PutPolicy(a.ID, a.Bundle, a.BundleSum, w.now)
			})
			if err != nil {
				t.Fatal(err)
			}
			rule := kernel.Ruling{
				Rule: text, Action: kernel.RequireApproval, Reason: text, Approval: kernel.ApprovalTerms{Message: text, Approvers: []string{text}},
			}
			m := w.create(creation{labels: map[string]string{text: text, "k": ""}, key: text})
			w.submit(m, submission{caller: w.start(m), target: text, ruling: rule})
			w.decide(m, kernel.ApprovalStatusDenied, text, text)
			limit := kernel.Ruling{Rule: text, Action: kernel.Allow, Limit: &kernel.RateLimit{MaxCalls: 1, Window: leaseTimeout, Scope: kernel.PerExecution}}
			w.submit(m, submission{caller: w.start(m), target: "other" + text, ruling: limit})
			w.signalOnce(m, "go", "1", text)
			w.signalOnce(m, "go", "1", text)
			w.do(m, &kernel.FinishExecution{Caller: m.lease.Holder, Reason: text})
			w.check()
			w.restart()
			w.check()
			page, _, err := w.store.Executions(t.Context(), store.ExecutionQuery{Labels: [][2]string{{text, text}}, Limit: 2})
			if err != nil || len(page) != 1 {
				t.Errorf("the execution by its label: %d, %v", len(page), err)
			}
			w.verify()
		})
	}
}
