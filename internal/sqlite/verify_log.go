package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/pack"
	"github.com/agentkernel/kernelctl/internal/store"
)

// logCheck walks the log of one execution.
type logCheck struct {
	no    int64
	state kernel.State
	head  kernel.Digest
	seq   int64
	pos   int64
	group []kernel.Event // not projected yet
	bad   bool           // a problem was found: what follows from it is not worth telling
	texts *unpacker
}

// eventColumns are the columns of the log, in the order of the check.
const eventColumns = `execution_no,seq,pos,type,at,schema_version,id,cause,ruled,digest,hash,payload,body`

func (v *verifier) prepare() error {
	for _, p := range []struct {
		to  **stmt
		sql string
	}{
		{&v.events, "SELECT " + eventColumns + " FROM events ORDER BY execution_no,seq"},
		{&v.id, "SELECT id FROM executions WHERE no=?"},
		{&v.queued, "SELECT queued_event,acked_event FROM dispatches WHERE execution_no=?"},
		{&v.body, "SELECT body FROM events WHERE pos=? AND execution_no=?"},
		{&v.label, "SELECT 1 FROM labels WHERE key=? AND value=? AND execution_no=?"},
	} {
		st, err := v.stored.prepare(p.sql)
		if err != nil {
			return err
		}
		*p.to = st
	}
	return v.prepareTables()
}

// compare walks the whole log, an execution after the other.
func (v *verifier) compare(ctx context.Context) error {
	if err := v.copyAgents(); err != nil {
		return err
	}
	err := v.events.query(func(row []driver.Value) error {
		if no := asInt(row[0]); no != v.log.no {
			if err := v.endOfLog(); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := v.startOfLog(no); err != nil {
				return err
			}
		}
		return v.event(row)
	})
	if err != nil {
		return err
	}
	if err := v.endOfLog(); err != nil {
		return err
	}
	return v.totals()
}

func (v *verifier) startOfLog(no int64) error {
	v.log = logCheck{no: no, group: v.log.group[:0], texts: &unpacker{codec: &v.codec, read: v.readBody}}
	v.report.Executions++
	if v.opts.Progress != nil && v.report.Executions%1000 == 0 {
		v.opts.Progress(v.report)
	}
	found, err := one(v.id, func(row []driver.Value) error {
		if !fits(row[0], len(kernel.UUID{})) {
			v.wrong("executions", 0, "the id is not one")
		}
		copyTo(v.log.state.ID.UUID[:], row[0])
		return nil
	}, no)
	if err == nil && !found {
		v.wrong("executions", 0, "no row, but there are events")
	}
	return err
}

// wrong notes a problem of the log at hand.
func (v *verifier) wrong(table string, seq int64, format string, args ...any) {
	v.log.bad = true
	v.problem(Problem{Table: table, Execution: v.log.state.ID, No: v.log.no, Seq: seq, What: fmt.Sprintf(format, args...)})
}

// event checks one row of the log and hands it to the rebuild.
func (v *verifier) event(row []driver.Value) error {
	l := &v.log
	seq, pos := asInt(row[1]), asInt(row[2])
	v.report.Events++
	v.sum += pos
	v.last = max(v.last, pos)
	e := kernel.Event{Seq: seq, Pos: pos, At: kernel.Instant(asInt(row[4]))}
	if err := v.checkBody(&e, row); err != nil {
		return err
	}
	if l.bad {
		return nil // told already
	}
	switch {
	case seq != l.seq+1:
		v.wrong("events", seq, "comes after event %d", l.seq)
	case pos <= l.pos:
		v.wrong("events", seq, "is at position %d, before the event that precedes it", pos)
	case seq == 1 && pos != l.no:
		v.wrong("events", seq, "is at position %d, which has to be the number of its execution", pos)
	case asInt(row[3]) != int64(kernel.EventType(asInt(row[3]))):
		v.wrong("events", seq, "is of type %d", asInt(row[3]))
	case asInt(row[5]) != kernel.SchemaVersion:
		v.wrong("events", seq, "has schema version %d", asInt(row[5]))
	case !fits(row[6], len(e.ID.UUID)) || !fitsOrNull(row[7], len(e.Cause.UUID)) || !fitsOrNull(row[8], len(e.Ruled)) ||
		!fitsOrNull(row[9], len(e.Digest)) || !fits(row[10], len(l.head)):
		v.wrong("events", seq, "has an id or a digest that is none")
	}
	l.seq, l.pos = seq, pos
	if l.bad {
		return nil
	}
	copyTo(e.ID.UUID[:], row[6])
	copyTo(e.Cause.UUID[:], row[7])
	copyTo(e.Ruled[:], row[8])
	payload := []byte(asText(row[11]))
	var err error
	if e.Data, err = kernel.DecodePayload(kernel.EventType(asInt(row[3])), payload); err != nil {
		v.wrong("events", seq, "%v", err)
		return nil
	}
	if l.head = v.chain.Next(l.head, l.state.ID, &e, payload); !bytes.Equal(l.head[:], asBytes(row[10])) {
		v.wrong("events", seq, "breaks the hash chain: it, its execution or its place was changed")
		return nil
	}
	return v.replay(e)
}

// checkBody compares a body that is there with its digest.
func (v *verifier) checkBody(e *kernel.Event, row []driver.Value) error {
	copyTo(e.Digest[:], row[9])
	if row[12] == nil {
		if row[9] != nil {
			v.report.Erased++
		}
		return nil
	}
	text, err := v.codec.Unpack(asBytes(row[12]), v.log.texts.source)
	switch {
	case errors.Is(err, errErased):
		v.report.Erased++ // with the body that it repeats
		return nil
	case errors.Is(err, pack.ErrCorrupt), errors.Is(err, store.ErrNotFound):
		v.wrong("events", e.Seq, "has a body that cannot be read: %v", err)
	case err != nil:
		return err
	case sha256.Sum256(text.JSON) != e.Digest:
		v.wrong("events", e.Seq, "has a body that its digest does not fit")
	}
	e.Body = text.JSON
	v.report.Bodies++
	return nil
}

// readBody reads what is stored of a body of the execution at hand, to which
// others of it may refer.
func (v *verifier) readBody(pos int64) (stored []byte, err error) {
	found, err := one(v.body, func(row []driver.Value) error {
		stored = asBytes(row[0])
		return nil
	}, pos, v.log.no)
	return stored, notFound(found, err, "event %d", pos)
}

func fits(value driver.Value, size int) bool {
	b, ok := value.([]byte)
	return ok && len(b) == size
}

// fitsOrNull tells NULL from zero, which the chain does not.
func fitsOrNull(value driver.Value, size int) bool {
	b, ok := value.([]byte)
	return value == nil || ok && len(b) == size && !bytes.Equal(b, make([]byte, size))
}

// totals checks what only all logs together can show: every position was given
// once, and is here or was removed by retention.
func (v *verifier) totals() error {
	var sums retired
	var last int64
	st, err := v.stored.prepare("SELECT events,positions,last FROM retired")
	if err != nil {
		return err
	}
	if err := st.query(func(row []driver.Value) error {
		sums, last = retired{asInt(row[0]), asInt(row[1])}, asInt(row[2])
		return nil
	}); err != nil {
		return err
	}
	n := uint64(max(last, v.last))
	switch {
	case uint64(v.report.Events+sums.events) != n:
		v.problem(Problem{Table: "events", What: fmt.Sprintf("%d are here and retention removed %d, but %d were written", v.report.Events, sums.events, n)})
	case uint64(v.sum+sums.positions) != sumTo(n):
		v.problem(Problem{Table: "events", What: "the position of one was changed"})
	}
	return v.tableTotals()
}

// sumTo is 1 + 2 + … + n, wrapping like the sums of positions do.
func sumTo(n uint64) uint64 {
	if n%2 == 0 {
		return n / 2 * (n + 1)
	}
	return (n + 1) / 2 * n
}
