package archive

import (
	"encoding/json"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Schema is the version of the format.
const Schema = "v0"

// Kind says what a line is.
type Kind string

// The kinds of line.
const (
	KindExecution Kind = "execution"
	KindEvent     Kind = "event"
	KindStep      Kind = "step"
	KindApproval  Kind = "approval"
	KindEnd       Kind = "end"
	KindCursor    Kind = "cursor"
)

// line is a line of any kind.
type line struct {
	Kind        Kind            `json:"kind"`
	Schema      string          `json:"schema,omitempty"`
	Execution   json.RawMessage `json:"execution,omitempty"`
	Event       json.RawMessage `json:"event,omitempty"`
	Step        json.RawMessage `json:"step,omitempty"`
	Approval    json.RawMessage `json:"approval,omitempty"`
	ExecutionID string          `json:"execution_id,omitempty"`
	Events      *int            `json:"events,omitempty"`
	Steps       *int            `json:"steps,omitempty"`
	Approvals   *int            `json:"approvals,omitempty"`
	SHA256      string          `json:"sha256,omitempty"`
	NextCursor  *string         `json:"next_cursor,omitempty"`
}

// Section is one execution with all that belongs to it.
type Section struct {
	Execution wire.Execution
	Events    []wire.Event
	Steps     []wire.Step
	Approvals []wire.Approval
	Line      int // of the file, where it begins
}
