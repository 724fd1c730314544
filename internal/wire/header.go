package wire

// The headers of the service. They are compared without case.
const (
	HeaderAgentID         = "Service-Agent-Id"         // who signs: the id of the agent
	HeaderSignature       = "Service-Signature"        // see Sign
	HeaderDispatchID      = "Service-Dispatch-Id"      // the dispatch that an agent writes under
	HeaderDispatchAttempt = "Service-Dispatch-Attempt" // its attempt, a positive decimal
	HeaderIdempotencyKey  = "Idempotency-Key"          // makes a create, a submit or a signal safe to repeat
	HeaderRequestID       = "X-Request-Id"             // on every response; the caller's own when it sent a sane one
	HeaderLastEventID     = "Last-Event-ID"            // where an event tail goes on after a lost connection
)

// The media types of the service.
const (
	ContentTypeJSON        = "application/json"
	ContentTypeEventStream = "text/event-stream"
)
