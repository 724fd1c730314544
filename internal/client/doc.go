// Package client is the typed HTTP client of the service: one method a route,
// and tails that reconnect for ever. The command line and the dashboard use it
// alike.
//
// Errors are values: [*Error] is what the service answered, [*ConnectionError]
// means that no answer came, [*ProtocolError] that the answer is not one of
// this service. When the caller's context ends, its error is what comes back.
// No error and no trace line ever holds a token or a secret.
//
// A request is repeated only where a repeat is safe: reads; writes that carry
// an idempotency key; and anything at all when the request never left, or when
// the service refused it for overload before it looked at it.
//
// It imports package wire and the standard library only. It starts no goroutine
// that outlives a call. A [Client] is safe for concurrent use.
package client
