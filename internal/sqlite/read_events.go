package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Events implements [store.Reader]. Every event is held against the hash chain
// before it is shown.
func (db *DB) Events(ctx context.Context, no int64, execution kernel.ExecutionID, after int64, limit int, room []store.Event) ([]store.Event, error) {
	const most = 1024 // for how many there is room at once: the numbers may be damaged
	page := room[:0]
	err := db.reading(ctx, "events of "+execution.String(), func(ctx context.Context) error {
		c := chainCheck{execution: execution, seq: after, upTo: after + min(int64(limit), math.MaxInt64-after)}
		if err := all(ctx, db.queries.heads, c.head, no, after, c.upTo); err != nil {
			return err
		}
		if err := c.begin(); err != nil || c.last <= after {
			return err
		}
		page = slices.Grow(page, int(min(c.last-after, most)))
		if err := db.below(ctx, db.queries.events, func(row []driver.Value) error {
			e, err := c.next(row)
			page = append(page, e)
			return err
		}, no, after, c.last); err != nil {
			return err
		}
		if err := c.finish(len(page)); err != nil {
			return err
		}
		u := db.unpacker(ctx)
		for i := range page {
			if err := u.all(&page[i].Body); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// headsQuery is where the chain stands before a page, after the last event that
// fits into it, and at the end of the log.
const headsQuery = `SELECT seq,hash FROM events WHERE execution_no=?1 AND seq IN
  (?2,?3,(SELECT seq FROM events WHERE execution_no=?1 ORDER BY seq DESC LIMIT 1)) ORDER BY seq`

// eventsQuery is the events of a log after one and up to another, in order. A
// page is long and each of its cells costs as much as finding the row: it has no
// cell that [chainCheck] can do without, and the two ids share one.
func eventsQuery() string {
	return fmt.Sprintf("SELECT type,at,payload,id||ifnull(cause,x''),ruled,digest,CASE WHEN %d>>type&1 THEN body END "+
		"FROM events WHERE execution_no=? AND seq>? AND seq<=? ORDER BY seq", shownBodies())
}

// shownBodies has the bits set of those types of events whose body is part of
// the payload that readers see. The bodies of the others stay on the disk.
func shownBodies() (types uint64) {
	for _, t := range kernel.EventTypes() {
		if t.BodyField() != "" {
			types |= 1 << t
		}
	}
	return types
}

// below runs a query for so many rows that database/sql would cost as much as
// SQLite itself, beneath it. Preparing it anew costs less than ten rows do: the
// pool does not say when it closes a connection, and with it what is prepared.
func (db *DB) below(ctx context.Context, query string, each func(row []driver.Value) error, args ...any) error {
	pooled, err := db.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = pooled.Close() }() // back to the pool
	return pooled.Raw(func(raw any) (err error) {
		c, err := newConn(raw)
		if err != nil {
			return err
		}
		st, err := c.prepare(query)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		return st.queryContext(ctx, each, args...)
	})
}

// chainCheck reads a part of a log in order. The head of the chain before it is
// only believed; that after it must be what comes of the events between.
type chainCheck struct {
	execution kernel.ExecutionID
	seq       int64 // of the last event that was read
	upTo      int64 // the part ends there, or where the log does
	last      int64 // of the part
	end       int64 // of the log
	based     bool  // the head after seq is known
	now, want kernel.Digest
	chain     kernel.Chain
}

// head takes one of [headsQuery].
func (c *chainCheck) head(row scanner) error {
	var hash []byte
	if err := row.Scan(&c.end, &hash); err != nil {
		return err
	}
	if c.end == c.seq {
		c.based = copy(c.now[:], hash) == len(c.now)
	}
	if c.end <= c.upTo {
		c.last = c.end
		copy(c.want[:], hash)
	}
	return nil
}

// begin is called when all heads are known.
func (c *chainCheck) begin() error {
	missing := int64(0)
	switch {
	case c.seq > 0 && c.end > c.seq && !c.based:
		missing = c.seq
	case c.end > c.upTo && c.last < c.upTo:
		missing = c.upTo
	default:
		return nil
	}
	return fmt.Errorf("event %d of execution %s is missing: %w", missing, c.execution, store.ErrDamaged)
}

func (c *chainCheck) next(row []driver.Value) (store.Event, error) {
	c.seq++
	e := store.Event{
		Execution: c.execution, Seq: c.seq, Type: kernel.EventType(asInt(row[0])),
		At: kernel.Instant(asInt(row[1])), Payload: asText(row[2]), Body: asBytes(row[6]),
	}
	if asInt(row[0]) != int64(e.Type) {
		return e, fmt.Errorf("event %d of execution %s is of type %d: %w", e.Seq, c.execution, asInt(row[0]), store.ErrDamaged)
	}
	ids := asText(row[3]) // what || makes
	copy(e.Cause.UUID[:], ids[copy(e.ID.UUID[:], ids):])
	of := kernel.Event{Seq: e.Seq, ID: e.ID, Cause: e.Cause, At: e.At}
	copyTo(of.Ruled[:], row[4])
	copyTo(of.Digest[:], row[5])
	c.now = c.chain.Read(c.now, c.execution, &of, e.Type, e.Payload)
	return e, nil
}

// finish is called after the last event. Retention removes whole executions, so
// either all that was there when the page began is still there, or nothing.
func (c *chainCheck) finish(read int) error {
	switch {
	case read == 0: // it is gone
		return nil
	case c.seq != c.last || c.now != c.want:
		return fmt.Errorf("events %d to %d of execution %s do not fit the hash chain: %w",
			c.last-int64(read)+1, c.last, c.execution, store.ErrDamaged)
	}
	return nil
}
