package kernel

// Status is where an execution stands; docs/events.md draws its moves and those
// of steps, dispatches and approvals.
type Status uint8

// The states of an execution. Nothing leaves the last three.
const (
	StatusPending Status = iota + 1
	StatusRunning
	StatusBlocked
	StatusCompleted
	StatusFailed
	StatusCancelled
)

var statusNames = [...]string{"unknown", "pending", "running", "blocked", "completed", "failed", "cancelled"}

func (s Status) String() string { return nameOf(statusNames[:], uint8(s)) }

// Terminal reports whether the execution has ended.
func (s Status) Terminal() bool { return s >= StatusCompleted }

// ParseStatus reads the wire name.
func ParseStatus(name string) (Status, bool) {
	i := indexOf(statusNames[:], name)
	return Status(i), i > 0
}

// Statuses are all states of an execution, in order.
func Statuses() []Status {
	return []Status{StatusPending, StatusRunning, StatusBlocked, StatusCompleted, StatusFailed, StatusCancelled}
}

// StepStatus is where a step stands.
type StepStatus uint8

// The states of a step. StepProposed never rests: a step that is recorded was decided.
const (
	StepStatusProposed StepStatus = iota + 1
	StepStatusAllowed
	StepStatusAwaitingApproval
	StepStatusExecuting
	StepStatusSucceeded
	StepStatusFailed
	StepStatusDenied
	StepStatusCancelled
)

var stepStatusNames = [...]string{"unknown", "proposed", "allowed", "awaiting_approval", "executing", "succeeded", "failed", "denied", "cancelled"}

func (s StepStatus) String() string { return nameOf(stepStatusNames[:], uint8(s)) }

// Terminal reports whether the step can change no more.
func (s StepStatus) Terminal() bool { return s >= StepStatusSucceeded }

// ParseStepStatus reads the wire name.
func ParseStepStatus(name string) (StepStatus, bool) {
	i := indexOf(stepStatusNames[:], name)
	return StepStatus(i), i > 0
}

// ApprovalStatus is where an approval stands.
type ApprovalStatus uint8

// The states of an approval.
const (
	ApprovalStatusPending ApprovalStatus = iota + 1
	ApprovalStatusGranted
	ApprovalStatusDenied
	ApprovalStatusExpired
	ApprovalStatusCancelled
)

var approvalStatusNames = [...]string{"unknown", "pending", "granted", "denied", "expired", "cancelled"}

func (s ApprovalStatus) String() string { return nameOf(approvalStatusNames[:], uint8(s)) }

// ParseApprovalStatus reads the wire name.
func ParseApprovalStatus(name string) (ApprovalStatus, bool) {
	i := indexOf(approvalStatusNames[:], name)
	return ApprovalStatus(i), i > 0
}

// DispatchStatus is where a dispatch stands.
type DispatchStatus uint8

// The states of a dispatch.
const (
	DispatchPending   DispatchStatus = iota + 1 // waits for its (next) claim
	DispatchFailed                              // a delivery failed; waits out its backoff
	DispatchInFlight                            // claimed and being delivered, or acked and leased
	DispatchDone                                // released: the execution ended, blocked or parked
	DispatchExhausted                           // given up on
	DispatchDiscarded                           // dropped undelivered, its execution had ended
)

var dispatchStatusNames = [...]string{"unknown", "pending", "failed", "in_flight", "done", "exhausted", "discarded"}

func (s DispatchStatus) String() string { return nameOf(dispatchStatusNames[:], uint8(s)) }

// Waiting reports whether the dispatch is still to be claimed.
func (s DispatchStatus) Waiting() bool { return s == DispatchPending || s == DispatchFailed }

// Idempotency says what becomes of a step whose outcome a crash left unknown.
type Idempotency uint8

// The idempotency modes.
const (
	SafeToRetry Idempotency = iota + 1 // may run again
	AtMostOnce                         // is recorded as failed, outcome unknown
)

var idempotencyNames = [...]string{"unknown", "safe_to_retry", "at_most_once"}

func (i Idempotency) String() string { return nameOf(idempotencyNames[:], uint8(i)) }

// ParseIdempotency reads the wire name.
func ParseIdempotency(name string) (Idempotency, bool) {
	i := indexOf(idempotencyNames[:], name)
	return Idempotency(i), i > 0
}

func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return names[0]
}

func indexOf(names []string, name string) uint8 {
	for i := 1; i < len(names); i++ {
		if names[i] == name {
			return uint8(i)
		}
	}
	return 0
}
