package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// maxExpired is how many events one transaction of retention removes, give or
// take an execution: some ten milliseconds, for which everybody waits.
const maxExpired = 4000

// Expire implements [store.Tx]: whole executions, so that what stays is whole.
func (t *tx) Expire(before kernel.Instant, limit int) (int, error) {
	type old struct {
		no int64
		id kernel.ExecutionID
	}
	var gone []old
	err := t.w.sql.ended.query(func(row []driver.Value) error {
		o := old{no: asInt(row[0])}
		copyTo(o.id.UUID[:], row[1])
		gone = append(gone, o)
		return nil
	}, int64(before), int64(limit))
	if err != nil {
		return 0, err
	}
	if len(gone) == 0 {
		return 0, nil
	}
	var sums retired
	if err := t.w.sql.retired.query(func(row []driver.Value) error {
		sums = retired{asInt(row[0]), asInt(row[1])}
		return nil
	}); err != nil {
		return 0, err
	}
	enough := sums.events + maxExpired
	n := len(gone)
	for _, o := range gone {
		if sums.events >= enough {
			n = limit // there are more
			break
		}
		if err := t.expire(o.no, &sums); err != nil {
			return 0, fmt.Errorf("expire execution %s: %w", o.id, err)
		}
		if r := t.w.cache.resident[o.id]; r != nil {
			t.w.cache.drop(r)
		}
	}
	return n, t.exec(t.w.sql.retire, t.pos, sums.events, sums.positions)
}

// retired are the running sums over everything that retention removed.
type retired struct{ events, positions int64 }

func (t *tx) expire(no int64, sums *retired) error {
	q := &t.w.sql
	if err := q.positions.query(func(row []driver.Value) error {
		sums.events += asInt(row[0])
		sums.positions += asInt(row[1])
		return nil
	}, no); err != nil {
		return err
	}
	labels := map[string]string{}
	if err := q.executionLabel.query(func(row []driver.Value) error {
		if row[0] == nil {
			return nil
		}
		return json.Unmarshal(asBytes(row[0]), &labels)
	}, no); err != nil {
		return err
	}
	for k, v := range labels {
		if err := t.exec(q.dropLabels, k, v, no); err != nil {
			return err
		}
	}
	for _, drop := range []*stmt{
		q.dropResults, q.dropSteps, q.dropEvents, q.dropApprovals, q.deleteBlock, q.dropParks, q.dropSignals,
		q.dropDispatch, q.deleteLease, q.dropKeys, q.dropExecution,
	} {
		if err := t.exec(drop, no); err != nil {
			return err
		}
	}
	from := store.ExecutionBuckets(no)
	return t.exec(q.dropSlots, from, from+"\xff")
}
