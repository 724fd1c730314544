package kernel

import (
	"crypto/sha256"
	"encoding/binary"
)

// Record is an event as the log keeps it.
type Record struct {
	Event   *Event
	Payload string // [AppendPayload]
	Hash    Digest // head of the chain after this event
}

// Chain computes the hash chain of logs. It is scratch space: one goroutine
// uses it at a time.
type Chain struct{ buf []byte }

// Next is the head after e, whose payload is payload, on top of prev:
//
//	SHA-256(prev ‖ execution ‖ seq ‖ id ‖ cause ‖ at ‖ schema ‖ type ‖ ruled ‖ body digest ‖ payload)
//
// with ids as their 16 bytes, digests as their 32 (zero for none), numbers as
// 8 bytes big-endian, and the type as its one-byte length and its name. prev is
// zero for the first event of an execution. The payload comes last, so that
// everything before it has a fixed frame. docs/events.md describes the same
// for those who check an export by other means.
func (c *Chain) Next(prev Digest, execution ExecutionID, e *Event, payload []byte) Digest {
	return c.sum(append(c.frame(prev, execution, e, e.Type()), payload...))
}

// Read is [Chain.Next] for an event whose payload is not decoded: of e, Data is
// not looked at.
func (c *Chain) Read(prev Digest, execution ExecutionID, e *Event, t EventType, payload string) Digest {
	return c.sum(append(c.frame(prev, execution, e, t), payload...))
}

// frame is what comes before the payload.
func (c *Chain) frame(prev Digest, execution ExecutionID, e *Event, t EventType) []byte {
	b := append(c.buf[:0], prev[:]...)
	b = append(b, execution.UUID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = append(b, e.ID.UUID[:]...)
	b = append(b, e.Cause.UUID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At))
	b = binary.BigEndian.AppendUint64(b, SchemaVersion)
	name := t.String()
	b = append(b, byte(len(name)))
	b = append(b, name...)
	b = append(b, e.Ruled[:]...)
	return append(b, e.Digest[:]...)
}

func (c *Chain) sum(b []byte) Digest {
	c.buf = b
	return sha256.Sum256(b)
}
