package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// conn is a connection below database/sql: statements are prepared once and
// bound from reused slices, and rows are handed out as they are. One goroutine
// uses it at a time. The writer's never has a context that can be cancelled: an
// interrupt would break the statements of everyone in the batch.
type conn struct {
	raw   driver.Conn
	stmts []*stmt
}

type stmt struct {
	sql  string
	s    driver.Stmt
	runs driver.StmtExecContext  // s, for statements that change something
	asks driver.StmtQueryContext // s, for those that return rows
	args []driver.NamedValue
	row  []driver.Value
}

// newConn is the connection that database/sql has below it.
func newConn(raw any) (conn, error) {
	c, ok := raw.(driver.Conn)
	if !ok {
		return conn{}, fmt.Errorf("the driver's connection is a %T", raw)
	}
	return conn{raw: c}, nil
}

func (c *conn) prepare(sql string) (*stmt, error) {
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	st := &stmt{sql: sql, s: s}
	c.stmts = append(c.stmts, st)
	var canRun, canAsk bool
	st.runs, canRun = s.(driver.StmtExecContext)
	st.asks, canAsk = s.(driver.StmtQueryContext)
	if !canRun || !canAsk {
		return nil, fmt.Errorf("prepare %q: the driver's statements take no context", sql)
	}
	return st, nil
}

// once runs a statement that takes effect when it is compiled, as some pragmas
// do: prepared, it would do nothing any more.
func (c *conn) once(sql string) error {
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return fmt.Errorf("%s: %w", head(sql), err)
	}
	return s.Close()
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.s.Close())
	}
	c.stmts = nil
	return errors.Join(errs...)
}

func (s *stmt) bind(args []any) {
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
}

// exec runs the statement. Arguments are int64, string, []byte or nil.
func (s *stmt) exec(args ...any) error {
	s.bind(args)
	_, err := s.runs.ExecContext(context.Background(), s.args)
	if err != nil {
		return fmt.Errorf("%s: %w", head(s.sql), err)
	}
	return nil
}

// query calls each for every row. What each gets is valid only during the call,
// strings and byte slices excepted.
func (s *stmt) query(each func(row []driver.Value) error, args ...any) error {
	return s.queryContext(context.Background(), each, args...)
}

// queryContext is query until ctx ends.
func (s *stmt) queryContext(ctx context.Context, each func(row []driver.Value) error, args ...any) (err error) {
	s.bind(args)
	rows, err := s.asks.QueryContext(ctx, s.args)
	if err != nil {
		return fmt.Errorf("%s: %w", head(s.sql), err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		switch err := rows.Next(s.row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", head(s.sql), err)
		}
		if err := errors.Join(ctx.Err(), each(s.row)); err != nil {
			return err
		}
	}
}

func head(sql string) string {
	const enough = 40
	if len(sql) > enough {
		return sql[:enough] + "…"
	}
	return sql
}

// The values of a row, as the driver gives them; NULL is the zero value.

func asInt(v driver.Value) int64 { n, _ := v.(int64); return n }

func asText(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func asBytes(v driver.Value) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// copyTo fills a fixed-size id or digest.
func copyTo(dst []byte, v driver.Value) { copy(dst, asBytes(v)) }

// Arguments: zero is NULL where the column allows it.

func intOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func bytesOrNull(b []byte, none bool) any {
	if none {
		return nil
	}
	return b
}
