package wire

import "encoding/json"

// EventSchemaVersion is the version of the payloads below.
const EventSchemaVersion = 1

// Event is one immutable entry of an execution's log.
type Event struct {
	ID            string          `json:"id"`
	ExecutionID   string          `json:"execution_id"`
	EventSeq      int64           `json:"event_seq"` // 1, 2, 3 … without a gap inside one execution
	Type          EventType       `json:"type"`
	SchemaVersion int             `json:"schema_version"`
	OccurredAt    Time            `json:"occurred_at"`
	CausationID   *string         `json:"causation_id"`   // the event that caused this one
	CorrelationID string          `json:"correlation_id"` // shared by a chain of events
	Payload       json.RawMessage `json:"payload"`        // an object; see the Payload types
}

// EventType says what happened.
type EventType string

// The types of event.
const (
	EventExecutionCreated   EventType = "execution.created"
	EventExecutionStarted   EventType = "execution.started"
	EventExecutionBlocked   EventType = "execution.blocked"
	EventExecutionResumed   EventType = "execution.resumed"
	EventExecutionCompleted EventType = "execution.completed"
	EventExecutionFailed    EventType = "execution.failed"
	EventExecutionCancelled EventType = "execution.cancelled"

	EventStepProposed         EventType = "step.proposed"
	EventStepAllowed          EventType = "step.allowed"
	EventStepDenied           EventType = "step.denied"
	EventStepAwaitingApproval EventType = "step.awaiting_approval"
	EventStepRateLimited      EventType = "step.rate_limited"
	EventStepExecuting        EventType = "step.executing"
	EventStepSucceeded        EventType = "step.succeeded"
	EventStepFailed           EventType = "step.failed"
	EventStepCancelled        EventType = "step.cancelled"

	EventApprovalRequested EventType = "approval.requested"
	EventApprovalGranted   EventType = "approval.granted"
	EventApprovalDenied    EventType = "approval.denied"
	EventApprovalExpired   EventType = "approval.expired"

	EventDispatchQueued    EventType = "dispatch.queued"
	EventDispatchAcked     EventType = "dispatch.acked"
	EventDispatchFailed    EventType = "dispatch.failed"
	EventDispatchDiscarded EventType = "dispatch.discarded"

	EventSignalReceived EventType = "signal.received"
)

// EventTypes lists every type.
func EventTypes() []EventType {
	return []EventType{
		EventExecutionCreated, EventExecutionStarted, EventExecutionBlocked, EventExecutionResumed,
		EventExecutionCompleted, EventExecutionFailed, EventExecutionCancelled,
		EventStepProposed, EventStepAllowed, EventStepDenied, EventStepAwaitingApproval, EventStepRateLimited,
		EventStepExecuting, EventStepSucceeded, EventStepFailed, EventStepCancelled,
		EventApprovalRequested, EventApprovalGranted, EventApprovalDenied, EventApprovalExpired,
		EventDispatchQueued, EventDispatchAcked, EventDispatchFailed, EventDispatchDiscarded,
		EventSignalReceived,
	}
}

// ExecutionStatus is the status of an execution from the event on; empty when
// the event does not change it.
func (t EventType) ExecutionStatus() ExecutionStatus {
	switch t {
	case EventExecutionCreated:
		return ExecutionPending
	case EventExecutionStarted, EventExecutionResumed:
		return ExecutionRunning
	case EventExecutionBlocked:
		return ExecutionBlocked
	case EventExecutionCompleted:
		return ExecutionCompleted
	case EventExecutionFailed:
		return ExecutionFailed
	case EventExecutionCancelled:
		return ExecutionCancelled
	default:
		return ""
	}
}

// EndsExecution reports whether the execution is terminal from this event on.
// Event tails end with it.
func (t EventType) EndsExecution() bool {
	return t == EventExecutionCompleted || t == EventExecutionFailed || t == EventExecutionCancelled
}
