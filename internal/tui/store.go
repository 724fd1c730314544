package tui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// approval is an approval with what its row shows. Values, never changed in
// place but for its fate: a modal holds a copy.
type approval struct {
	wire.Approval
	line    string // the arguments, clean, on one line
	odd     bool   // the arguments hold characters that are shown as escapes
	hay     string // for filters, lower case
	arrived time.Time
}

// statusGone is the status of an approval that is not pending any more, when
// nobody said what became of it.
const statusGone wire.ApprovalStatus = "no longer pending"

func (a *approval) pending() bool { return a.Status == wire.ApprovalPending }

// execution is an execution without its input and output, which only its own
// screen needs.
type execution struct {
	wire.Execution
	step string // the target of its last step, clean
	hay  string // for filters, lower case; made when it is needed
}

// store holds what was heard of the service. Only Update writes to it. Rev
// counts the changes of each part.
type store struct {
	approvals  map[string]*approval
	executions map[string]*execution
	agents     []wire.Agent
	apRev      int
	exRev      int
	exSet      int // changes of which executions there are
	apLoaded   bool
	exLoaded   bool // the first page
	exAll      bool // as many as are wanted
	agLoaded   bool
	pending    int
	news       string    // the newest approval, for the status line
	newsAt     time.Time // when
	fresh      int       // of arrivals since the last look of the notifier
}

func newStore() *store {
	return &store{approvals: map[string]*approval{}, executions: map[string]*execution{}}
}

// putApprovals takes a listing of the pending approvals.
func (s *store) putApprovals(list []wire.Approval, now time.Time) {
	seen := make(map[string]bool, len(list))
	for _, w := range list {
		seen[w.ID] = true
		if old := s.approvals[w.ID]; old != nil && old.Status != statusGone {
			continue // what was heard since is newer than the listing
		}
		a := newApproval(w, now)
		s.approvals[w.ID] = a
		if s.apLoaded {
			s.news, s.newsAt = text.Clean(w.Target)+" by "+text.Clean(w.AgentID), now
			s.fresh++
		}
	}
	if len(list) < wire.MaxApprovalsLimit {
		for id, a := range s.approvals {
			if a.pending() && !seen[id] {
				s.settle(id, statusGone, "", "", wire.At(now))
			}
		}
	}
	s.apLoaded = true
	s.count()
}

// settle notes what became of an approval.
func (s *store) settle(id string, status wire.ApprovalStatus, by, why string, at wire.Time) {
	a := s.approvals[id]
	if a == nil || (!a.pending() && a.Status != statusGone) {
		return
	}
	b := *a
	b.Status, b.DecidedAt = status, &at
	if by != "" {
		b.DecidedBy = &by
	}
	if why != "" {
		b.Rationale = &why
	}
	s.approvals[id] = &b
	s.apRev++
}

// learn takes what the service says of one approval.
func (s *store) learn(w wire.Approval, now time.Time) {
	a := newApproval(w, now)
	if old := s.approvals[w.ID]; old != nil {
		a.arrived = old.arrived
	}
	s.approvals[w.ID] = a
	s.count()
}

// maxSettled is how many decided approvals are remembered.
const maxSettled = 500

func (s *store) count() {
	s.apRev++
	s.pending = 0
	var oldest *approval
	settled := 0
	for _, a := range s.approvals {
		if a.pending() {
			s.pending++
			continue
		}
		settled++
		if oldest == nil || a.CreatedAt.Before(oldest.CreatedAt.Time) {
			oldest = a
		}
	}
	if settled > maxSettled {
		delete(s.approvals, oldest.ID)
	}
}

func newApproval(w wire.Approval, now time.Time) *approval {
	line := compact(w.Args, 2048)
	clean := text.Clean(line)
	return &approval{
		Approval: w, line: clean, odd: clean != line, arrived: now,
		hay: strings.ToLower(strings.Join([]string{w.ID, w.Target, w.AgentID, w.RuleID, w.ExecutionID, line}, " ")),
	}
}

// compact is the beginning of a JSON text on one line.
func compact(raw json.RawMessage, limit int) string {
	if len(raw) > limit {
		return string(raw[:limit])
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// putExecution takes an execution of a listing, unless the feed told more.
func (s *store) putExecution(x wire.Execution) {
	old := s.executions[x.ID]
	if old != nil && old.LastEventSeq > x.LastEventSeq {
		return
	}
	x.Input, x.Output = nil, nil
	e := &execution{Execution: x}
	if old != nil {
		e.step = old.step
	}
	if old == nil {
		s.exSet++
	}
	s.executions[x.ID] = e
	s.exRev++
}

// words are what a filter looks for words in.
func (e *execution) words() string {
	if e.hay != "" {
		return e.hay
	}
	var b strings.Builder
	for _, p := range []string{e.ID, e.AgentID, string(e.Status), e.step, e.FailureReason} {
		b.WriteString(p)
		b.WriteByte(' ')
	}
	for k, v := range e.Labels {
		b.WriteString(k + "=" + v + " ")
	}
	e.hay = strings.ToLower(b.String())
	return e.hay
}

// prune forgets the oldest executions that have ended when there are too many.
func (s *store) prune() {
	if len(s.executions) < maxExecutions*6/5 {
		return
	}
	var ended []*execution
	for _, e := range s.executions {
		if e.Status.Terminal() {
			ended = append(ended, e)
		}
	}
	sortBy(ended, func(e *execution) int64 { return e.CreatedAt.UnixMicro() })
	for _, e := range ended[:min(len(ended), len(s.executions)-maxExecutions)] {
		delete(s.executions, e.ID)
	}
	s.exAll = false
	s.exSet++
	s.exRev++
}

// apply takes an event of the feed. Ask says that the approvals are to be
// listed again, lost that everything is.
func (s *store) apply(c change) (ask, lost bool) {
	if c.lost {
		return true, true
	}
	if c.approval != "" {
		if c.approvals == wire.ApprovalPending {
			ask = true
		} else {
			s.settle(c.approval, c.approvals, c.by, c.why, c.at)
		}
	}
	e := s.executions[c.exec]
	if e == nil {
		if c.typ != wire.EventExecutionCreated {
			return ask, lost // an old one that is not loaded
		}
		e = &execution{Execution: wire.Execution{ID: c.exec, AgentID: c.agent, Labels: c.labels, CreatedAt: c.at, DeadlineAt: c.limit}}
		s.executions[c.exec] = e
		s.exSet++
	}
	if c.seq <= e.LastEventSeq {
		return ask, lost
	}
	e.LastEventSeq, e.UpdatedAt = c.seq, c.at
	if c.status != "" {
		e.Status = c.status
		if e.Status == wire.ExecutionFailed || e.Status == wire.ExecutionCancelled {
			e.FailureReason = c.reason
		}
	}
	if c.step != "" {
		e.step = text.Clean(c.step)
	}
	e.hay = ""
	s.exRev++
	// An execution that ends takes its approvals with it.
	if e.Status.Terminal() {
		for id, a := range s.approvals {
			if a.pending() && a.ExecutionID == e.ID {
				s.settle(id, wire.ApprovalCancelled, "", "", c.at)
			}
		}
	}
	return ask, lost
}

// waiting is the pending approval of an execution.
func (s *store) waiting(exec string) *approval {
	var first *approval
	for _, a := range s.approvals {
		if a.pending() && a.ExecutionID == exec && (first == nil || a.ID < first.ID) {
			first = a
		}
	}
	return first
}

// doing is the target of the step that an execution is at, as far as that was
// heard.
func (s *store) doing(e *execution) string {
	if e.step == "" && e.Status == wire.ExecutionBlocked {
		if a := s.waiting(e.ID); a != nil {
			return text.Clean(a.Target)
		}
	}
	return e.step
}

// alike are the decided approvals of the same agent and rule, the latest first.
func (s *store) alike(a *approval) []*approval {
	var past []*approval
	for _, b := range s.approvals {
		if !b.pending() && b.RuleID == a.RuleID && b.AgentID == a.AgentID && b.DecidedAt != nil {
			past = append(past, b)
		}
	}
	slices.SortFunc(past, func(x, y *approval) int {
		return cmp.Or(y.DecidedAt.Compare(x.DecidedAt.Time), strings.Compare(x.ID, y.ID))
	})
	return past
}

// like are the executions with this id, or else those whose id, or the short form
// of it, begins or ends so, with four characters at least.
func (s *store) like(part string) []string {
	if s.executions[part] != nil {
		return []string{part}
	}
	var found []string
	for id := range s.executions {
		if len(part) >= 4 && (strings.HasPrefix(id, part) || strings.HasSuffix(id, part) || strings.HasPrefix(short(id), part)) {
			found = append(found, id)
		}
	}
	return found
}
