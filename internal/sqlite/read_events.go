package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Events implements [store.Reader]. Every event is held against the hash chain
// before it is shown.
func (db *DB) Events(ctx context.Context, no int64, execution kernel.ExecutionID, after int64, limit int) (page []store.Event, err error) {
	c := chainCheck{execution: execution, seq: max(after-1, 0)}
	err = db.reading(ctx, "events of "+execution.String(), func(ctx context.Context) error {
		if err := all(ctx, db.queries.events, func(row scanner) error {
			e, err := c.next(row)
			if err == nil && e.Seq > after {
				page = append(page, e)
			}
			return err
		}, no, after, limit+1); err != nil {
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

func (c *chainCheck) next(row scanner) (store.Event, error) {
	e := store.Event{Execution: c.execution}
	var id, cause, ruled, digest, hash sql.RawBytes
	if err := row.Scan(&e.Pos, &e.Seq, &id, &cause, &e.Type, &e.At, &e.Payload, &ruled, &digest, &hash, &e.Body); err != nil {
		return e, err
	}
	copy(e.ID.UUID[:], id)
	copy(e.Cause.UUID[:], cause)
	of := kernel.Event{Seq: e.Seq, ID: e.ID, Cause: e.Cause, At: e.At}
	copy(of.Ruled[:], ruled)
	copy(of.Digest[:], digest)
	if c.begun || e.Seq == 1 {
		c.payload = append(c.payload[:0], e.Payload...)
		c.head = c.chain.Read(c.head, c.execution, &of, e.Type, c.payload)
		if !bytes.Equal(c.head[:], hash) {
			return e, fmt.Errorf("event %d of execution %s does not fit the hash chain: %w", e.Seq, c.execution, store.ErrDamaged)
		}
	}
	if e.Seq != c.seq+1 {
		return e, fmt.Errorf("event %d of execution %s comes after event %d: %w", e.Seq, c.execution, c.seq, store.ErrDamaged)
	}
	c.begun, c.seq = true, e.Seq
	copy(c.head[:], hash)
	return e, nil
}
