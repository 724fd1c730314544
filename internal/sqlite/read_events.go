package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Events implements [store.Reader]. Every event is held against the hash chain
// before it is shown.
func (db *DB) Events(ctx context.Context, no int64, execution kernel.ExecutionID, after int64, limit int) (page []store.Event, err error) {
	const few, most = 32, 1024 // room that is made at once
	c := chainCheck{execution: execution, seq: max(after-1, 0)}
	err = db.reading(ctx, "events of "+execution.String(), func(ctx context.Context) error {
		if err := db.below(ctx, db.queries.events, func(row []driver.Value) error {
			e, err := c.next(row)
			if err == nil && e.Seq > after {
				if len(page) == few {
					page = slices.Grow(page, min(limit+1, most)-few) // likely a full one
				}
				page = append(page, e)
			}
			return err
		}, no, after, int64(limit+1)); err != nil {
			return err
		}
		page = page[:min(len(page), limit)]
		u := db.unpacker(ctx)
		for i := range page {
			if err := u.all(&page[i].Body); err != nil {
				return err
			}
		}
		return nil
	})
	return page, err
}

// eventsQuery is the page of a log from one event on, in the order that
// [chainCheck] takes it.
func eventsQuery() string {
	return "SELECT pos,seq,id,cause,type,at,payload,ruled,digest,hash,CASE WHEN type IN (" + shownBodies() +
		") THEN body END FROM events WHERE execution_no=? AND seq>=? ORDER BY seq LIMIT ?"
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

// chainCheck reads events in order. The first one that it reads is only
// believed, unless it is the first of all.
type chainCheck struct {
	execution kernel.ExecutionID
	seq       int64 // of the last event
	begun     bool
	head      kernel.Digest
	chain     kernel.Chain
	payload   []byte
}

func (c *chainCheck) next(row []driver.Value) (store.Event, error) {
	e := store.Event{
		Execution: c.execution, Pos: asInt(row[0]), Seq: asInt(row[1]), Type: kernel.EventType(asInt(row[4])),
		At: kernel.Instant(asInt(row[5])), Payload: asText(row[6]), Body: asBytes(row[10]),
	}
	copyTo(e.ID.UUID[:], row[2])
	copyTo(e.Cause.UUID[:], row[3])
	of := kernel.Event{Seq: e.Seq, ID: e.ID, Cause: e.Cause, At: e.At}
	copyTo(of.Ruled[:], row[7])
	copyTo(of.Digest[:], row[8])
	if c.begun || e.Seq == 1 {
		c.payload = append(c.payload[:0], e.Payload...)
		c.head = c.chain.Read(c.head, c.execution, &of, e.Type, c.payload)
		if !bytes.Equal(c.head[:], asBytes(row[9])) {
			return e, fmt.Errorf("event %d of execution %s does not fit the hash chain: %w", e.Seq, c.execution, store.ErrDamaged)
		}
	}
	if asInt(row[4]) != int64(e.Type) {
		return e, fmt.Errorf("event %d of execution %s is of type %d: %w", e.Seq, c.execution, asInt(row[4]), store.ErrDamaged)
	}
	if e.Seq != c.seq+1 {
		return e, fmt.Errorf("event %d of execution %s comes after event %d: %w", e.Seq, c.execution, c.seq, store.ErrDamaged)
	}
	c.begun, c.seq = true, e.Seq
	copyTo(c.head[:], row[9])
	return e, nil
}
