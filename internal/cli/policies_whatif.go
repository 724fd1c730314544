package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// replayAtOnce is how many past executions are replayed at the same time.
const replayAtOnce = 4

// whatIf is what would have been different under another bundle.
type whatIf struct {
	AgentID             string            `json:"agent_id"`
	Since               *wire.Time        `json:"since"` // of the oldest execution that was replayed
	Executions          int               `json:"executions"`
	Steps               int               `json:"steps"`
	Differ              int               `json:"differ"`          // steps that would be decided differently
	OtherRule           int               `json:"other_rule"`      // steps with the same decision by another rule
	MoreApprovals       int               `json:"extra_approvals"` // fewer: negative
	MoreApprovalsPerDay float64           `json:"extra_approvals_per_day"`
	WouldStop           wire.List[string] `json:"would_stop"` // executions in which something that ran would be denied
	Changes             wire.List[change] `json:"changes"`
}

// change is one kind of difference and how often it occurred.
type change struct {
	Kind    wire.StepKind     `json:"kind"`
	Target  string            `json:"target"`
	Was     wire.PolicyAction `json:"was"`
	WasRule string            `json:"was_rule"`
	Now     wire.PolicyAction `json:"now"`
	NowRule string            `json:"now_rule"`
	Count   int               `json:"count"`
	Example string            `json:"example_execution"`
}

type changeKey struct {
	kind             wire.StepKind
	target           string
	was, now         wire.PolicyAction
	wasRule, nowRule string
}

// whatIf replays past executions against a bundle.
func (s *session) whatIf(ctx context.Context, agent string, bundle *string, fl policyTestFlags) error {
	since, err := s.sinceTime(fl.since)
	if err != nil {
		return err
	}
	if _, err := s.agent(ctx, agent); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	past, err := pastExecutions(ctx, c, agent, since, fl.limit)
	if err != nil {
		return err
	}
	reports, err := replayAll(ctx, c, agent, bundle, past)
	if err != nil {
		return err
	}
	return s.printWhatIf(summarize(agent, past, reports, s.now()))
}

func (s *session) sinceTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := parseDays(text)
	if err != nil {
		return time.Time{}, exit.Usagef("--since %q: want a duration such as 30d or 12h", text)
	}
	return s.now().Add(-d), nil
}

// parseDays reads a duration that may be in days or weeks, too.
func parseDays(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil || n <= 0 || n > 36500 {
				return 0, fmt.Errorf("%q is not a number of days", text)
			}
			return time.Duration(n * float64(unit)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not in the past", text)
	}
	return d, err
}

// pastExecutions are those of an agent, newest first, back to a time.
func pastExecutions(ctx context.Context, c *client.Client, agent string, since time.Time, limit int) (past []wire.Execution, err error) {
	for x, err := range c.Executions(ctx, client.ExecutionFilter{AgentID: agent, Limit: wire.MaxExecutionsLimit}) {
		if err != nil {
			return nil, err
		}
		if x.CreatedAt.Before(since) || (limit > 0 && len(past) == limit) {
			break
		}
		x.Input, x.Output = nil, nil // not needed, and they may be large
		past = append(past, x)
	}
	return past, nil
}

// replayAll tests the bundle on each execution, a few at the same time.
func replayAll(ctx context.Context, c *client.Client, agent string, bundle *string, past []wire.Execution) ([]wire.PolicyTestReport, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reports := make([]wire.PolicyTestReport, len(past))
	next := make(chan int)
	var group sync.WaitGroup
	for range min(replayAtOnce, len(past)) {
		group.Go(func() {
			for i := range next {
				var err error
				req := wire.PolicyTest{Bundle: bundle, ExecutionID: past[i].ID}
				if reports[i], err = c.TestPolicy(ctx, agent, req); err != nil && client.CodeOf(err) != wire.CodeNotFound { // gone meanwhile
					cancel(err)
				}
			}
		})
	}
	for i := range past {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return reports, context.Cause(ctx)
}

// summarize counts the differences of all reports.
func summarize(agent string, past []wire.Execution, reports []wire.PolicyTestReport, now time.Time) whatIf {
	w := whatIf{AgentID: agent, Executions: len(past)}
	counts := map[changeKey]*change{}
	for i, report := range reports {
		stops := false
		for _, r := range report.Results {
			w.Steps++
			if r.Pass {
				continue
			}
			if r.Decision == r.Expect {
				w.OtherRule++
			} else {
				w.Differ++
				w.MoreApprovals += asks(r.Decision) - asks(r.Expect)
				stops = stops || (r.Decision == wire.ActionDeny && r.Expect != wire.ActionDeny)
			}
			count(counts, r, past[i].ID)
		}
		if stops {
			w.WouldStop = append(w.WouldStop, past[i].ID)
		}
	}
	w.Changes = sortedChanges(counts)
	if len(past) > 0 {
		oldest := past[len(past)-1].CreatedAt
		w.Since = &oldest
		days := max(now.Sub(oldest.Time).Hours()/24, 1)
		w.MoreApprovalsPerDay = float64(int(float64(w.MoreApprovals)/days*100)) / 100
	}
	return w
}

// asks is 1 for a decision that asks a person.
func asks(a wire.PolicyAction) int {
	if a == wire.ActionRequireApproval {
		return 1
	}
	return 0
}

func count(counts map[changeKey]*change, r wire.PolicyResult, execution string) {
	k := changeKey{r.Kind, r.Target, r.Expect, r.Decision, r.ExpectRule, r.RuleID}
	if counts[k] == nil {
		counts[k] = &change{
			Kind: r.Kind, Target: r.Target, Was: r.Expect, WasRule: r.ExpectRule, Now: r.Decision, NowRule: r.RuleID, Example: execution,
		}
	}
	counts[k].Count++
}

// sortedChanges puts what changes a decision, and what is frequent, first.
func sortedChanges(counts map[changeKey]*change) []change {
	var all []change
	for c := range maps.Values(counts) {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b change) int {
		return cmp.Or(
			cmp.Compare(boolRank(a.Was == a.Now), boolRank(b.Was == b.Now)),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Target, b.Target), cmp.Compare(a.NowRule, b.NowRule), cmp.Compare(a.WasRule, b.WasRule),
		)
	})
	return all
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *session) printWhatIf(w whatIf) error {
	p := s.printer()
	switch {
	case p.Format.Kind == printer.JUnit:
		if err := writeJUnit(s.out, "policies test "+w.AgentID, w.junit()); err != nil {
			return err
		}
	case p.Format.ForPerson():
		if err := s.printChanges(p, w); err != nil {
			return err
		}
	default:
		if err := p.Value(w); err != nil {
			return err
		}
	}
	if len(w.Changes) > 0 {
		return &exit.Error{
			Code: exit.CheckFailed, What: fmt.Sprintf("%d of %d past steps would be decided differently", w.Differ, w.Steps),
			Why: fmt.Sprintf("%d more would come to the same by another rule", w.OtherRule),
		}
	}
	return nil
}

func (s *session) printChanges(p *printer.Printer, w whatIf) error {
	list := printer.NewList(p, changeView())
	for _, c := range w.Changes {
		if err := list.Add(c); err != nil {
			return err
		}
	}
	if err := list.Close(""); err != nil {
		return err
	}
	s.io.Notef("replayed %s with %s", printer.Counted(w.Executions, "execution"), printer.Counted(w.Steps, "step"))
	if len(w.Changes) == 0 {
		s.io.Notef("nothing would change")
		return nil
	}
	s.io.Notef("extra approvals: %+d (%+.2f a day)", w.MoreApprovals, w.MoreApprovalsPerDay)
	s.io.Notef("runs that would have stopped: %d", len(w.WouldStop))
	for i, id := range w.WouldStop {
		if i == 5 {
			s.io.Notef("  … and %d more: -o json lists all", len(w.WouldStop)-i)
			break
		}
		s.io.Notef("  kernelctl policies test %s --execution %s", w.AgentID, s.short(id))
	}
	return nil
}

func changeView() printer.View[change] {
	return printer.View[change]{
		Name: func(c change) string { return c.Target },
		ID:   func(c change) string { return c.Target },
		Columns: []printer.Column[change]{
			{Name: "TARGET", Flex: true, Cell: func(c change) printer.Cell { return printer.Text(c.Target) }},
			{Name: "KIND", Wide: true, Cell: func(c change) printer.Cell { return printer.Text(string(c.Kind)) }},
			{Name: "WAS", Cell: func(c change) printer.Cell { return action(c.Was) }},
			{Name: "BY RULE", Flex: true, Cell: func(c change) printer.Cell { return printer.Dash(c.WasRule) }},
			{Name: "NOW", Cell: func(c change) printer.Cell { return action(c.Now) }},
			{Name: "BY RULE", Flex: true, Cell: func(c change) printer.Cell { return printer.Dash(c.NowRule) }},
			{Name: "STEPS", Right: true, Cell: func(c change) printer.Cell { return printer.Int(int64(c.Count)) }},
			{Name: "EXAMPLE", Cell: func(c change) printer.Cell { return printer.ID(c.Example) }},
		},
	}
}

func (w whatIf) junit() []junitCase {
	cases := make([]junitCase, 0, len(w.Changes)+1)
	for _, c := range w.Changes {
		text := fmt.Sprintf("%d steps: was %s by rule %s, now %s by rule %s; for example in execution %s", c.Count, c.Was, c.WasRule, c.Now, c.NowRule, c.Example)
		cases = append(cases, junitCase{
			Class: string(c.Kind) + "." + c.Target, Name: string(c.Was) + " -> " + string(c.Now) + " by " + c.NowRule,
			Failure: &junitFailure{Message: text, Text: text},
		})
	}
	if len(cases) == 0 {
		cases = append(cases, junitCase{Class: "replay", Name: fmt.Sprintf("%d executions, %d steps", w.Executions, w.Steps)})
	}
	return cases
}
