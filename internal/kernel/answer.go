package kernel

import "time"

// Decision is what a submit is told; docs/api.md says what the agent does then.
type Decision uint8

// The decisions of a submit, and the answer of a reported outcome.
const (
	Proceed Decision = iota + 1
	Replay
	Denied
	BlockedByPolicy
	ExecutionBlockedDecision
	RateLimited
	ExecutionTerminal
	Recorded
)

var decisionNames = [...]string{"unknown", "proceed", "replay", "denied", "blocked", "execution_blocked", "rate_limited", "execution_terminal", "recorded"}

func (d Decision) String() string { return nameOf(decisionNames[:], uint8(d)) }

// Answer is a normal outcome. Only the fields that apply are set.
type Answer struct {
	Decision   Decision
	Step       StepID        // zero: none was derived
	Failed     bool          // a replay carries an error, not a result
	BodyPos    int64         // a replay's body is kept by the event at this position, or
	Body       []byte        // given here when that event is being written now
	Reason     string        // of denied and rate_limited
	Rule       string        // of denied, rate_limited and blocked
	Approval   ApprovalID    // of blocked, while a human decision is pending
	RetryAfter time.Duration // of rate_limited and of a parked blocked
	Claimed    *Claimed      // of a claim
	Unchanged  bool          // a repeat: nothing was written
	Signal     SignalID      // of a signal
}

// Claimed is what the dispatcher needs to deliver.
type Claimed struct {
	Attempt Holder
	Timeout time.Duration
}

// Code classifies a refusal; the wire has the same words.
type Code uint8

// The refusals of the core. The wire has more: those are about requests.
const (
	Conflict Code = iota + 1
	LeaseSuperseded
	TerminalExecution
	Forbidden
	NotFound
)

var codeNames = [...]string{"unknown", "conflict", "lease_superseded", "execution_terminal", "forbidden", "not_found"}

func (c Code) String() string { return nameOf(codeNames[:], uint8(c)) }

// Rejection is a refusal: the request was understood, and the rules forbid it.
type Rejection struct {
	Code    Code
	Message string         // what, why, what next
	Status  ApprovalStatus // the approval's status, when deciding it came too late
}

func (r *Rejection) Error() string { return r.Code.String() + ": " + r.Message }

// Plan is what a command comes to. It is saved whole or not at all.
type Plan struct {
	Events []Event
	Lease  Lease // the lease afterwards
	Answer Answer
	Slot   bool // use up a slot of the submit's bucket

	advance StepID // count one submit of this family
	counts  bool
	key     Digest
	keep    *Remembered
}

// Settle brings the memory of the attempt up to date once the plan is saved.
func (p *Plan) Settle(l *Lease) {
	*l = p.Lease
	if l.Memory == nil {
		return
	}
	if p.counts {
		if l.Memory.Counters == nil {
			l.Memory.Counters = make(map[StepID]uint32, 8)
		}
		l.Memory.Counters[p.advance]++
	}
	if p.keep != nil {
		if l.Memory.Keys == nil {
			l.Memory.Keys = make(map[Digest]Remembered, 8)
		}
		l.Memory.Keys[p.key] = *p.keep
	}
}

// Unsettle takes back what [Plan.Settle] did, when the plan could not be saved
// after all; before is the lease as it was.
func (p *Plan) Unsettle(l *Lease, before Lease) {
	if m := p.Lease.Memory; m != nil {
		if p.counts {
			if m.Counters[p.advance]--; m.Counters[p.advance] == 0 {
				delete(m.Counters, p.advance)
			}
		}
		if p.keep != nil {
			delete(m.Keys, p.key)
		}
	}
	*l = before
}
