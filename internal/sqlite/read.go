package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/pack"
	"github.com/agentkernel/kernelctl/internal/store"
)

// readTimeout bounds one read: a reader that stays pins the write-ahead log.
const readTimeout = 5 * time.Second

// queries are the reads whose text never changes, prepared on the pool.
type queries struct {
	events string // for [DB.below]
	lists  forms

	execution, header, steps, step, approval, heads, body, base, agents, agent *sql.Stmt
	dueDispatches, inFlight, timers, nextTimer, counts, waiting, queued        *sql.Stmt
}

const stepColumns = `s.step_id,s.no,s.kind,s.status,s.idempotency,s.occurrence,s.attempt,s.created_at,s.started_at,s.target,s.rule,
  s.args_hash,s.dispatch,s.approval,r.status,r.pos,r.at,r.input_tokens,r.output_tokens,r.indeterminate,r.reason,p.body,f.body
  FROM steps s JOIN executions e ON e.no=s.execution_no LEFT JOIN step_results r ON r.step_no=s.no
  JOIN events p ON p.pos=s.no LEFT JOIN events f ON f.pos=r.pos`

const approvalColumns = `p.id,e.id,s.step_id,a.id,p.status,s.kind,s.target,v.body,p.rule,p.reason,p.message,p.approvers,
  p.created_at,p.timeout_at,p.decided_by,p.decided_at,p.rationale
  FROM approvals p JOIN executions e ON e.no=p.execution_no JOIN agents a ON a.no=e.agent_no
  JOIN steps s ON s.no=p.step_no JOIN events v ON v.pos=s.no`

const agentColumns = `a.id,a.webhook_url,a.secret,a.lease_seconds,a.registered_at,a.updated_at,p.bundle,p.sha256,p.loaded_at
  FROM agents a LEFT JOIN policies p ON p.agent_no=a.no AND p.replaced_at IS NULL WHERE a.deleted=0`

// timerSources lists the first of everything that falls due, soonest first: each
// branch walks an index in order, however much is due.
const timerSources = `SELECT * FROM (SELECT 1,timeout_at,execution_no,id FROM approvals WHERE status=1 AND timeout_at<=?1 ORDER BY timeout_at LIMIT ?2+0)
  UNION ALL SELECT * FROM (SELECT 2,timeout_at,execution_no,NULL FROM blocks WHERE timeout_at<=?1 AND reason=2 ORDER BY timeout_at LIMIT ?2+0)
  UNION ALL SELECT * FROM (SELECT 3,deadline_at,no,NULL FROM executions WHERE deadline_at<=?1 AND deadline_at IS NOT NULL AND ended_at IS NULL ORDER BY deadline_at LIMIT ?2+0)
  UNION ALL SELECT * FROM (SELECT 4,retry_at,execution_no,NULL FROM parks WHERE retry_at<=?1 AND retry_at IS NOT NULL ORDER BY retry_at LIMIT ?2+0)`

// countedStatuses are those whose executions are counted one by one. Most have
// completed: SQLite knows the number of all rows by that of each page, and the
// completed ones are the rest, so that a start need not walk them all.
func countedStatuses() string {
	var counted []string
	for _, s := range kernel.Statuses() {
		if s != kernel.StatusCompleted {
			counted = append(counted, strconv.Itoa(int(s)))
		}
	}
	return strings.Join(counted, ",")
}

func prepareQueries(ctx context.Context, db *sql.DB) (*queries, error) {
	q := &queries{events: eventsQuery()}
	for _, p := range q.texts() {
		st, err := db.PrepareContext(ctx, p.sql) //nolint:sqlclosecheck // close does, with all the others
		if err != nil {
			return q, fmt.Errorf("prepare %q: %w", head(p.sql), err)
		}
		*p.to = st
	}
	return q, nil
}

// texts pairs every query with its SQL.
func (q *queries) texts() []struct {
	to  **sql.Stmt
	sql string
} {
	return []struct {
		to  **sql.Stmt
		sql string
	}{
		{&q.execution, "SELECT " + executionColumns + " WHERE e.id=?"},
		{&q.header, "SELECT e.no,a.id,e.labels FROM executions e JOIN agents a ON a.no=e.agent_no WHERE e.id=?"},
		{&q.steps, "SELECT " + stepColumns + " WHERE e.id=?"},
		{&q.step, "SELECT " + stepColumns + " WHERE e.id=? AND s.step_id=?"},
		{&q.approval, "SELECT " + approvalColumns + " WHERE p.id=?"},
		{&q.heads, headsQuery},
		{&q.body, "SELECT body FROM events WHERE pos=?"},
		{&q.base, fmt.Sprintf(`SELECT pos FROM (SELECT pos,type,length(body) AS size,substr(body,1,1) AS form FROM events
		  WHERE execution_no=(SELECT no FROM executions WHERE id=?) ORDER BY seq DESC LIMIT 64) WHERE type=? AND (size>=%d OR form>x'01') LIMIT 1`, pack.Min)},
		{&q.agents, "SELECT " + agentColumns + " ORDER BY a.id"},
		{&q.agent, "SELECT " + agentColumns + " AND a.id=?"},
		{&q.dueDispatches, `SELECT d.execution_no,e.id,a.id,d.id,d.not_before FROM dispatches d JOIN executions e ON e.no=d.execution_no
		  JOIN agents a ON a.no=e.agent_no WHERE d.status<=2 AND (d.not_before,d.execution_no)>(?,?) ORDER BY d.not_before,d.execution_no` + bound},
		{&q.inFlight, `SELECT d.execution_no,e.id,d.acked,d.timeout,l.expires_at,l.stored_at,l.memory IS NOT NULL FROM dispatches d JOIN executions e ON e.no=d.execution_no
		  LEFT JOIN leases l ON l.execution_no=d.execution_no WHERE d.status=3 AND d.execution_no>? ORDER BY d.execution_no` + bound},
		{&q.timers, "SELECT t.*,e.id FROM (" + timerSources + ") t JOIN executions e ON e.no=t.execution_no ORDER BY 2 LIMIT ?2+0"},
		{&q.nextTimer, `SELECT min(at) FROM (SELECT min(timeout_at) AS at FROM approvals WHERE status=1 AND timeout_at>?1
		  UNION ALL SELECT min(timeout_at) FROM blocks WHERE timeout_at>?1 AND reason=2
		  UNION ALL SELECT min(deadline_at) FROM executions WHERE deadline_at>?1 AND deadline_at IS NOT NULL AND ended_at IS NULL
		  UNION ALL SELECT min(retry_at) FROM parks WHERE retry_at>?1 AND retry_at IS NOT NULL)`},
		{&q.counts, "SELECT 0,(SELECT count(*) FROM executions) UNION ALL SELECT status,count(*) FROM executions WHERE status IN (" + countedStatuses() + ") GROUP BY status"},
		{&q.waiting, "SELECT count(*) FROM approvals WHERE status=1"},
		{&q.queued, "SELECT count(*) FROM dispatches WHERE status<=2"},
	}
}

func (q *queries) close() {
	q.lists.close()
	for _, st := range []*sql.Stmt{
		q.execution, q.header, q.steps, q.step, q.approval, q.heads, q.body, q.base, q.agents, q.agent,
		q.dueDispatches, q.inFlight, q.timers, q.nextTimer, q.counts, q.waiting, q.queued,
	} {
		if st != nil {
			_ = st.Close() // the pool is closed right after
		}
	}
}

type scanner interface{ Scan(dest ...any) error }

// reading runs a read and says in our words what went wrong.
func (db *DB) reading(ctx context.Context, what string, read func(ctx context.Context) error) error {
	db.mu.RLock()
	stopped := db.stopped
	db.mu.RUnlock()
	if stopped != nil && !errors.Is(stopped, store.ErrClosed) {
		return stopped
	}
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	switch err := read(limited); {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", what, store.ErrNotFound)
	case db.closed.Load():
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	case ctx.Err() != nil: // whoever asked has gone
		return fmt.Errorf("%s: %w", what, err)
	case limited.Err() != nil:
		return fmt.Errorf("%s: %w: no answer within %s", what, store.ErrUnavailable, readTimeout)
	case code(err) != 0:
		return fmt.Errorf("%s: %w: %w", what, store.ErrUnavailable, explain(err))
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// conditions are what a list asks for: clauses, and the values of all of them.
type conditions struct {
	clauses []string
	args    []any
}

func (c *conditions) add(clause string, values ...any) {
	c.clauses, c.args = append(c.clauses, clause), append(c.args, values...)
}

func (c *conditions) where() string {
	return " WHERE " + strings.Join(append([]string{"1"}, c.clauses...), " AND ")
}

// all calls scan for every row.
func all(ctx context.Context, st *sql.Stmt, scan func(scanner) error, args ...any) (err error) {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return each(rows, scan)
}

func each(rows *sql.Rows, scan func(scanner) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Steps implements [store.Reader].
func (db *DB) Steps(ctx context.Context, execution kernel.ExecutionID) (steps []store.Step, err error) {
	err = db.reading(ctx, "steps of "+execution.String(), func(ctx context.Context) error {
		if err := all(ctx, db.queries.steps, func(row scanner) error {
			s := store.Step{Execution: execution}
			err := scanStepRow(row, &s)
			steps = append(steps, s)
			return err
		}, execution.UUID[:]); err != nil {
			return err
		}
		u := db.unpacker(ctx)
		for i := range steps {
			if err := u.all(&steps[i].Args, &steps[i].Outcome); err != nil {
				return err
			}
		}
		return nil
	})
	// Not by SQLite, which would carry the bodies through its sorter.
	slices.SortFunc(steps, func(a, b store.Step) int { return cmp.Compare(a.No, b.No) })
	return steps, err
}

// Step implements [store.Reader].
func (db *DB) Step(ctx context.Context, execution kernel.ExecutionID, id kernel.StepID) (s store.Step, err error) {
	s.Execution = execution
	err = db.reading(ctx, "step "+id.String(), func(ctx context.Context) error {
		if err := scanStepRow(db.queries.step.QueryRowContext(ctx, execution.UUID[:], id[:]), &s); err != nil {
			return err
		}
		return db.unpacker(ctx).all(&s.Args, &s.Outcome)
	})
	return s, err
}

func scanStepRow(row scanner, s *store.Step) error {
	var id, hash, dispatch, approval []byte
	var started, status, pos, at, in, out, unknown sql.NullInt64
	var reason sql.NullString
	if err := row.Scan(&id, &s.No, &s.Kind, &s.Status, &s.Idempotency, &s.Occurrence, &s.Attempt, &s.CreatedAt, &started, &s.Target, &s.Rule,
		&hash, &dispatch, &approval, &status, &pos, &at, &in, &out, &unknown, &reason, &s.Args, &s.Outcome); err != nil {
		return err
	}
	copy(s.ID[:], id)
	copy(s.ArgsHash[:], hash)
	copy(s.Dispatch.UUID[:], dispatch)
	copy(s.Approval.UUID[:], approval)
	s.StartedAt = kernel.Instant(started.Int64)
	if !status.Valid {
		return nil
	}
	s.Step.Status, s.ResultPos, s.CompletedAt = kernel.StepStatus(status.Int64), pos.Int64, kernel.Instant(at.Int64)
	s.Indeterminate, s.Reason = unknown.Int64 != 0, reason.String
	if in.Valid {
		s.Usage = &kernel.Usage{InputTokens: in.Int64, OutputTokens: out.Int64}
	}
	return nil
}

// Body implements [store.Reader].
func (db *DB) Body(ctx context.Context, pos int64) (body []byte, err error) {
	err = db.reading(ctx, "body", func(ctx context.Context) error {
		if err := db.queries.body.QueryRowContext(ctx, pos).Scan(&body); err != nil {
			return err
		}
		return db.unpacker(ctx).all(&body)
	})
	return body, err
}

// Counts implements [store.Reader].
func (db *DB) Counts(ctx context.Context) (c store.Counts, err error) {
	c.Executions = make(map[kernel.Status]int64)
	err = db.reading(ctx, "counts", func(ctx context.Context) error {
		var total, others int64
		if err := all(ctx, db.queries.counts, func(row scanner) error {
			var status kernel.Status
			var n int64
			switch err := row.Scan(&status, &n); {
			case err != nil:
				return err
			case status == 0: // the first row: of all
				total = n
			default:
				c.Executions[status] = n
				others += n
			}
			return nil
		}); err != nil {
			return err
		}
		if total > others {
			c.Executions[kernel.StatusCompleted] = total - others
		}
		if err := db.queries.waiting.QueryRowContext(ctx).Scan(&c.PendingApprovals); err != nil {
			return err
		}
		return db.queries.queued.QueryRowContext(ctx).Scan(&c.QueuedDispatches)
	})
	return c, err
}
