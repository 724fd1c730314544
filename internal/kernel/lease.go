package kernel

import "time"

// Lease says who may write to an execution now. It is operational: the log
// does not know claims and heartbeats.
type Lease struct {
	Dispatch          // the durable part
	ExpiresAt Instant // of the attempt in flight; renewed by its writes and heartbeats
	Memory    *Memory // what the attempt in flight submitted; nil: lost by an unclean stop, or nothing in flight
}

// Dispatch is the newest dispatch of an execution. The zero value means that
// there was none yet.
type Dispatch struct {
	ID        DispatchID
	Status    DispatchStatus
	Attempt   int64         // claims of this dispatch: the fencing token
	Claims    int           // claims since a step was last recorded; bounded by the limit
	NotBefore Instant       // while it waits: when it is due
	Timeout   time.Duration // lease timeout of the attempt in flight
	Acked     bool          // its delivery is proven
	Holder    Holder        // the newest attempt that was claimed, of this dispatch or an earlier one
}

// Holder names an attempt.
type Holder struct {
	Dispatch DispatchID
	Attempt  int64
}

// Memory is what one attempt submitted so far.
type Memory struct {
	// Counters count the submits that resolved to a record, by first id.
	Counters map[StepID]uint32
	// Keys hold the decisions of submits that carried an Idempotency-Key, by its digest.
	Keys map[Digest]Remembered
}

// Remembered is the decision of a keyed submit.
type Remembered struct {
	Request Digest // of what was submitted: the same key with another request is a conflict
	Answer  Answer
}

func newMemory() *Memory {
	return &Memory{Counters: make(map[StepID]uint32, 8)}
}

// standing is how an attempt that writes stands to the lease.
type standing uint8

const (
	stale    standing = iota // not the newest claimed attempt
	live                     // in flight
	released                 // the newest, but its dispatch has ended: blocked, parked or over
	lapsed                   // the newest, but a next attempt is already queued
)

func (l *Lease) standing(caller Holder) standing {
	switch {
	case caller != l.Holder || caller.Attempt == 0:
		return stale
	case caller.Dispatch != l.ID:
		return lapsed
	case l.Status == DispatchInFlight:
		return live
	case l.Status.Waiting():
		return lapsed
	}
	return released
}

// Live reports whether an attempt is in flight.
func (l *Lease) Live() bool { return l.Status == DispatchInFlight }

// Lost reports whether the attempt in flight lost its counters to an unclean
// stop: it may report what it did, but start nothing.
func (l *Lease) Lost() bool { return l.Live() && l.Memory == nil }

func (l *Lease) renew(at Instant) {
	if until := at.Add(l.Timeout); until > l.ExpiresAt {
		l.ExpiresAt = until
	}
}
