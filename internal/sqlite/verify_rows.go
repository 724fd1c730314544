package sqlite

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// table is a projection: how its rows of one execution are read, from the file
// and from the rebuild.
type table struct {
	name            string
	columns         []string
	stored, rebuilt *stmt
	clear           *stmt // of the rebuild
	rows            int64 // of the file, that belong to an execution in the log
}

func (v *verifier) prepareTables() error {
	for _, q := range []struct{ name, from string }{
		{"executions", "executions t WHERE t.no=?"},
		{"steps", "steps t WHERE t.execution_no=? ORDER BY t.no"},
		{"step_results", "step_results t JOIN steps s ON s.no=t.step_no WHERE s.execution_no=? ORDER BY t.step_no"},
		{"approvals", "approvals t WHERE t.execution_no=? ORDER BY t.no"},
		{"blocks", "blocks t WHERE t.execution_no=?"},
		{"parks", "parks t WHERE t.execution_no=? ORDER BY t.step_id"},
		{"signals", "signals t WHERE t.execution_no=? ORDER BY t.no"},
	} {
		t := table{name: q.name}
		if err := v.stored.columns(&t); err != nil {
			return err
		}
		text := "SELECT t.* FROM " + q.from
		var err error
		if t.stored, err = v.stored.prepare(text); err != nil {
			return err
		}
		if t.rebuilt, err = v.rebuilt.conn.prepare(text); err != nil {
			return err
		}
		if t.clear, err = v.rebuilt.conn.prepare("DELETE FROM " + q.name); err != nil {
			return err
		}
		v.tables = append(v.tables, t)
	}
	labels := table{name: "labels"} // has no index by execution
	var err error
	if labels.rebuilt, err = v.rebuilt.conn.prepare("SELECT key,value FROM labels"); err != nil {
		return err
	}
	if labels.clear, err = v.rebuilt.conn.prepare("DELETE FROM labels"); err != nil {
		return err
	}
	v.tables = append(v.tables, labels)
	return nil
}

func (c *conn) columns(t *table) error {
	st, err := c.prepare("SELECT name FROM pragma_table_info('" + t.name + "') ORDER BY cid")
	if err != nil {
		return err
	}
	return st.query(func(row []driver.Value) error {
		t.columns = append(t.columns, asText(row[0]))
		return nil
	})
}

// copyAgents brings over what executions refer to and the log does not tell:
// the numbers of the agents.
func (v *verifier) copyAgents() error {
	from, err := v.stored.prepare("SELECT no,id FROM agents")
	if err != nil {
		return err
	}
	to, err := v.rebuilt.conn.prepare("INSERT INTO agents VALUES (?,?,'','',0,0,0,0)")
	if err != nil {
		return err
	}
	return from.query(func(row []driver.Value) error { return to.exec(row[0], row[1]) })
}

// replay projects the log anew, in the smallest parts that an operation can
// consist of: what follows from it must not depend on where one ended.
func (v *verifier) replay(e kernel.Event) error {
	l := &v.log
	if n := len(l.group); n > 0 && !together(l.group[n-1].Type(), e.Type()) {
		if err := v.project(); err != nil {
			return err
		}
	}
	l.group = append(l.group, e)
	return nil
}

// together reports whether an event belongs to the operation of the one before:
// the event that decides a proposal, and the approval that it asks for.
func together(before, e kernel.EventType) bool {
	return before == kernel.TypeStepProposed || e == kernel.TypeApprovalRequested
}

func (v *verifier) project() (err error) {
	l := &v.log
	defer func() {
		clear(l.group)
		l.group = l.group[:0]
		if p := recover(); p != nil { // only a log that no build wrote
			v.wrong("events", l.seq, "cannot be replayed: %v", p)
		}
	}()
	if len(l.group) == 0 || l.bad {
		return nil
	}
	err = v.rebuilt.tx.project(&l.state, l.group)
	if code(err)&0xff == codeConstraint || errors.Is(err, store.ErrNotFound) {
		v.wrong("events", l.seq, "cannot be replayed: %v", err)
		return nil
	}
	return err
}

// endOfLog compares the rows of the execution whose log was read.
func (v *verifier) endOfLog() error {
	l := &v.log
	if l.no == 0 {
		return nil
	}
	if err := v.project(); err != nil {
		return err
	}
	for i := range v.tables {
		if err := v.compareTable(&v.tables[i]); err != nil {
			return err
		}
	}
	for i := range v.tables {
		if err := v.tables[i].clear.exec(); err != nil {
			return err
		}
	}
	if l.bad {
		return nil
	}
	_, err := one(v.queued, func(row []driver.Value) error {
		if !bytes.Equal(asBytes(row[0]), l.state.Queued.UUID[:]) || !bytes.Equal(asBytes(row[1]), l.state.Acked.UUID[:]) {
			v.wrong("dispatches", 0, "names other dispatch events than the log")
		}
		return nil
	}, l.no)
	return err
}

func (v *verifier) compareTable(t *table) error {
	var want [][]driver.Value
	if !v.log.bad {
		if err := t.rebuilt.query(func(row []driver.Value) error {
			want = append(want, append([]driver.Value(nil), row...))
			return nil
		}, v.rebuildArgs(t)...); err != nil {
			return err
		}
	}
	if t.stored == nil {
		return v.compareLabels(t, want)
	}
	n := 0
	if err := t.stored.query(func(row []driver.Value) error {
		t.rows++
		n++
		switch {
		case v.log.bad:
		case n > len(want):
			v.wrong(t.name, 0, "has a row (%s) that does not follow from the log", describe(t, row))
		default:
			v.compareRow(t, want[n-1], row)
		}
		return nil
	}, v.log.no); err != nil {
		return err
	}
	if n < len(want) && !v.log.bad {
		v.wrong(t.name, 0, "lacks a row (%s) that follows from the log", describe(t, want[n]))
	}
	return nil
}

func (v *verifier) rebuildArgs(t *table) []any {
	if t.stored == nil {
		return nil
	}
	return []any{v.log.no}
}

func (v *verifier) compareRow(t *table, want, got []driver.Value) {
	v.report.Rows++
	for i := range want {
		if !sameValue(want[i], got[i]) {
			v.wrong(t.name, 0, "row %s has %s %s, the log says %s", show(got[0]), t.columns[i], show(got[i]), show(want[i]))
			return
		}
	}
}

func (v *verifier) compareLabels(t *table, want [][]driver.Value) error {
	for _, row := range want {
		found, err := one(v.label, func([]driver.Value) error { return nil }, row[0], row[1], v.log.no)
		switch {
		case err != nil:
			return err
		case !found:
			v.wrong(t.name, 0, "lacks the label %s:%s", asText(row[0]), asText(row[1]))
		default:
			t.rows++
			v.report.Rows++
		}
	}
	return nil
}

// tableTotals finds rows that belong to no execution in the log.
func (v *verifier) tableTotals() error {
	for i := range v.tables {
		t := &v.tables[i]
		count, err := v.stored.prepare("SELECT count(*) FROM " + t.name)
		if err != nil {
			return err
		}
		if err := count.query(func(row []driver.Value) error {
			if n := asInt(row[0]); n != t.rows && (t.stored != nil || v.report.OK()) {
				v.problem(Problem{Table: t.name, What: fmt.Sprintf("has %d rows, of which %d follow from the log", n, t.rows)})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func sameValue(a, b driver.Value) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes && areBytes {
		return bytes.Equal(x, y)
	}
	return isBytes == areBytes && a == b
}

func describe(t *table, row []driver.Value) string { return t.columns[0] + " " + show(row[0]) }

func show(v driver.Value) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf("%x", v)
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}
