package kernel

// SchemaVersion is the version of all payloads written today.
const SchemaVersion = 1

// Event is one immutable row of an execution's log.
type Event struct {
	Seq    int64   // 1, 2, 3 … without a gap inside the execution
	Pos    int64   // global commit position; given by the store when it saves
	ID     EventID // version 7
	Cause  EventID // the event that caused this one; zero: something outside
	At     Instant
	Data   Data
	Body   []byte // what is kept beside the lean payload: JSON as it was sent; nil for none
	Digest Digest // SHA-256 of Body; stays when the body is erased
	Ruled  Digest // digest of the policy bundle behind a decision, or of the canonical output of a completion
}

// Type is the event's type.
func (e *Event) Type() EventType { return e.Data.Type() }

// EventType names what happened.
type EventType uint8

// The types of event; docs/events.md says when each is written.
const (
	TypeExecutionCreated EventType = iota + 1
	TypeExecutionStarted
	TypeExecutionBlocked
	TypeExecutionResumed
	TypeExecutionCompleted
	TypeExecutionFailed
	TypeExecutionCancelled
	TypeDispatchQueued
	TypeDispatchAcked
	TypeDispatchFailed
	TypeDispatchDiscarded
	TypeStepProposed
	TypeStepAllowed
	TypeStepDenied
	TypeStepAwaitingApproval
	TypeStepRateLimited
	TypeStepExecuting
	TypeStepSucceeded
	TypeStepFailed
	TypeStepCancelled
	TypeApprovalRequested
	TypeApprovalGranted
	TypeApprovalDenied
	TypeApprovalExpired
	TypeSignalReceived
)

var eventTypeNames = [...]string{
	"unknown",
	"execution.created", "execution.started", "execution.blocked", "execution.resumed",
	"execution.completed", "execution.failed", "execution.cancelled",
	"dispatch.queued", "dispatch.acked", "dispatch.failed", "dispatch.discarded",
	"step.proposed", "step.allowed", "step.denied", "step.awaiting_approval", "step.rate_limited",
	"step.executing", "step.succeeded", "step.failed", "step.cancelled",
	"approval.requested", "approval.granted", "approval.denied", "approval.expired",
	"signal.received",
}

func (t EventType) String() string { return nameOf(eventTypeNames[:], uint8(t)) }

// ParseEventType reads the wire name.
func ParseEventType(name string) (EventType, bool) {
	i := indexOf(eventTypeNames[:], name)
	return EventType(i), i > 0
}

// EventTypes are all types, in catalogue order.
func EventTypes() []EventType {
	all := make([]EventType, 0, len(eventTypeNames)-1)
	for i := 1; i < len(eventTypeNames); i++ {
		all = append(all, EventType(i))
	}
	return all
}

// Terminal reports whether the event ends its execution.
func (t EventType) Terminal() bool {
	return t == TypeExecutionCompleted || t == TypeExecutionFailed || t == TypeExecutionCancelled
}

// BodyField is the payload field under which readers see the body of such an
// event: "" when the body is read from the record instead (input, args, result).
func (t EventType) BodyField() string {
	switch t {
	case TypeExecutionCompleted:
		return "output"
	case TypeStepFailed, TypeStepDenied, TypeStepCancelled:
		return "error"
	case TypeSignalReceived:
		return "payload"
	default:
		return ""
	}
}

// Data is the payload of one type of event.
//
//sumtype:decl
type Data interface {
	Type() EventType
	// appendFields appends the lean payload, its fields only, without braces.
	appendFields(b []byte, execution ExecutionID) []byte
}

// StepRef is what every step event says of its step.
type StepRef struct {
	Step     StepID
	Kind     StepKind
	Target   string
	Dispatch DispatchID // the dispatch and
	Attempt  int64      // the attempt that the step was last touched by
}

// Usage counts the tokens of an LLM call.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// The payloads, in catalogue order.
type (
	// ExecutionCreated starts the log; its body is the input.
	ExecutionCreated struct {
		Agent    AgentID
		Labels   map[string]string
		Deadline Instant
	}
	// ExecutionStarted is the first proof that the agent has the run.
	ExecutionStarted struct {
		Dispatch DispatchID
		Attempt  int64
	}
	// ExecutionBlocked pauses on an approval or a signal.
	ExecutionBlocked struct {
		Reason    BlockReason
		Step      StepID // ref of an approval
		Approval  ApprovalID
		Signal    string // ref of a signal: its type
		TimeoutAt Instant
	}
	// ExecutionResumed ends a block.
	ExecutionResumed struct{ Reason string }
	// ExecutionCompleted ends well; its body is the output.
	ExecutionCompleted struct{}
	// ExecutionFailed ends badly.
	ExecutionFailed struct{ Reason string }
	// ExecutionCancelled ends by the client or the deadline.
	ExecutionCancelled struct{ Reason string }

	// DispatchQueued enqueues a dispatch, or its next attempt.
	DispatchQueued struct {
		Dispatch DispatchID
		Attempt  int64
		Reason   string
	}
	// DispatchAcked is a delivery that the agent took.
	DispatchAcked struct {
		Dispatch DispatchID
		Attempt  int64
	}
	// DeliveryFailed is dispatch.failed: a delivery that failed, a lease that
	// lapsed, or an attempt that a restart of the service cut off.
	DeliveryFailed struct {
		Dispatch      DispatchID
		Attempt       int64
		Status        DispatchStatus // DispatchFailed or DispatchExhausted
		Error         string
		HTTPStatus    int     // 0: no answer
		NextAttemptAt Instant // zero: none follows
	}
	// DeliveryDiscarded is dispatch.discarded.
	DeliveryDiscarded struct {
		Dispatch DispatchID
		Attempt  int64
	}

	// StepProposed is a submit that was not known yet; its body is the args.
	StepProposed struct {
		StepRef
		ArgsHash    Digest
		Occurrence  uint32
		Idempotency Idempotency
	}
	// StepAllowed lets the step run.
	StepAllowed struct {
		StepRef
		Rule string
	}
	// StepDenied refuses the step; its body is the error.
	StepDenied struct {
		StepRef
		Rule   string
		Reason string
	}
	// StepAwaitingApproval holds the step for a human.
	StepAwaitingApproval struct {
		StepRef
		Rule string
	}
	// StepRateLimited refuses or parks the submit; no step is recorded.
	StepRateLimited struct {
		StepRef
		Rule    string
		Reason  string
		Parked  bool
		RetryAt Instant
	}
	// StepExecuting is the durable intent to act.
	StepExecuting struct{ StepRef }
	// StepSucceeded records the outcome; its body is the result.
	StepSucceeded struct {
		StepRef
		Usage *Usage
	}
	// StepFailed records the outcome; its body is the error.
	StepFailed struct {
		StepRef
		Indeterminate bool // the attempt died in the middle: whether the effect ran is unknown
	}
	// StepCancelled ends a step with its execution; its body is the error.
	StepCancelled struct{ StepRef }

	// ApprovalRequested asks a human.
	ApprovalRequested struct {
		Approval  ApprovalID
		Step      StepID
		Rule      string
		Reason    string
		Message   string
		Approvers []string
		TimeoutAt Instant
	}
	// ApprovalGranted is a yes.
	ApprovalGranted struct {
		Approval  ApprovalID
		Step      StepID
		DecidedBy string
		Rationale string
	}
	// ApprovalDenied is a no.
	ApprovalDenied struct {
		Approval  ApprovalID
		Step      StepID
		DecidedBy string
		Rationale string
	}
	// ApprovalExpired is no answer in time.
	ApprovalExpired struct {
		Approval ApprovalID
		Step     StepID
	}

	// SignalReceived is a signal from outside; its body is the payload.
	SignalReceived struct {
		Signal     SignalID
		SignalType string
		Key        string // Idempotency-Key of the delivery, "" for none
	}
)

// Type names the event.
func (*ExecutionCreated) Type() EventType { return TypeExecutionCreated }

// Type names the event.
func (*ExecutionStarted) Type() EventType { return TypeExecutionStarted }

// Type names the event.
func (*ExecutionBlocked) Type() EventType { return TypeExecutionBlocked }

// Type names the event.
func (*ExecutionResumed) Type() EventType { return TypeExecutionResumed }

// Type names the event.
func (*ExecutionCompleted) Type() EventType { return TypeExecutionCompleted }

// Type names the event.
func (*ExecutionFailed) Type() EventType { return TypeExecutionFailed }

// Type names the event.
func (*ExecutionCancelled) Type() EventType { return TypeExecutionCancelled }

// Type names the event.
func (*DispatchQueued) Type() EventType { return TypeDispatchQueued }

// Type names the event.
func (*DispatchAcked) Type() EventType { return TypeDispatchAcked }

// Type names the event.
func (*DeliveryFailed) Type() EventType { return TypeDispatchFailed }

// Type names the event.
func (*DeliveryDiscarded) Type() EventType { return TypeDispatchDiscarded }

// Type names the event.
func (*StepProposed) Type() EventType { return TypeStepProposed }

// Type names the event.
func (*StepAllowed) Type() EventType { return TypeStepAllowed }

// Type names the event.
func (*StepDenied) Type() EventType { return TypeStepDenied }

// Type names the event.
func (*StepAwaitingApproval) Type() EventType { return TypeStepAwaitingApproval }

// Type names the event.
func (*StepRateLimited) Type() EventType { return TypeStepRateLimited }

// Type names the event.
func (*StepExecuting) Type() EventType { return TypeStepExecuting }

// Type names the event.
func (*StepSucceeded) Type() EventType { return TypeStepSucceeded }

// Type names the event.
func (*StepFailed) Type() EventType { return TypeStepFailed }

// Type names the event.
func (*StepCancelled) Type() EventType { return TypeStepCancelled }

// Type names the event.
func (*ApprovalRequested) Type() EventType { return TypeApprovalRequested }

// Type names the event.
func (*ApprovalGranted) Type() EventType { return TypeApprovalGranted }

// Type names the event.
func (*ApprovalDenied) Type() EventType { return TypeApprovalDenied }

// Type names the event.
func (*ApprovalExpired) Type() EventType { return TypeApprovalExpired }

// Type names the event.
func (*SignalReceived) Type() EventType { return TypeSignalReceived }

// BlockReason says what a blocked execution waits for.
type BlockReason uint8

// The reasons of a block.
const (
	BlockedOnApproval BlockReason = iota + 1
	BlockedOnSignal
)

var blockReasonNames = [...]string{"unknown", "approval", "signal"}

func (r BlockReason) String() string { return nameOf(blockReasonNames[:], uint8(r)) }

// The reasons that events carry; docs/events.md says which event has which.
const (
	ReasonCreated         = "created"
	ReasonApprovalGranted = "approval_granted"
	ReasonApprovalDenied  = "approval_denied"
	ReasonApprovalExpired = "approval_expired"
	ReasonApprovalTimeout = "approval_timeout"
	ReasonRateLimit       = "rate_limit"
	ReasonSignal          = "signal"
	ReasonSignalReceived  = "signal_received"
	ReasonSignalTimeout   = "signal_timeout"
	ReasonWaitTimedOut    = "wait_timed_out"
	ReasonLeaseLapsed     = "lease_lapsed"
	ReasonRestart         = "restart"
	ReasonRestarted       = "service_restarted"
	ReasonExhausted       = "dispatch_exhausted"
	ReasonClientCancelled = "client_cancelled"
	ReasonDeadline        = "deadline_exceeded"
	ReasonRateLimited     = "rate_limit_exceeded"
	ReasonBudget          = "execution_token_budget_exceeded"
	ReasonPolicyDenied    = "policy_denied"
	ReasonIndeterminate   = "indeterminate"
	ReasonCancelled       = "execution_cancelled"
)
