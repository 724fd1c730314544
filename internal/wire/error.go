package wire

import (
	"maps"
	"net/http"
	"slices"
)

// ErrorCode says what kind of error a response is about.
type ErrorCode string

// The error codes.
const (
	CodeValidation           ErrorCode = "validation_error"       // the request is malformed; details.problems says where
	CodeUnauthorized         ErrorCode = "unauthorized"           // no credential, or not the right one
	CodeForbidden            ErrorCode = "forbidden"              // the caller is known and may not do this
	CodeNotFound             ErrorCode = "not_found"              // no such thing, or an id that cannot be one
	CodeMethodNotAllowed     ErrorCode = "method_not_allowed"     // the header Allow lists what is
	CodeConflict             ErrorCode = "conflict"               // the state of the thing does not permit this
	CodeLeaseSuperseded      ErrorCode = "lease_superseded"       // a write by an attempt that owns the execution no longer
	CodeExecutionTerminal    ErrorCode = "execution_terminal"     // the execution has ended
	CodePayloadTooLarge      ErrorCode = "payload_too_large"      // the body is longer than the limit
	CodeUnsupportedMediaType ErrorCode = "unsupported_media_type" // the declared content type is not JSON
	CodeTooManyRequests      ErrorCode = "too_many_requests"      // overload; Retry-After says how long to wait
	CodeInternal             ErrorCode = "internal_error"         // the service's own fault; details.request_id finds the log line
	CodeUnavailable          ErrorCode = "unavailable"            // not ready, shutting down, or the store is gone; with Retry-After
)

// statuses is the one table of codes and their HTTP statuses.
var statuses = map[ErrorCode]int{
	CodeValidation:           http.StatusBadRequest,
	CodeUnauthorized:         http.StatusUnauthorized,
	CodeForbidden:            http.StatusForbidden,
	CodeNotFound:             http.StatusNotFound,
	CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	CodeConflict:             http.StatusConflict,
	CodeLeaseSuperseded:      http.StatusConflict,
	CodeExecutionTerminal:    http.StatusConflict,
	CodePayloadTooLarge:      http.StatusRequestEntityTooLarge,
	CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	CodeTooManyRequests:      http.StatusTooManyRequests,
	CodeInternal:             http.StatusInternalServerError,
	CodeUnavailable:          http.StatusServiceUnavailable,
}

// Status is the HTTP status of the code; 500 for a code that is not one.
func (c ErrorCode) Status() int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// ErrorCodes lists every code in alphabetical order.
func ErrorCodes() []ErrorCode { return slices.Sorted(maps.Keys(statuses)) }

// ErrorEnvelope is the body of every error response.
type ErrorEnvelope struct {
	Code    ErrorCode    `json:"code"`
	Message string       `json:"message"` // for a person; not for a program to match
	Details ErrorDetails `json:"details"` // an object, {} when there is nothing to add
}

// ErrorDetails is what a program may want to know of an error.
type ErrorDetails struct {
	Problems  []Problem `json:"problems,omitempty"`   // of a validation_error
	Status    string    `json:"status,omitempty"`     // of a conflict: the status that stands in the way
	RequestID string    `json:"request_id,omitempty"` // of an internal_error
}

// Problem is one thing that is wrong with a request.
type Problem struct {
	Field   string `json:"field"`            // a field's path, a header's or a parameter's name
	Problem string `json:"problem"`          // what is wrong with it
	Line    int    `json:"line,omitempty"`   // of a policy bundle, from 1
	Column  int    `json:"column,omitempty"` // of a policy bundle, from 1
}
