package kernel

import "time"

// Command is one request to an execution, with everything that the core
// cannot know.
//
//sumtype:decl
type Command interface{ meta() *Meta }

// Meta is common to all commands.
type Meta struct {
	At   Instant // never before the execution's last event
	Mint Mint
}

func (m *Meta) meta() *Meta { return m }

// Stamp gives a command its moment, and the random bytes of its ids.
func Stamp(c Command, at Instant, seed [10]byte) { *c.meta() = Meta{At: at, Mint: NewMint(at, seed)} }

// The commands.
type (
	// CreateExecution starts an execution. Its State holds nothing but the id.
	CreateExecution struct {
		Meta
		Agent    AgentID
		Labels   map[string]string
		Deadline Instant
		Input    Body
	}
	// ClaimDispatch takes the due dispatch for delivery. It yields nothing when
	// there is nothing to claim any more.
	ClaimDispatch struct {
		Meta
		Dispatch DispatchID
		Timeout  time.Duration // lease timeout in force for the agent
	}
	// RecordDelivery reports how a delivery ended.
	RecordDelivery struct {
		Meta
		Attempt     Holder
		Acked       bool
		Error       string // of a failure
		HTTPStatus  int    // 0: no answer
		MaxAttempts int
		Jitter      float64 // in [0, 1)
	}
	// SubmitStep asks for a decision before an effect. As a wait
	// it asks for a signal.
	SubmitStep struct {
		Meta
		Caller      Holder
		Kind        StepKind
		Target      string
		Idempotency Idempotency
		Args        Body
		ArgsHash    Digest
		FirstID     StepID // [DeriveStepID] at occurrence 0
		Key         Digest // of the Idempotency-Key; zero without one
		Request     Digest // of everything submitted; compared under one key
		Ruling      Ruling
		Bucket      *Bucket       // of Ruling.Limit; nil without a limit
		Approval    time.Duration // timeout of an approval whose rule sets none
		Wait        *Wait         // non-nil: a wait
	}
	// FinishStep reports the outcome of a step's effect.
	FinishStep struct {
		Meta
		Caller    Holder
		Step      StepID
		Succeeded bool
		Outcome   Body // result or error
		Usage     *Usage
	}
	// FinishExecution reports the outcome of the agent's logic.
	FinishExecution struct {
		Meta
		Caller    Holder
		Succeeded bool
		Output    Body   // of a success
		Canonical Digest // canonical digest of Output
		Reason    string // of a failure
	}
	// CancelExecution ends the execution from outside.
	CancelExecution struct {
		Meta
		Reason string // ReasonClientCancelled or ReasonDeadline
	}
	// DecideApproval grants, denies or expires an approval.
	DecideApproval struct {
		Meta
		Approval  ApprovalFacts
		Verdict   ApprovalStatus // granted, denied or expired
		DecidedBy string
		Rationale string
	}
	// SendSignal delivers a signal.
	SendSignal struct {
		Meta
		SignalType string
		Payload    Body
		Key        string
	}
	// ExpireWait ends a wait for a signal whose time is over.
	ExpireWait struct{ Meta }
	// Unpark dispatches again when a parked step's slot may be free.
	Unpark struct{ Meta }
	// LapseLease takes the execution from an attempt that went quiet.
	LapseLease struct {
		Meta
		MaxAttempts int
	}
	// RestartDispatch replaces an attempt whose delivery an unclean stop cut off.
	RestartDispatch struct{ Meta }
	// Heartbeat renews the lease; without a caller, that of the current attempt.
	Heartbeat struct {
		Meta
		Caller Holder // zero: whoever holds it
	}
	// PublishDelta asks whether a live delta may go out.
	PublishDelta struct {
		Meta
		Caller Holder // zero: whoever holds it
		Step   StepID
	}
)

// Body is a JSON value as it was sent, and the digest of those bytes.
type Body struct {
	JSON   []byte
	Digest Digest
}

// NewBody is a body with its digest.
func NewBody(json []byte) Body { return Body{JSON: json, Digest: Sum(json)} }

// Wait is what a wait asks for beyond a submit.
type Wait struct {
	SignalType string
	TimeoutAt  Instant // zero: for ever
}

// ApprovalFacts are the stored facts of an approval that a decision needs.
type ApprovalFacts struct {
	ID        ApprovalID
	Status    ApprovalStatus
	Approvers []string
	DecidedBy string
	TimeoutAt Instant
}

// Bucket is the state of one rate limit: the moments of the calls that used a
// slot, oldest first.
type Bucket struct {
	Calls []Instant
	Keep  time.Duration // the longest window that was asked for
}

// free reports whether a slot is free at at, and if not, when one will be: at
// most limit.MaxCalls in any window, so the oldest of the last MaxCalls has to
// have left it.
func (b *Bucket) free(limit *RateLimit, at Instant) (ok bool, next Instant) {
	switch {
	case b == nil || limit.MaxCalls < 1: // never so; fails closed
		return false, at.Add(max(limit.Window, time.Microsecond))
	case len(b.Calls) < limit.MaxCalls:
		return true, 0
	}
	next = b.Calls[len(b.Calls)-limit.MaxCalls].Add(limit.Window)
	return next <= at, next
}

// Take uses a slot and forgets the calls that no window reaches any more.
func (b *Bucket) Take(limit *RateLimit, at Instant) {
	b.Keep = max(b.Keep, limit.Window) // rules of one id in several bundles may differ
	drop := 0
	for drop < len(b.Calls) && b.Calls[drop].Add(b.Keep) <= at {
		drop++
	}
	b.Calls = append(b.Calls[drop:], at)
	// Executions that share a bucket do not share a clock: one of them may be
	// ahead of a clock that was set back.
	for i := len(b.Calls) - 1; i > 0 && b.Calls[i-1] > at; i-- {
		b.Calls[i-1], b.Calls[i] = at, b.Calls[i-1]
	}
}
