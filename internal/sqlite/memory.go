package sqlite

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// The memory of an attempt is stored as gob: it is read back by the next
// process of the same file only, never shown, and dropped when it cannot be read.

func encodeMemory(m *kernel.Memory) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m); err != nil {
		return nil, fmt.Errorf("encode the memory of an attempt: %w", err)
	}
	return b.Bytes(), nil
}

// decodeMemory is nil for what another build wrote: its attempt counts as one
// that lost its memory.
func decodeMemory(b []byte) *kernel.Memory {
	m := &kernel.Memory{Counters: make(map[kernel.StepID]uint32)}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(m); err != nil {
		return nil
	}
	return m
}

// storeLeases keeps the memory of every attempt that is in flight, or was
// released and may still ask, for the next start.
func (w *writer) storeLeases() error {
	for _, r := range w.cache.resident {
		if err := w.storeLease(r); err != nil {
			return err
		}
	}
	for _, k := range w.tx.kept {
		if err := w.putLease(k.no, &k.lease); err != nil {
			return err
		}
	}
	return w.tx.commit()
}

func (w *writer) storeLease(r *resident) error {
	if r.state.Status.Terminal() || r.lease.Memory == nil && !r.lease.Live() {
		return nil
	}
	return w.putLease(r.state.No, &r.lease)
}

func (w *writer) putLease(no int64, l *kernel.Lease) error {
	var memory any // NULL: this attempt had lost it already
	if l.Memory != nil {
		b, err := encodeMemory(l.Memory)
		if err != nil {
			return err
		}
		memory = b
	}
	return w.tx.exec(w.sql.putLease, no, int64(l.ExpiresAt), int64(now()), memory)
}

// maxEvictions bounds what one transaction stores for executions that leave
// memory. It is more than one can bring in.
const maxEvictions = 2 * maxBatch

// evict makes room at the start of a transaction: what it drops is not changed
// in it, and what it stores commits with it. The execution at hand is the most
// recently used, which stays.
func (w *writer) evict() error {
	for range maxEvictions {
		r := w.cache.surplus()
		if r == nil || r.touched == w.tx.batch+1 {
			return nil
		}
		if err := w.storeLease(r); err != nil {
			return err
		}
		w.cache.drop(r)
		w.tx.evicted = append(w.tx.evicted, r)
	}
	return nil
}
