package wire

// PublishDelta is the body of POST /v0/executions/{id}/steps/{step_id}/stream.
// Both fields are required; they are pointers so that an absent one is told
// from a zero.
type PublishDelta struct {
	Seq  *int64  `json:"seq"`  // at least 0
	Data *string `json:"data"` // may be empty; at most MaxDeltaBytes of UTF-8
}

// StreamDelta is one message of GET /v0/executions/{id}/stream.
type StreamDelta struct {
	StepID string `json:"step_id"`
	Seq    int64  `json:"seq"` // as published; a gap means lost deltas
	Data   string `json:"data"`
}

// StreamEnd is the last message of a stream, sent under the name [SSEEnd].
type StreamEnd struct {
	Status ExecutionStatus `json:"status"`
}

// The names of Server-Sent Events that are not types of [Event].
const (
	SSEEnd    = "end"    // the execution has ended; the data is a StreamEnd
	SSELagged = "lagged" // this reader fell behind and lost events; list again
)
