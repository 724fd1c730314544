package wire

import "encoding/json"

// Signal is the body of POST /v0/executions/{id}/signal.
type Signal struct {
	SignalType string          `json:"signal_type"`       // see ValidName
	Payload    json.RawMessage `json:"payload,omitempty"` // any value; absent means null
}

// SignalAccepted answers a signal.
type SignalAccepted struct {
	SignalID string `json:"signal_id"`
}

// Wait is the body of POST /v0/executions/{id}/wait, which answers a [Decision].
type Wait struct {
	SignalType     string `json:"signal_type"`
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"` // at least 1; absent: waits for ever
}

// SignalTarget is the target of the local step that a wait is recorded as.
func SignalTarget(signalType string) string { return "signal:" + signalType }
