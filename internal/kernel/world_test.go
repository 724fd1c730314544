package kernel_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// epoch is when every test begins.
var epoch = kernel.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

const (
	defaultLease    = 2 * time.Minute
	defaultApproval = 15 * time.Minute
	defaultClaims   = 5
)

// reporter is what *testing.T and *rapid.T have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// service is what executions share: the clock, the log's positions, the
// randomness and the rate limits.
type service struct {
	now     kernel.Instant
	pos     int64
	seeds   uint64
	buckets map[string]*kernel.Bucket
	events  map[int64]*kernel.Event // by position
}

func newService() *service {
	return &service{now: epoch, buckets: map[string]*kernel.Bucket{}, events: map[int64]*kernel.Event{}}
}

// world is the smallest shell around the kernel: one execution, its lease, its
// log, and the few projections that commands need. It audits every command.
type world struct {
	*service
	t         reporter
	state     kernel.State
	lease     kernel.Lease
	log       []kernel.Record
	chain     kernel.Chain
	approvals []*kernel.ApprovalFacts // in order of request
	audit     *audit
}

func (s *service) world(t reporter) *world {
	w := &world{service: s, t: t, audit: newAudit()}
	w.state.ID = kernel.ExecutionID{UUID: s.mint(s.now).UUID()}
	w.audit.shadow.ID = w.state.ID
	return w
}

// mint draws the randomness of one command: different every time, equal in every run.
func (s *service) mint(at kernel.Instant) *kernel.Mint {
	s.seeds++
	var seed [10]byte
	binary.BigEndian.PutUint64(seed[:8], s.seeds*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint16(seed[8:], uint16(s.seeds*0xc2b2))
	m := kernel.NewMint(at, seed)
	return &m
}

// meta is the time and the ids of the next command. The shell never goes back
// behind the execution's last event, whatever the clock does.
func (w *world) meta() kernel.Meta {
	at := max(w.now, w.state.UpdatedAt)
	return kernel.Meta{At: at, Mint: *w.mint(at)}
}

// outcome is what a command came to.
type outcome struct {
	answer kernel.Answer
	events []kernel.Event
	err    *kernel.Rejection
}

// do decides a command, audits the plan, saves it and folds it, as a store would.
func (w *world) do(c kernel.Command) outcome {
	w.t.Helper()
	before, beforeLease := cloneState(&w.state), cloneLease(&w.lease)
	plan, err := kernel.Decide(&w.state, &w.lease, c)
	out := outcome{answer: plan.Answer, events: plan.Events}
	if err != nil {
		if !errors.As(err, &out.err) {
			w.t.Fatalf("%T: the error is a %T, want a *kernel.Rejection", c, err)
		}
	}
	w.audit.pure(w, c, before, beforeLease)
	w.save(c, &plan)
	w.audit.command(w, c, before, beforeLease, &plan, out.err)
	return out
}

func (w *world) save(c kernel.Command, plan *kernel.Plan) {
	for i := range plan.Events {
		e := &plan.Events[i]
		w.pos++
		e.Pos = w.pos
		w.events[e.Pos] = e
		payload := kernel.AppendPayload(nil, w.state.ID, e.Data)
		w.state.Head = w.chain.Next(w.state.Head, w.state.ID, e, payload)
		w.log = append(w.log, kernel.Record{Event: e, Payload: string(payload), Hash: w.state.Head})
		w.state.Fold(e)
		w.project(e)
	}
	if submit, ok := c.(*kernel.SubmitStep); ok && plan.Slot {
		submit.Bucket.Take(submit.Ruling.Limit, submit.At)
	}
	before := w.lease
	plan.Settle(&w.lease)
	plan.Unsettle(&w.lease, before) // a commit that failed; the audit compares
	w.audit.unsettled(w)
	plan.Settle(&w.lease)
}

// project keeps the facts of the approvals.
func (w *world) project(e *kernel.Event) {
	switch d := e.Data.(type) {
	case *kernel.ApprovalRequested:
		w.approvals = append(w.approvals, &kernel.ApprovalFacts{
			ID: d.Approval, Status: kernel.ApprovalStatusPending, Approvers: d.Approvers, TimeoutAt: d.TimeoutAt,
		})
	case *kernel.ApprovalGranted:
		a := w.approval(d.Approval)
		a.Status, a.DecidedBy = kernel.ApprovalStatusGranted, d.DecidedBy
	case *kernel.ApprovalDenied:
		a := w.approval(d.Approval)
		a.Status, a.DecidedBy = kernel.ApprovalStatusDenied, d.DecidedBy
	case *kernel.ApprovalExpired:
		w.approval(d.Approval).Status = kernel.ApprovalStatusExpired
	case *kernel.ExecutionCancelled:
		for _, a := range w.approvals {
			if a.Status == kernel.ApprovalStatusPending {
				a.Status = kernel.ApprovalStatusCancelled
			}
		}
	}
}

func (w *world) approval(id kernel.ApprovalID) *kernel.ApprovalFacts {
	for _, a := range w.approvals {
		if a.ID == id {
			return a
		}
	}
	w.t.Fatalf("no approval %s was requested", id)
	return nil
}

// body is the body that an answer gives, of a replay.
func (w *world) body(a *kernel.Answer) string {
	if a.Body != nil {
		return string(a.Body)
	}
	if e := w.events[a.BodyPos]; e != nil {
		return string(e.Body)
	}
	return ""
}

// submission is a submit as an agent sends it, and what the policy says to it.
type submission struct {
	caller  kernel.Holder
	kind    kernel.StepKind
	target  string
	args    string // JSON; "" for null
	mode    kernel.Idempotency
	key     string
	ruling  kernel.Ruling
	signal  string // a wait for this type
	timeout time.Duration
}

func (w *world) submitCommand(s *submission) *kernel.SubmitStep {
	if s.signal != "" {
		s.kind, s.target, s.args, s.mode = kernel.Local, kernel.SignalTarget(s.signal), "", kernel.SafeToRetry
	}
	if s.args == "" {
		s.args = "null"
	}
	if s.mode == 0 {
		s.mode = kernel.SafeToRetry
	}
	hash := kernel.Digest(canonjson.Digest([]byte(s.args)))
	c := &kernel.SubmitStep{
		Meta: w.meta(), Caller: s.caller, Kind: s.kind, Target: s.target, Idempotency: s.mode,
		Args: kernel.NewBody([]byte(s.args)), ArgsHash: hash, FirstID: kernel.DeriveStepID(w.state.ID, s.kind, s.target, hash, 0),
		Request: kernel.Sum([]byte(s.kind.String() + "\n" + s.target + "\n" + s.mode.String() + "\n" + hash.String())),
		Ruling:  s.ruling, Approval: defaultApproval,
	}
	if s.key != "" {
		c.Key = kernel.Sum([]byte(s.key))
	}
	if s.ruling.Limit != nil {
		c.Bucket = w.bucket(&s.ruling)
	}
	if s.signal != "" {
		c.Wait = &kernel.Wait{SignalType: s.signal}
		if s.timeout > 0 {
			c.Wait.TimeoutAt = c.At.Add(s.timeout)
		}
	}
	return c
}

// bucket is the one that a rule's scope shares.
func (w *world) bucket(r *kernel.Ruling) *kernel.Bucket {
	name := r.Rule
	switch r.Limit.Scope {
	case kernel.PerExecution:
		name += "/execution/" + w.state.ID.String()
	case kernel.PerAgent:
		name += "/agent/" + string(w.state.Agent)
	case kernel.PerService:
		name += "/global"
	}
	if w.buckets[name] == nil {
		w.buckets[name] = &kernel.Bucket{}
	}
	return w.buckets[name]
}

// crash is an unclean stop of the service: what was only in memory is gone.
func (w *world) crash() {
	w.lease.Memory = nil
	w.lease.ExpiresAt = w.now.Add(w.lease.Timeout)
}

// fork is a copy in which a command can be tried without a trace.
func (w *world) fork() *world {
	shared := *w.service
	shared.events = maps.Clone(w.events)
	shared.buckets = map[string]*kernel.Bucket{}
	for name, b := range w.buckets {
		shared.buckets[name] = &kernel.Bucket{Calls: slices.Clone(b.Calls)}
	}
	out := &world{service: &shared, t: w.t, state: *cloneState(&w.state), lease: *cloneLease(&w.lease), audit: w.audit.clone()}
	out.log = slices.Clone(w.log)
	for _, a := range w.approvals {
		facts := *a
		out.approvals = append(out.approvals, &facts)
	}
	return out
}

func cloneState(s *kernel.State) *kernel.State {
	c := *s
	c.Labels, c.Indeterminate, c.WasParked = maps.Clone(s.Labels), maps.Clone(s.Indeterminate), maps.Clone(s.WasParked)
	c.Signals = slices.Clone(s.Signals)
	c.Steps = maps.Clone(s.Steps)
	for id, step := range s.Steps {
		copied := *step
		copied.Usage = clonePtr(step.Usage)
		c.Steps[id] = &copied
	}
	c.Block, c.Park = clonePtr(s.Block), clonePtr(s.Park)
	return &c
}

func cloneLease(l *kernel.Lease) *kernel.Lease {
	c := *l
	if l.Memory != nil {
		c.Memory = &kernel.Memory{Counters: maps.Clone(l.Memory.Counters), Keys: maps.Clone(l.Memory.Keys)}
	}
	return &c
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
