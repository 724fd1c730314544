package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// PutAgent implements [store.Tx].
func (t *tx) PutAgent(a store.AgentSpec, at kernel.Instant) error {
	return t.exec(t.w.sql.putAgent, string(a.ID), a.WebhookURL, a.Secret, int64(a.Lease.Seconds()), int64(at))
}

// DeleteAgent implements [store.Tx]. The row stays, without its secret, because
// executions refer to it.
func (t *tx) DeleteAgent(id kernel.AgentID, at kernel.Instant) error {
	no, err := t.agentNo(id)
	if err != nil {
		return err
	}
	busy, err := one(t.w.sql.agentIsBusy, func([]driver.Value) error { return nil }, no)
	if err != nil {
		return err
	}
	if busy {
		return fmt.Errorf("agent %s has executions that have not ended: %w", id, store.ErrConflict)
	}
	if err := t.exec(t.w.sql.retirePolicy, no, int64(at)); err != nil {
		return err
	}
	return t.exec(t.w.sql.deleteAgent, no, int64(at))
}

// PutPolicy implements [store.Tx]. The bundle that is loaded already is not
// loaded again: a server that provisions at every start would pile them up.
func (t *tx) PutPolicy(id kernel.AgentID, bundle []byte, sum kernel.Digest, at kernel.Instant) error {
	no, err := t.agentNo(id)
	if err != nil {
		return err
	}
	same, err := one(t.w.sql.currentPolicy, func([]driver.Value) error { return nil }, no, sum[:])
	if err != nil || same {
		return err
	}
	if err := t.exec(t.w.sql.retirePolicy, no, int64(at)); err != nil {
		return err
	}
	return t.exec(t.w.sql.putPolicy, no, int64(at), sum[:], string(bundle))
}

// DeletePolicy implements [store.Tx].
func (t *tx) DeletePolicy(id kernel.AgentID, at kernel.Instant) error {
	no, err := t.agentNo(id)
	if err != nil {
		return err
	}
	return t.exec(t.w.sql.retirePolicy, no, int64(at))
}

func (t *tx) agentNo(id kernel.AgentID) (no int64, err error) {
	found, err := one(t.w.sql.agentNo, func(row []driver.Value) error { no = asInt(row[0]); return nil }, string(id))
	return no, notFound(found, err, "agent %s", id)
}

// Approval implements [store.Tx].
func (t *tx) Approval(id kernel.ApprovalID) (execution kernel.ExecutionID, a kernel.ApprovalFacts, err error) {
	found, err := one(t.w.sql.approvalFacts, func(row []driver.Value) error {
		copyTo(execution.UUID[:], row[0])
		a = kernel.ApprovalFacts{ID: id, Status: kernel.ApprovalStatus(asInt(row[1])), DecidedBy: asText(row[3]), TimeoutAt: kernel.Instant(asInt(row[4]))}
		if row[2] == nil {
			return nil
		}
		return json.Unmarshal(asBytes(row[2]), &a.Approvers)
	}, id.UUID[:])
	return execution, a, notFound(found, err, "approval %s", id)
}

// SignalByKey implements [store.Tx].
func (t *tx) SignalByKey(execution *kernel.State, key string) (id kernel.SignalID, req store.SignalRequest, err error) {
	found, err := one(t.w.sql.signalByKey, func(row []driver.Value) error {
		copyTo(id.UUID[:], row[0])
		req.Type = asText(row[1])
		copyTo(req.Payload[:], row[2])
		return nil
	}, execution.No, key)
	return id, req, notFound(found, err, "signal")
}

// CreateKey implements [store.Tx].
func (t *tx) CreateKey(key string) (id kernel.ExecutionID, request kernel.Digest, err error) {
	found, err := one(t.w.sql.keyed, func(row []driver.Value) error {
		copyTo(id.UUID[:], row[0])
		copyTo(request[:], row[1])
		return nil
	}, key)
	return id, request, notFound(found, err, "key")
}

// PutCreateKey implements [store.Tx].
func (t *tx) PutCreateKey(key string, request kernel.Digest, s *kernel.State) error {
	r := t.w.cache.resident[s.ID]
	if r == nil {
		return fmt.Errorf("key: execution %s was not saved", s.ID)
	}
	return t.exec(t.w.sql.putKey, key, request[:], r.state.No)
}

// maxBuckets bounds the rate limit buckets in memory; they are all stored, and
// read again when needed.
const maxBuckets = 50_000

// Bucket implements [store.Tx].
func (t *tx) Bucket(name string, _ *kernel.RateLimit) (*kernel.Bucket, error) {
	if b := t.buckets[name]; b != nil {
		return b, nil
	}
	b := &kernel.Bucket{}
	err := t.w.sql.loadSlots.query(func(row []driver.Value) error {
		b.Calls = append(b.Calls, kernel.Instant(asInt(row[0])))
		b.Keep = max(b.Keep, micros(asInt(row[1])))
		return nil
	}, name)
	if err != nil {
		return nil, err
	}
	if len(t.buckets) >= maxBuckets && len(t.used) == 0 {
		clear(t.buckets)
	}
	t.buckets[name] = b
	return b, nil
}

// UseSlot implements [store.Tx].
func (t *tx) UseSlot(name string, limit *kernel.RateLimit, at kernel.Instant) error {
	b, err := t.Bucket(name, limit)
	if err != nil {
		return err
	}
	t.used = append(t.used, name)
	held := len(b.Calls)
	b.Take(limit, at)
	if len(b.Calls) <= held { // something fell out of the window
		if err := t.exec(t.w.sql.pruneSlots, name, int64(at.Add(-b.Keep))); err != nil {
			return err
		}
	}
	return t.exec(t.w.sql.insertSlot, name, int64(at), b.Keep.Microseconds())
}
