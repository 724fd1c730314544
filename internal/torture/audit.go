package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// life is one run of a server, as far as retention is concerned.
type life struct {
	from, to  time.Time // to is zero while it runs
	retention time.Duration
}

// mayBeGone reports whether retention may have removed an execution that was
// alive at a time: it ended later, so it is older than that at most.
func mayBeGone(alive time.Time, lives []life, now time.Time) bool {
	return slices.ContainsFunc(lives, func(l life) bool {
		to := l.to
		if to.IsZero() {
			to = now
		}
		return l.retention > 0 && !alive.Add(l.retention).After(to)
	})
}

// shown is what the service shows of an execution.
type shown struct {
	execution wire.Execution
	steps     []wire.Step
	events    []wire.Event
	approvals []wire.Approval
}

// audited is what an audit looked at.
type audited struct {
	executions int // that are there
	gone       int // that retention removed
}

// readers is how many reads an audit has under way.
const readers = 6

// audit reads back executions of which something was learned since they were
// audited last, and a share of the others, at most so many. What is wrong goes
// into the ledger.
func (s *scene) audit(ctx context.Context, r *rand.Rand, share float64, most int) (audited, error) {
	var total audited
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, f := range s.ledger.chosen(r, share, most) {
		group.Go(func() error {
			var got shown
			began := time.Now()
			err := insist(ctx, func() error { return got.read(ctx, s.api, f.id) })
			if client.CodeOf(err) == wire.CodeNotFound {
				mu.Lock()
				defer mu.Unlock()
				if s.ledger.gone(f.id) {
					total.gone++
				}
				return nil
			}
			if err != nil {
				return fmt.Errorf("read execution %s: %w", f.id, err)
			}
			for _, what := range f.check(&got) {
				s.ledger.problem("execution %s: %s", f.id, what)
			}
			s.ledger.saw(&got.execution, got.steps, began)
			mu.Lock()
			defer mu.Unlock()
			total.executions++
			return nil
		})
	}
	return total, group.Wait()
}

func (s *shown) read(ctx context.Context, api *client.Client, id string) (err error) {
	if s.execution, err = api.GetExecution(ctx, id); err != nil {
		return err
	}
	if s.steps, err = api.ListSteps(ctx, id, ""); err != nil {
		return err
	}
	s.events = s.events[:0]
	for e, err := range api.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		s.events = append(s.events, e)
	}
	if s.approvals, err = api.ListApprovals(ctx, client.ApprovalFilter{Status: wire.ApprovalsAll, ExecutionID: id, Limit: 1000}); err != nil {
		return err
	}
	_, err = api.GetExecution(ctx, id) // that retention did not remove it in between
	return err
}

// gone judges an execution that is not there, and reports whether it need not be.
func (l *ledger) gone(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.executions[id]
	switch {
	case f == nil: // known already
	case l.mayBeGone(id):
		delete(l.keys, f.key)
		delete(l.executions, id)
	case !f.mayEnd:
		l.wrongf("execution %s (%s) is gone, and nothing could have ended it", f.id, f.key)
		return false
	default:
		l.wrongf("execution %s (%s) is gone, and was alive at %s: no retention reaches that far", f.id, f.key, f.alive.Format(time.RFC3339Nano))
		return false
	}
	return true
}

// chosen are copies of the facts to be audited, drawn from those that are not
// fresh, and from a share of the others.
func (l *ledger) chosen(r *rand.Rand, share float64, most int) []*facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*facts
	for _, f := range l.executions {
		if f.key != "" && (!f.fresh || r.Float64() < share) { // else its creation was not answered yet
			all = append(all, f)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(most, len(all))]
	for i, f := range all {
		f.fresh = true
		all[i] = f.clone()
	}
	return all
}

// clone is a copy that nobody writes to.
func (f *facts) clone() *facts {
	c := *f
	c.approvals, c.signals = maps.Clone(f.approvals), maps.Clone(f.signals)
	c.steps = make(map[string]*stepFacts, len(f.steps))
	for id, s := range f.steps {
		step := *s
		step.effects, step.reported = maps.Clone(s.effects), slices.Clone(s.reported)
		c.steps[id] = &step
	}
	return &c
}

// check holds what is shown against the facts, which are older.
func (f *facts) check(s *shown) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	x := &s.execution
	if got := digestOf(x.Input); got != f.input {
		bad("has input %x, was created with %x", got[:4], f.input[:4])
	}
	if x.LastEventSeq < f.seq {
		bad("had event %d, and has only %d now", f.seq, x.LastEventSeq)
	}
	if f.end != nil && endingOf(x) != *f.end {
		bad("ended as %s, and is %s now", f.end, endingOf(x))
	}
	log := readLog(s.events, bad)
	if int64(len(s.events)) < x.LastEventSeq {
		bad("says it has %d events, and shows %d", x.LastEventSeq, len(s.events))
	}
	byID := make(map[string]*wire.Step, len(s.steps))
	for i := range s.steps {
		byID[s.steps[i].StepID] = &s.steps[i]
	}
	for _, id := range slices.Sorted(maps.Keys(f.steps)) {
		if step := byID[id]; step == nil {
			bad("step %s was acknowledged, and is not there", id)
		} else {
			f.steps[id].check(step, log.starts[id], func(format string, args ...any) {
				bad("step "+id+" "+format, args...)
			})
		}
	}
	for id := range f.signals {
		if !log.signals[id] {
			bad("signal %s was acknowledged, and is not in the log", id)
		}
	}
	f.checkApprovals(s.approvals, bad)
	return wrong
}

func (f *facts) checkApprovals(approvals []wire.Approval, bad func(string, ...any)) {
	for id, v := range f.approvals {
		i := slices.IndexFunc(approvals, func(a wire.Approval) bool { return a.ID == id })
		switch {
		case i < 0:
			bad("approval %s was acknowledged, and is not there", id)
		case v.by == "":
		case approvals[i].Status != v.status || approvals[i].DecidedBy == nil || *approvals[i].DecidedBy != v.by:
			bad("approval %s was %s by %s, and is %s now", id, v.status, v.by, approvals[i].Status)
		}
	}
}

// check holds the record of a step, and where the log says that it was started,
// against the facts.
func (f *stepFacts) check(s *wire.Step, starts map[client.Dispatch]int, bad func(string, ...any)) {
	if got := digestOf(s.Args); !f.wait && f.mode != "" && got != f.args {
		bad("has args %x, was submitted with %x", got[:4], f.args[:4])
	}
	switch s.Status {
	case wire.StepExecuting, wire.StepSucceeded, wire.StepFailed, wire.StepCancelled:
		if f.denied {
			bad("was denied, and is %s now", s.Status)
		}
	case wire.StepDenied:
		if f.allowed {
			bad("was let go on, and is denied now")
		}
	case wire.StepProposed, wire.StepAllowed, wire.StepAwaitingApproval:
		if f.allowed || f.denied {
			bad("was decided, and is %s now", s.Status)
		}
	}
	now, ended := outcomeOf(s)
	if f.outcome != nil && (!ended || now != *f.outcome) {
		bad("came to %s, and is %s now", f.outcome, s.Status)
	}
	for d := range f.effects {
		if starts[d] == 0 {
			bad("had its effect in %v, whose intent is not in the log", d)
		}
	}
}

// executionLog is what the log of an execution says, as far as it is judged.
type executionLog struct {
	starts  map[string]map[client.Dispatch]int // of effects, by step
	signals map[string]bool
}

// readLog reads events and judges what they must not say.
func readLog(events []wire.Event, bad func(string, ...any)) executionLog {
	log := executionLog{starts: make(map[string]map[client.Dispatch]int), signals: make(map[string]bool)}
	modes := make(map[string]wire.Idempotency)
	over := false
	for i := range events {
		e := &events[i]
		if e.EventSeq != int64(i+1) {
			bad("event %d is at place %d of the log", e.EventSeq, i+1)
		}
		if over && e.Type != wire.EventDispatchDiscarded {
			bad("event %d, %s, comes after the end", e.EventSeq, e.Type)
		}
		over = over || e.Type.EndsExecution()
		switch e.Type {
		case wire.EventStepProposed, wire.EventStepExecuting:
			var p wire.StepPayload
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				bad("event %d: %v", e.EventSeq, err)
			}
			if e.Type == wire.EventStepProposed {
				modes[p.StepID] = p.Idempotency
				continue
			}
			starts := log.starts[p.StepID]
			if starts == nil {
				starts = make(map[client.Dispatch]int)
				log.starts[p.StepID] = starts
			}
			d := client.Dispatch{ID: p.DispatchID, Attempt: p.Attempt}
			if starts[d]++; starts[d] > 1 || len(starts) > 1 && modes[p.StepID] == wire.AtMostOnce {
				bad("event %d starts step %s again (%s)", e.EventSeq, p.StepID, modes[p.StepID])
			}
		case wire.EventSignalReceived:
			var p wire.SignalPayload
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				bad("event %d: %v", e.EventSeq, err)
			}
			log.signals[p.SignalID] = true
		default:
		}
	}
	return log
}
