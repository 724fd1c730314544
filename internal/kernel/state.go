package kernel

import "strings"

// State is one execution as its log tells it: headers only, never a body. It
// is a value of its one owner; [State.Fold] is the only writer.
type State struct {
	ID        ExecutionID
	No        int64 // position of execution.created; the store's number of the execution
	Agent     AgentID
	Labels    map[string]string
	Status    Status
	CreatedAt Instant
	UpdatedAt Instant // of the last event
	Deadline  Instant // zero: none
	Failure   string  // failure_reason
	Outcome   Digest  // canonical digest of the output of a completed execution
	OutputPos int64   // position of the event that holds the output

	LastSeq int64
	Head    Digest // head of the hash chain

	Steps  map[StepID]*Step
	Tokens int64 // input and output tokens recorded so far

	// Indeterminate holds, by first id (occurrence 0), the at_most_once steps
	// whose outcome is unknown; a twin of theirs is denied.
	Indeterminate map[StepID]struct{}
	// WasParked holds the steps that have used their one parking: over the limit
	// again when it comes back, a step is refused.
	WasParked map[StepID]struct{}

	Block   *Block   // set while blocked
	Park    *Park    // set while a parked step waits for its slot
	Signals []Signal // received and not taken yet, in order

	Created EventID // execution.created
	Queued  EventID // the latest dispatch.queued
	Acked   EventID // the latest dispatch.acked
}

// Step is the header of one recorded step.
type Step struct {
	No          int64 // position of its step.proposed, which also holds the args
	Kind        StepKind
	Status      StepStatus
	Idempotency Idempotency
	Occurrence  uint32
	Attempt     int64 // that started it last
	Dispatch    DispatchID
	Target      string
	Rule        string
	Reason      string // of a denial, as the decision shows it
	ArgsHash    Digest
	Approval    ApprovalID
	Usage       *Usage
	ResultPos   int64 // position of the event that ended it, which holds result or error
	CreatedAt   Instant
	StartedAt   Instant
	CompletedAt Instant
	Last        EventID // the latest event of the step: cause of the next
	Wait        bool    // waits for a signal rather than for the agent
	// Indeterminate: it failed because its attempt died in the middle.
	Indeterminate bool
}

// Block is what a blocked execution waits for.
type Block struct {
	Reason    BlockReason
	Step      StepID
	Approval  ApprovalID
	Requested EventID // approval.requested
	Signal    string
	TimeoutAt Instant // zero: waits for ever (signals only)
}

// Waits is what the block waits for; zero when there is no block.
func (b *Block) Waits() BlockReason {
	if b == nil {
		return 0
	}
	return b.Reason
}

// Park is a step that waits for a rate limit slot.
type Park struct {
	Step    StepID
	RetryAt Instant
	Event   EventID // step.rate_limited
}

// Signal is a delivered signal that no wait has taken yet.
type Signal struct {
	ID    SignalID
	Type  string
	Pos   int64 // position of its event, which holds the payload
	Event EventID
}

// FirstID is the step's identity at occurrence 0, which names its family of twins.
func (s *State) FirstID(step *Step) StepID {
	return DeriveStepID(s.ID, step.Kind, step.Target, step.ArgsHash, 0)
}

// Fold applies one saved event. Events come in order of Seq; the caller has
// set Pos. It is total: a log that this build wrote never fails it.
func (s *State) Fold(e *Event) {
	s.LastSeq = e.Seq
	s.UpdatedAt = e.At
	switch d := e.Data.(type) {
	case *ExecutionCreated:
		s.No, s.Agent, s.Labels, s.Deadline = e.Pos, d.Agent, d.Labels, d.Deadline
		s.Status, s.CreatedAt, s.Created = StatusPending, e.At, e.ID
	case *ExecutionStarted:
		s.Status = StatusRunning
	case *ExecutionBlocked:
		s.Status = StatusBlocked
		if d.Reason == BlockedOnSignal {
			s.Block = &Block{Reason: d.Reason, Step: d.Step, Signal: d.Signal, TimeoutAt: d.TimeoutAt}
		}
	case *ExecutionResumed:
		s.Status, s.Block = StatusRunning, nil
	case *ExecutionCompleted:
		s.end(StatusCompleted)
		s.Outcome, s.OutputPos = e.Ruled, e.Pos
	case *ExecutionFailed:
		s.end(StatusFailed)
		s.Failure = d.Reason
	case *ExecutionCancelled:
		s.end(StatusCancelled)
		s.Failure = d.Reason
	case *DispatchQueued:
		s.Queued, s.Park = e.ID, nil
	case *DispatchAcked:
		s.Acked = e.ID
	case *DeliveryFailed, *DeliveryDiscarded: // the lease knows
	case *SignalReceived:
		s.Signals = append(s.Signals, Signal{ID: d.Signal, Type: d.SignalType, Pos: e.Pos, Event: e.ID})
	case *ApprovalRequested:
		s.Block = &Block{Reason: BlockedOnApproval, Step: d.Step, Approval: d.Approval, Requested: e.ID, TimeoutAt: d.TimeoutAt}
		if step := s.Steps[d.Step]; step != nil {
			step.Approval = d.Approval
		}
	case *ApprovalDenied:
		// The decision that the agent sees gives the person's words, when there are any.
		if step := s.Steps[d.Step]; step != nil {
			step.Reason = d.Rationale
		}
	case *ApprovalGranted, *ApprovalExpired: // what follows from it has events of its own
	default:
		s.foldStep(e)
	}
}

func (s *State) end(status Status) {
	s.Status, s.Block, s.Park, s.Signals = status, nil, nil, nil
}

func (s *State) foldStep(e *Event) {
	switch d := e.Data.(type) {
	case *StepProposed:
		// Whether the step is recorded is said by the event that follows.
		if s.Steps == nil {
			s.Steps = make(map[StepID]*Step, 8)
		}
		s.Steps[d.Step] = &Step{
			No: e.Pos, Kind: d.Kind, Target: d.Target, Status: StepStatusProposed, Idempotency: d.Idempotency,
			Occurrence: d.Occurrence, ArgsHash: d.ArgsHash, Dispatch: d.Dispatch, Attempt: d.Attempt, CreatedAt: e.At, Last: e.ID,
		}
	case *StepRateLimited:
		delete(s.Steps, d.Step)
		if d.Parked {
			if s.WasParked == nil {
				s.WasParked = make(map[StepID]struct{}, 1)
			}
			s.WasParked[d.Step] = struct{}{}
			s.Park = &Park{Step: d.Step, RetryAt: d.RetryAt, Event: e.ID}
		}
	case *StepAllowed:
		step := s.touch(d.StepRef, e)
		step.Status, step.Rule = StepStatusAllowed, d.Rule
	case *StepAwaitingApproval:
		step := s.touch(d.StepRef, e)
		step.Status, step.Rule = StepStatusAwaitingApproval, d.Rule
	case *StepExecuting:
		step := s.touch(d.StepRef, e)
		step.Status, step.StartedAt = StepStatusExecuting, e.At
		step.Dispatch, step.Attempt = d.Dispatch, d.Attempt
		step.Wait = d.isWait()
	case *StepDenied:
		step := s.touch(d.StepRef, e)
		step.Rule = d.Rule
		if step.Reason == "" {
			step.Reason = d.Reason
		}
		step.finish(StepStatusDenied, e)
	case *StepSucceeded:
		step := s.touch(d.StepRef, e)
		step.finish(StepStatusSucceeded, e)
		if step.Wait {
			step.ResultPos = s.take(step.Target, e.Pos)
		}
		if d.Usage != nil {
			step.Usage = d.Usage
			s.Tokens += d.Usage.InputTokens + d.Usage.OutputTokens
		}
	case *StepFailed:
		step := s.touch(d.StepRef, e)
		step.finish(StepStatusFailed, e)
		if d.Indeterminate {
			s.MarkIndeterminate(step)
		}
	case *StepCancelled:
		s.touch(d.StepRef, e).finish(StepStatusCancelled, e)
	default: // not about a step: see Fold
	}
}

// MarkIndeterminate notes that the outcome of step is unknown. The store calls
// it when it loads a state from its rows.
func (s *State) MarkIndeterminate(step *Step) {
	if s.Indeterminate == nil {
		s.Indeterminate = make(map[StepID]struct{}, 1)
	}
	step.Indeterminate = true
	s.Indeterminate[s.FirstID(step)] = struct{}{}
}

// touch finds the step of a step event; a log that lost its step.proposed
// (never one of ours) still folds.
func (s *State) touch(ref StepRef, e *Event) *Step {
	step := s.Steps[ref.Step]
	if step == nil {
		step = &Step{No: e.Pos, Kind: ref.Kind, Target: ref.Target, Dispatch: ref.Dispatch, Attempt: ref.Attempt, CreatedAt: e.At}
		if s.Steps == nil {
			s.Steps = make(map[StepID]*Step, 8)
		}
		s.Steps[ref.Step] = step
	}
	step.Last = e.ID
	return step
}

func (step *Step) finish(status StepStatus, e *Event) {
	step.Status, step.ResultPos, step.CompletedAt = status, e.Pos, e.At
}

// take removes the oldest signal that the wait named by target was for, and
// says where its payload is kept, which is the result of the wait.
func (s *State) take(target string, otherwise int64) int64 {
	for i := range s.Signals {
		if SignalTarget(s.Signals[i].Type) == target {
			pos := s.Signals[i].Pos
			s.Signals = append(s.Signals[:i:i], s.Signals[i+1:]...)
			return pos
		}
	}
	return otherwise
}

const signalPrefix = "signal:"

// isWait reports whether the step waits for a signal. Targets of that form are
// kept for waits: see [ReservedTarget].
func (r StepRef) isWait() bool { return r.Kind == Local && strings.HasPrefix(r.Target, signalPrefix) }

// ReservedTarget reports whether an agent may not submit a step of this kind
// and target itself, because it would share its identity with a wait.
func ReservedTarget(kind StepKind, target string) bool {
	return StepRef{Kind: kind, Target: target}.isWait()
}

// SignalTarget is the target of the step that records a wait.
func SignalTarget(signalType string) string { return signalPrefix + signalType }
