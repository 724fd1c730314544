package kernel

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// record has every field that a payload can have.
type record struct {
	AgentID       AgentID           `json:"agent_id"`
	Labels        map[string]string `json:"labels"`
	DeadlineAt    Instant           `json:"deadline_at"`
	DispatchID    DispatchID        `json:"dispatch_id"`
	Attempt       int64             `json:"attempt"`
	Status        string            `json:"status"`
	Reason        string            `json:"reason"`
	Ref           string            `json:"ref"`
	ApprovalID    ApprovalID        `json:"approval_id"`
	TimeoutAt     Instant           `json:"timeout_at"`
	Error         string            `json:"error"`
	HTTPStatus    int               `json:"http_status"`
	NextAttemptAt Instant           `json:"next_attempt_at"`
	StepID        StepID            `json:"step_id"`
	StepType      string            `json:"step_type"`
	Target        string            `json:"target"`
	ArgsHash      Digest            `json:"args_hash"`
	Occurrence    uint32            `json:"occurrence"`
	Idempotency   string            `json:"idempotency"`
	RuleID        string            `json:"rule_id"`
	Parked        bool              `json:"parked"`
	RetryAt       Instant           `json:"retry_at"`
	Usage         *Usage            `json:"usage"`
	Indeterminate bool              `json:"indeterminate"`
	Message       string            `json:"message"`
	Approvers     []string          `json:"approvers"`
	DecidedBy     string            `json:"decided_by"`
	Rationale     string            `json:"rationale"`
	SignalID      SignalID          `json:"signal_id"`
	SignalType    string            `json:"signal_type"`
	Key           string            `json:"idempotency_key"`
}

// DecodePayload reads back what [AppendPayload] wrote.
func DecodePayload(t EventType, payload []byte) (Data, error) {
	var r record
	if err := json.Unmarshal(payload, &r); err != nil {
		return nil, fmt.Errorf("decode payload of %s: %w", t, err)
	}
	d := r.data(t)
	if d == nil {
		return nil, fmt.Errorf("decode payload: unknown event type %d", t)
	}
	return d, nil
}

func (r *record) data(t EventType) Data {
	switch t {
	case TypeExecutionCreated:
		if len(r.Labels) == 0 {
			r.Labels = nil
		}
		return &ExecutionCreated{Agent: r.AgentID, Labels: r.Labels, Deadline: r.DeadlineAt}
	case TypeExecutionStarted:
		return &ExecutionStarted{Dispatch: r.DispatchID, Attempt: r.Attempt}
	case TypeExecutionBlocked:
		return r.blocked()
	case TypeExecutionResumed:
		return &ExecutionResumed{Reason: r.Reason}
	case TypeExecutionCompleted:
		return &ExecutionCompleted{}
	case TypeExecutionFailed:
		return &ExecutionFailed{Reason: r.Reason}
	case TypeExecutionCancelled:
		return &ExecutionCancelled{Reason: r.Reason}
	case TypeDispatchQueued:
		return &DispatchQueued{Dispatch: r.DispatchID, Attempt: r.Attempt, Reason: r.Reason}
	case TypeDispatchAcked:
		return &DispatchAcked{Dispatch: r.DispatchID, Attempt: r.Attempt}
	case TypeDispatchFailed:
		status := DispatchFailed
		if r.Status == DispatchExhausted.String() {
			status = DispatchExhausted
		}
		return &DeliveryFailed{Dispatch: r.DispatchID, Attempt: r.Attempt, Status: status, Error: r.Error, HTTPStatus: r.HTTPStatus, NextAttemptAt: r.NextAttemptAt}
	case TypeDispatchDiscarded:
		return &DeliveryDiscarded{Dispatch: r.DispatchID, Attempt: r.Attempt}
	case TypeApprovalRequested:
		if len(r.Approvers) == 0 {
			r.Approvers = nil
		}
		return &ApprovalRequested{
			Approval: r.ApprovalID, Step: r.StepID, Rule: r.RuleID, Reason: r.Reason, Message: r.Message,
			Approvers: r.Approvers, TimeoutAt: r.TimeoutAt,
		}
	case TypeApprovalGranted:
		return &ApprovalGranted{Approval: r.ApprovalID, Step: r.StepID, DecidedBy: r.DecidedBy, Rationale: r.Rationale}
	case TypeApprovalDenied:
		return &ApprovalDenied{Approval: r.ApprovalID, Step: r.StepID, DecidedBy: r.DecidedBy, Rationale: r.Rationale}
	case TypeApprovalExpired:
		return &ApprovalExpired{Approval: r.ApprovalID, Step: r.StepID}
	case TypeSignalReceived:
		return &SignalReceived{Signal: r.SignalID, SignalType: r.SignalType, Key: r.Key}
	default:
		return r.step(t)
	}
}

func (r *record) blocked() Data {
	if r.Reason == BlockedOnSignal.String() {
		return &ExecutionBlocked{Reason: BlockedOnSignal, Step: r.StepID, Signal: r.Ref, TimeoutAt: r.TimeoutAt}
	}
	step, _ := ParseStepID(r.Ref)
	return &ExecutionBlocked{Reason: BlockedOnApproval, Step: step, Approval: r.ApprovalID}
}

func (r *record) step(t EventType) Data {
	kind, _ := ParseStepKind(r.StepType)
	ref := StepRef{Step: r.StepID, Kind: kind, Target: r.Target, Dispatch: r.DispatchID, Attempt: r.Attempt}
	switch t {
	case TypeStepProposed:
		mode, _ := ParseIdempotency(r.Idempotency)
		return &StepProposed{StepRef: ref, ArgsHash: r.ArgsHash, Occurrence: r.Occurrence, Idempotency: mode}
	case TypeStepAllowed:
		return &StepAllowed{StepRef: ref, Rule: r.RuleID}
	case TypeStepDenied:
		return &StepDenied{StepRef: ref, Rule: r.RuleID, Reason: r.Reason}
	case TypeStepAwaitingApproval:
		return &StepAwaitingApproval{StepRef: ref, Rule: r.RuleID}
	case TypeStepRateLimited:
		return &StepRateLimited{StepRef: ref, Rule: r.RuleID, Reason: r.Reason, Parked: r.Parked, RetryAt: r.RetryAt}
	case TypeStepExecuting:
		return &StepExecuting{StepRef: ref}
	case TypeStepSucceeded:
		return &StepSucceeded{StepRef: ref, Usage: r.Usage}
	case TypeStepFailed:
		return &StepFailed{StepRef: ref, Indeterminate: r.Indeterminate}
	case TypeStepCancelled:
		return &StepCancelled{StepRef: ref}
	default:
		return nil
	}
}

var errNotAnID = errors.New("not an id of this service")

// UnmarshalText reads the canonical text form.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, ok := ParseUUID(string(text))
	if !ok {
		return errNotAnID
	}
	*u = parsed
	return nil
}

// UnmarshalText reads 64 hex characters.
func (d *Digest) UnmarshalText(text []byte) error { return unhex(d[:], text) }

// UnmarshalText reads 64 hex characters.
func (id *StepID) UnmarshalText(text []byte) error { return unhex(id[:], text) }

func unhex(dst, text []byte) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return errNotAnID
	}
	_, err := hex.Decode(dst, text)
	return err
}

// UnmarshalText reads the wire form.
func (i *Instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return err
	}
	*i = At(t)
	return nil
}
