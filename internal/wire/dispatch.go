package wire

// DispatchStatus is where a dispatch stands.
type DispatchStatus string

// The statuses of a dispatch.
const (
	DispatchPending   DispatchStatus = "pending"   // waits for its next delivery, due now
	DispatchInFlight  DispatchStatus = "in_flight" // is being delivered, or delivered and leased
	DispatchDone      DispatchStatus = "done"
	DispatchFailed    DispatchStatus = "failed"    // waits for its next delivery, later
	DispatchExhausted DispatchStatus = "exhausted" // given up on
	DispatchDiscarded DispatchStatus = "discarded" // dropped, because its execution had ended
)

// Webhook is the body that the service posts to an agent. Execution, dispatch
// and attempt together name one delivery, which is never sent twice.
type Webhook struct {
	ExecutionID         string `json:"execution_id"`
	DispatchID          string `json:"dispatch_id"`
	DispatchAttempt     int64  `json:"dispatch_attempt"`      // positive
	LeaseTimeoutSeconds int64  `json:"lease_timeout_seconds"` // the lease in force; positive
}
