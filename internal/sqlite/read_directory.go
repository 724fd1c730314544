package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Approvals implements [store.Reader].
func (db *DB) Approvals(ctx context.Context, q store.ApprovalQuery) (page []store.Approval, err error) {
	text, args := listApprovals(q)
	err = db.reading(ctx, "list approvals", func(ctx context.Context) error {
		if err := db.list(ctx, text, args, func(row scanner) error {
			var a store.Approval
			err := scanApproval(row, &a)
			page = append(page, a)
			return err
		}); err != nil {
			return err
		}
		u := db.unpacker(ctx)
		for i := range page {
			if err := u.all(&page[i].Args); err != nil {
				return err
			}
		}
		return nil
	})
	return page, err
}

func listApprovals(q store.ApprovalQuery) (text string, args []any) {
	var c conditions
	// Left to itself, SQLite would go through all executions of the agent.
	columns := strings.Replace(approvalColumns, "JOIN executions", "CROSS JOIN executions", 1)
	if q.Status != 0 {
		c.add("p.status=?", int64(q.Status))
	}
	if q.Agent != "" {
		c.add("a.id=?", string(q.Agent))
	}
	if !q.Execution.IsZero() {
		columns = approvalColumns
		c.add("e.id=?", q.Execution.UUID[:])
	}
	return "SELECT " + columns + c.where() + " ORDER BY p.timeout_at,p.no" + bound, append(c.args, q.Limit)
}

// Approval implements [store.Reader].
func (db *DB) Approval(ctx context.Context, id kernel.ApprovalID) (a store.Approval, err error) {
	err = db.reading(ctx, "approval "+id.String(), func(ctx context.Context) error {
		if err := scanApproval(db.queries.approval.QueryRowContext(ctx, id.UUID[:]), &a); err != nil {
			return err
		}
		return db.unpacker(ctx).all(&a.Args)
	})
	return a, err
}

func scanApproval(row scanner, a *store.Approval) error {
	var id, execution, step, approvers []byte
	var agent string
	var by, rationale sql.NullString
	var decided sql.NullInt64
	if err := row.Scan(&id, &execution, &step, &agent, &a.Status, &a.Kind, &a.Target, &a.Args, &a.Rule, &a.Reason, &a.Message,
		&approvers, &a.CreatedAt, &a.TimeoutAt, &by, &decided, &rationale); err != nil {
		return err
	}
	copy(a.ID.UUID[:], id)
	copy(a.Execution.UUID[:], execution)
	copy(a.Step[:], step)
	a.Agent, a.DecidedBy, a.Rationale = kernel.AgentID(agent), by.String, rationale.String
	a.DecidedAt = kernel.Instant(decided.Int64)
	if approvers == nil {
		return nil
	}
	return json.Unmarshal(approvers, &a.Approvers)
}

// Agents implements [store.Reader].
func (db *DB) Agents(ctx context.Context) (agents []store.Agent, err error) {
	err = db.reading(ctx, "list agents", func(ctx context.Context) error {
		return all(ctx, db.queries.agents, func(row scanner) error {
			var a store.Agent
			err := scanAgent(row, &a)
			agents = append(agents, a)
			return err
		})
	})
	return agents, err
}

// Agent implements [store.Reader].
func (db *DB) Agent(ctx context.Context, id kernel.AgentID) (a store.Agent, err error) {
	err = db.reading(ctx, "agent "+string(id), func(ctx context.Context) error {
		return scanAgent(db.queries.agent.QueryRowContext(ctx, string(id)), &a)
	})
	return a, err
}

func scanAgent(row scanner, a *store.Agent) error {
	var seconds int64
	var sum []byte
	var at sql.NullInt64
	if err := row.Scan((*string)(&a.ID), &a.WebhookURL, &a.Secret, &seconds, &a.RegisteredAt, &a.UpdatedAt, &a.Bundle, &sum, &at); err != nil {
		return err
	}
	a.Lease = time.Duration(seconds) * time.Second
	copy(a.BundleSum[:], sum)
	a.BundleAt = kernel.Instant(at.Int64)
	return nil
}

// DueDispatches implements [store.Queue].
func (db *DB) DueDispatches(ctx context.Context, after store.QueuePlace, limit int) (due []store.DueDispatch, err error) {
	err = db.reading(ctx, "due dispatches", func(ctx context.Context) error {
		return all(ctx, db.queries.dueDispatches, func(row scanner) error {
			var d store.DueDispatch
			var execution, id []byte
			if err := row.Scan(&d.No, &execution, (*string)(&d.Agent), &id, &d.NotBefore); err != nil {
				return err
			}
			copy(d.Execution.UUID[:], execution)
			copy(d.Dispatch.UUID[:], id)
			due = append(due, d)
			return nil
		}, int64(after.NotBefore), after.No, limit)
	})
	return due, err
}

// InFlight implements [store.Queue].
func (db *DB) InFlight(ctx context.Context, afterNo int64, limit int) (page []store.InFlight, err error) {
	err = db.reading(ctx, "attempts in flight", func(ctx context.Context) error {
		return all(ctx, db.queries.inFlight, func(row scanner) error {
			var f store.InFlight
			var execution []byte
			var acked, timeout int64
			var expires, stored, memory sql.NullInt64
			if err := row.Scan(&f.No, &execution, &acked, &timeout, &expires, &stored, &memory); err != nil {
				return err
			}
			copy(f.Execution.UUID[:], execution)
			opened := kernel.At(db.opened)
			f.Acked, f.Stored = acked != 0, expires.Valid && memory.Int64 != 0
			if f.ExpiresAt = opened.Add(micros(timeout)); expires.Valid {
				f.ExpiresAt = leaseEnd(opened, kernel.Instant(expires.Int64), kernel.Instant(stored.Int64))
			}
			page = append(page, f)
			return nil
		}, afterNo, limit)
	})
	return page, err
}

// Timers implements [store.Queue].
func (db *DB) Timers(ctx context.Context, by kernel.Instant, limit int) (due []store.Timer, next kernel.Instant, err error) {
	err = db.reading(ctx, "timers", func(ctx context.Context) error {
		if err := all(ctx, db.queries.timers, func(row scanner) error {
			var t store.Timer
			var no int64
			var approval, execution []byte
			if err := row.Scan(&t.Kind, &t.At, &no, &approval, &execution); err != nil {
				return err
			}
			copy(t.Execution.UUID[:], execution)
			copy(t.Approval.UUID[:], approval)
			due = append(due, t)
			return nil
		}, int64(by), limit); err != nil {
			return err
		}
		var at sql.NullInt64
		if err := db.queries.nextTimer.QueryRowContext(ctx, int64(by)).Scan(&at); err != nil {
			return err
		}
		next = kernel.Instant(at.Int64)
		return nil
	})
	return due, next, err
}
