package demo

import (
	"context"
	"log/slog"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// colleague is who decides the approvals of a rule when nobody else has for a
// while. Who should decide on a restart is often too late.
type colleague struct {
	by       string
	patience time.Duration // from request to decision, up to twice as long
	denies   uint64        // one of so many
	why      string        // of a denial
}

var colleagues = map[string]colleague{
	"models":           {"dana", 3 * time.Minute, 3, "the answer is good enough as it is"},
	"report-outside":   {"dana", 4 * time.Minute, 4, "the figures are of last quarter"},
	"ddl-prod":         {"dana", 6 * time.Minute, 3, "not before the weekend"},
	"restart":          {"dana", 30 * time.Second, 6, "it restarted by itself"},
	"disk":             {"dana", 150 * time.Second, 2, "these are the backups"},
	"deploy":           {"dana", 9 * time.Minute, 4, "the canary is not through"},
	"refund":           {"erik", 3 * time.Minute, 4, "paid back last week already"},
	"transfer":         {"erik", 2 * time.Minute, 2, "nobody there knows of this account"},
	"journal":          {"erik", 8 * time.Minute, 5, "the tax codes are those of last year"},
	"reply-enterprise": {"dana", 100 * time.Second, 5, "it promises a date"},
}

// decide lets the colleagues decide until ctx ends.
func (c *company) decide(ctx context.Context) {
	for client.Sleep(ctx, c.soon(2*time.Second)) == nil {
		open, err := c.api.ListApprovals(ctx, client.ApprovalFilter{})
		if err != nil {
			continue // the service will be back, or everything ends
		}
		offset, _ := c.api.ClockOffset()
		for _, a := range open {
			who, ok := colleagues[a.RuleID]
			waited := time.Now().Add(offset).Sub(a.CreatedAt.Time)
			if ok && waited > c.soon(who.patience+time.Duration(hash(a.ID)%uint64(who.patience))) {
				c.verdict(ctx, a, who)
			}
		}
	}
}

func (c *company) verdict(ctx context.Context, a wire.Approval, who colleague) {
	d, send := wire.DecideApproval{DecidedBy: who.by}, c.api.GrantApproval
	if hash(a.StepID)%who.denies == 0 {
		d.Rationale, send = who.why, c.api.DenyApproval
	}
	if err := send(ctx, a.ID, d); err != nil && ctx.Err() == nil {
		c.Logger.Debug("somebody was faster", slog.String("approval_id", a.ID), slog.Any("err", err))
	}
}
