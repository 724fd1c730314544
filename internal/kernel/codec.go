package kernel

import (
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

// AppendPayload appends the lean payload of e as the log keeps it: a compact
// JSON object with a fixed order of fields, without the body.
func AppendPayload(dst []byte, execution ExecutionID, d Data) []byte {
	dst = append(dst, '{')
	dst = d.appendFields(dst, execution)
	return append(dst, '}')
}

// Small builders: each appends one field; all but the first put a comma before it.

func textField(b []byte, name, value string) []byte {
	return canonjson.AppendString(fieldName(b, name), value)
}

func fieldName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func idField(b []byte, name string, id UUID) []byte {
	b = fieldName(b, name)
	if id.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b, _ = id.AppendText(b) // never fails
	return append(b, '"')
}

func hexField(b []byte, name string, sum []byte) []byte {
	b = append(fieldName(b, name), '"')
	b = hex.AppendEncode(b, sum)
	return append(b, '"')
}

func intField(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(fieldName(b, name), n, 10)
}

func boolField(b []byte, name string, v bool) []byte {
	return strconv.AppendBool(fieldName(b, name), v)
}

func timeField(b []byte, name string, at Instant) []byte {
	b = fieldName(b, name)
	if at.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b, _ = at.AppendText(b) // never fails
	return append(b, '"')
}

func listField(b []byte, name string, values []string) []byte {
	b = append(fieldName(b, name), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = canonjson.AppendString(b, v)
	}
	return append(b, ']')
}

func mapField(b []byte, name string, values map[string]string) []byte {
	b = append(fieldName(b, name), '{')
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = canonjson.AppendString(b, k)
		b = append(b, ':')
		b = canonjson.AppendString(b, values[k])
	}
	return append(b, '}')
}

func executionFields(b []byte, id ExecutionID, status Status) []byte {
	return textField(idField(b, "execution_id", id.UUID), "status", status.String())
}

func dispatchFields(b []byte, execution ExecutionID, id DispatchID, status DispatchStatus, attempt int64) []byte {
	b = idField(b, "dispatch_id", id.UUID)
	b = idField(b, "execution_id", execution.UUID)
	b = textField(b, "status", status.String())
	return intField(b, "attempt", attempt)
}

func approvalFields(b []byte, execution ExecutionID, id ApprovalID, step StepID, status ApprovalStatus) []byte {
	b = idField(b, "approval_id", id.UUID)
	b = hexField(b, "step_id", step[:])
	b = idField(b, "execution_id", execution.UUID)
	return textField(b, "status", status.String())
}

func (r StepRef) appendRef(b []byte) []byte {
	b = hexField(b, "step_id", r.Step[:])
	b = textField(b, "step_type", r.Kind.String())
	b = textField(b, "target", r.Target)
	b = idField(b, "dispatch_id", r.Dispatch.UUID)
	return intField(b, "attempt", r.Attempt)
}

func (d *ExecutionCreated) appendFields(b []byte, id ExecutionID) []byte {
	b = executionFields(b, id, StatusPending)
	b = textField(b, "agent_id", string(d.Agent))
	b = mapField(b, "labels", d.Labels)
	return timeField(b, "deadline_at", d.Deadline)
}

func (d *ExecutionStarted) appendFields(b []byte, id ExecutionID) []byte {
	b = executionFields(b, id, StatusRunning)
	return intField(idField(b, "dispatch_id", d.Dispatch.UUID), "attempt", d.Attempt)
}

func (d *ExecutionBlocked) appendFields(b []byte, id ExecutionID) []byte {
	b = executionFields(b, id, StatusBlocked)
	b = textField(b, "reason", d.Reason.String())
	if d.Reason == BlockedOnApproval {
		b = hexField(b, "ref", d.Step[:])
		return idField(b, "approval_id", d.Approval.UUID)
	}
	b = textField(b, "ref", d.Signal)
	b = idField(b, "approval_id", UUID{})
	b = hexField(b, "step_id", d.Step[:])
	return timeField(b, "timeout_at", d.TimeoutAt)
}

func (d *ExecutionResumed) appendFields(b []byte, id ExecutionID) []byte {
	return textField(executionFields(b, id, StatusRunning), "reason", d.Reason)
}

func (d *ExecutionCompleted) appendFields(b []byte, id ExecutionID) []byte {
	return executionFields(b, id, StatusCompleted)
}

func (d *ExecutionFailed) appendFields(b []byte, id ExecutionID) []byte {
	return textField(executionFields(b, id, StatusFailed), "reason", d.Reason)
}

func (d *ExecutionCancelled) appendFields(b []byte, id ExecutionID) []byte {
	return textField(executionFields(b, id, StatusCancelled), "reason", d.Reason)
}

func (d *DispatchQueued) appendFields(b []byte, id ExecutionID) []byte {
	return textField(dispatchFields(b, id, d.Dispatch, DispatchPending, d.Attempt), "reason", d.Reason)
}

func (d *DispatchAcked) appendFields(b []byte, id ExecutionID) []byte {
	return dispatchFields(b, id, d.Dispatch, DispatchInFlight, d.Attempt)
}

func (d *DeliveryFailed) appendFields(b []byte, id ExecutionID) []byte {
	b = dispatchFields(b, id, d.Dispatch, d.Status, d.Attempt)
	b = textField(b, "error", d.Error)
	b = intField(b, "http_status", int64(d.HTTPStatus))
	return timeField(b, "next_attempt_at", d.NextAttemptAt)
}

func (d *DeliveryDiscarded) appendFields(b []byte, id ExecutionID) []byte {
	return dispatchFields(b, id, d.Dispatch, DispatchDiscarded, d.Attempt)
}

func (d *StepProposed) appendFields(b []byte, _ ExecutionID) []byte {
	b = hexField(d.appendRef(b), "args_hash", d.ArgsHash[:])
	b = intField(b, "occurrence", int64(d.Occurrence))
	return textField(b, "idempotency", d.Idempotency.String())
}

func (d *StepAllowed) appendFields(b []byte, _ ExecutionID) []byte {
	return textField(d.appendRef(b), "rule_id", d.Rule)
}

func (d *StepDenied) appendFields(b []byte, _ ExecutionID) []byte {
	return textField(textField(d.appendRef(b), "rule_id", d.Rule), "reason", d.Reason)
}

func (d *StepAwaitingApproval) appendFields(b []byte, _ ExecutionID) []byte {
	return textField(d.appendRef(b), "rule_id", d.Rule)
}

func (d *StepRateLimited) appendFields(b []byte, _ ExecutionID) []byte {
	b = textField(textField(d.appendRef(b), "rule_id", d.Rule), "reason", d.Reason)
	return timeField(boolField(b, "parked", d.Parked), "retry_at", d.RetryAt)
}

func (d *StepExecuting) appendFields(b []byte, _ ExecutionID) []byte { return d.appendRef(b) }

func (d *StepSucceeded) appendFields(b []byte, _ ExecutionID) []byte {
	b = d.appendRef(b)
	if d.Usage == nil {
		return b
	}
	b = append(fieldName(b, "usage"), '{')
	b = intField(intField(b, "input_tokens", d.Usage.InputTokens), "output_tokens", d.Usage.OutputTokens)
	return append(b, '}')
}

func (d *StepFailed) appendFields(b []byte, _ ExecutionID) []byte {
	b = d.appendRef(b)
	if d.Indeterminate {
		b = boolField(b, "indeterminate", true)
	}
	return b
}

func (d *StepCancelled) appendFields(b []byte, _ ExecutionID) []byte { return d.appendRef(b) }

func (d *ApprovalRequested) appendFields(b []byte, id ExecutionID) []byte {
	b = approvalFields(b, id, d.Approval, d.Step, ApprovalStatusPending)
	b = textField(textField(b, "rule_id", d.Rule), "reason", d.Reason)
	b = timeField(listField(b, "approvers", d.Approvers), "timeout_at", d.TimeoutAt)
	return textField(b, "message", d.Message)
}

func (d *ApprovalGranted) appendFields(b []byte, id ExecutionID) []byte {
	b = approvalFields(b, id, d.Approval, d.Step, ApprovalStatusGranted)
	return textField(textField(b, "decided_by", d.DecidedBy), "rationale", d.Rationale)
}

func (d *ApprovalDenied) appendFields(b []byte, id ExecutionID) []byte {
	b = approvalFields(b, id, d.Approval, d.Step, ApprovalStatusDenied)
	return textField(textField(b, "decided_by", d.DecidedBy), "rationale", d.Rationale)
}

func (d *ApprovalExpired) appendFields(b []byte, id ExecutionID) []byte {
	return approvalFields(b, id, d.Approval, d.Step, ApprovalStatusExpired)
}

func (d *SignalReceived) appendFields(b []byte, id ExecutionID) []byte {
	b = idField(b, "execution_id", id.UUID)
	b = idField(b, "signal_id", d.Signal.UUID)
	b = textField(b, "signal_type", d.SignalType)
	if d.Key != "" {
		b = textField(b, "idempotency_key", d.Key)
	}
	return b
}

// null stands for JSON null in errorBody. It is not UTF-8, so no text is equal to it.
const null = "\xff"

// errorBody is a small error that the service itself records: an object of
// texts, given as name, value, name, value.
func errorBody(fields ...string) Body {
	b := append(make([]byte, 0, 128), '{')
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == null {
			b = append(fieldName(b, fields[i]), "null"...)
			continue
		}
		b = textField(b, fields[i], fields[i+1])
	}
	return NewBody(append(b, '}'))
}
