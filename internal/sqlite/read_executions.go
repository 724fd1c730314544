package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

const executionColumns = `e.no,e.id,a.id,e.status,i.body,o.body,e.failure,e.labels,e.created_at,e.deadline_at,z.seq,z.at
  FROM executions e JOIN agents a ON a.no=e.agent_no JOIN events i ON i.pos=e.no LEFT JOIN events o ON o.pos=e.output_pos
  LEFT JOIN events z ON z.pos=(SELECT pos FROM events WHERE execution_no=e.no ORDER BY seq DESC LIMIT 1)`

// Execution implements [store.Reader].
func (db *DB) Execution(ctx context.Context, id kernel.ExecutionID) (x store.Execution, err error) {
	err = db.reading(ctx, "execution "+id.String(), func(ctx context.Context) error {
		if err := scanExecutionRow(db.queries.execution.QueryRowContext(ctx, id.UUID[:]), &x); err != nil {
			return err
		}
		return db.unpacker(ctx).all(&x.Input, &x.Output)
	})
	return x, err
}

func scanExecutionRow(row scanner, x *store.Execution) error {
	var id, labels []byte
	var agent string
	var status, created, seq, at int64
	var deadline sql.NullInt64
	if err := row.Scan(&x.No, &id, &agent, &status, &x.Input, &x.Output, &x.Failure, &labels, &created, &deadline, &seq, &at); err != nil {
		return err
	}
	copy(x.ID.UUID[:], id)
	x.Agent, x.Status, x.LastSeq = kernel.AgentID(agent), kernel.Status(status), seq
	x.CreatedAt, x.UpdatedAt, x.Deadline = kernel.Instant(created), kernel.Instant(at), kernel.Instant(deadline.Int64)
	return unmarshalLabels(labels, &x.Labels)
}

func unmarshalLabels(text []byte, to *map[string]string) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, to)
}

// Header implements [store.Reader].
func (db *DB) Header(ctx context.Context, id kernel.ExecutionID) (h store.Header, err error) {
	err = db.reading(ctx, "execution "+id.String(), func(ctx context.Context) error {
		var labels []byte
		h.ID = id
		if err := db.queries.header.QueryRowContext(ctx, id.UUID[:]).Scan(&h.No, (*string)(&h.Agent), &labels); err != nil {
			return err
		}
		return unmarshalLabels(labels, &h.Labels)
	})
	return h, err
}

// Executions implements [store.Reader].
//
// Each condition of a list has an index in the order of the list, and what is
// walked there and does not match all else is looked at in vain. How much that
// is cannot be known before: the few failed ones of a common label, or two that
// are common and keep away from each other. So a list is walked in windows,
// each along the index that reaches furthest back with so many entries, which is
// the sparsest just there, and each of twice as many as the one before: all of
// them together look at no more than three times what the index has that has least.
func (db *DB) Executions(ctx context.Context, q store.ExecutionQuery) (page []store.Execution, next int64, err error) {
	err = db.reading(ctx, "list executions", func(ctx context.Context) error {
		rest := q
		for window := 2 * (q.Limit + 1); ; window *= 2 {
			w, err := db.sparsest(ctx, rest, window)
			if err != nil {
				return err
			}
			rest.Limit = q.Limit - len(page)
			text, args := listExecutions(rest, w)
			if err := db.list(ctx, text, args, func(row scanner) error {
				var x store.Execution
				err := scanExecutionRow(row, &x)
				page = append(page, x)
				return err
			}); err != nil {
				return err
			}
			if len(page) > q.Limit || w.from == 0 {
				break
			}
			rest.Before = w.from
		}
		u := db.unpacker(ctx)
		for i := range page {
			if err := u.all(&page[i].Input, &page[i].Output); err != nil {
				return err
			}
		}
		return nil
	})
	if len(page) > q.Limit {
		page = page[:q.Limit]
		next = page[q.Limit-1].No
	}
	return page, next, err
}

// walk is a part of an index that a list goes through, newest first.
type walk struct {
	label int   // which of the query's labels has the index; [noLabel]: the agent and the status have it
	from  int64 // the lowest number of an execution in it; 0: all there are
}

const noLabel = -1

// indexesFor are the labels whose indexes a list can walk, with [noLabel] for
// that of the agent and the status, or for all executions.
func indexesFor(q store.ExecutionQuery) []int {
	var indexes []int
	if q.Agent != "" || q.Status != 0 || len(q.Labels) == 0 {
		indexes = append(indexes, noLabel)
	}
	for i := range q.Labels {
		indexes = append(indexes, i)
	}
	return indexes
}

// sparsest is the walk of at most so many entries that reaches furthest back.
func (db *DB) sparsest(ctx context.Context, q store.ExecutionQuery, entries int) (best walk, err error) {
	indexes := indexesFor(q)
	if len(indexes) == 1 {
		return walk{label: indexes[0]}, nil
	}
	text, args := endsOfWalks(q, indexes, entries)
	walks, to := make([]walk, len(indexes)), make([]any, len(indexes))
	for i, label := range indexes {
		walks[i].label, to[i] = label, &walks[i].from
	}
	err = db.list(ctx, text, args, func(row scanner) error { return row.Scan(to...) })
	return slices.MinFunc(walks, func(a, b walk) int { return cmp.Compare(a.from, b.from) }), err
}

// ofState asks for the agent and the status of a query.
func (c *conditions) ofState(q store.ExecutionQuery) {
	if q.Agent != "" {
		c.add("e.agent_no=(SELECT no FROM agents WHERE id=?)", string(q.Agent))
	}
	if q.Status != 0 {
		c.add("e.status=?", int64(q.Status))
	}
}

// endsOfWalks asks for the number of the last of so many entries of each index,
// or 0 when it has fewer, a column each.
func endsOfWalks(q store.ExecutionQuery, indexes []int, entries int) (text string, args []any) {
	var ends []string
	for _, label := range indexes {
		var c conditions
		from, no := "executions e", "e.no"
		if label == noLabel {
			c.ofState(q)
		} else {
			from, no = "labels w", "w.execution_no"
			c.add("w.key=? AND w.value=?", q.Labels[label][0], q.Labels[label][1])
		}
		if q.Before > 0 {
			c.add(no+"<?", q.Before)
		}
		ends = append(ends, "ifnull((SELECT "+no+" FROM "+from+c.where()+" ORDER BY "+no+" DESC LIMIT 1 OFFSET ?),0)")
		args = append(append(args, c.args...), entries-1)
	}
	return "SELECT " + strings.Join(ends, ","), args
}

// listExecutions asks for one more than the page holds, to know whether there
// is a next one. Every form of it walks an index in the order of the list.
func listExecutions(q store.ExecutionQuery, w walk) (text string, args []any) {
	var c conditions
	c.ofState(q)
	from, order := executionColumns, "e.no"
	for i, l := range q.Labels {
		if i == w.label { // walk its own index, newest first
			from = strings.Replace(from, "FROM executions e", "FROM labels w CROSS JOIN executions e ON e.no=w.execution_no", 1)
			order = "w.execution_no"
			c.add("w.key=? AND w.value=?", l[0], l[1])
			continue
		}
		c.add("EXISTS (SELECT 1 FROM labels l WHERE l.key=? AND l.value=? AND l.execution_no=e.no)", l[0], l[1])
	}
	if q.Before > 0 {
		c.add(order+"<?", q.Before)
	}
	if w.from > 0 {
		c.add(order+">=?", w.from)
	}
	return "SELECT " + from + c.where() + " ORDER BY " + order + " DESC" + bound, append(c.args, q.Limit+1)
}
