package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// verdict is one of the two things that can be decided.
type verdict struct {
	verb   string // imperative
	done   wire.ApprovalStatus
	effect string // on the execution
	send   func(*client.Client, context.Context, string, wire.DecideApproval) error
}

func grantVerdict() verdict {
	return verdict{"grant", wire.ApprovalGranted, "resumed", (*client.Client).GrantApproval}
}

func denyVerdict() verdict {
	return verdict{"deny", wire.ApprovalDenied, "resumed, and sees the refusal", (*client.Client).DenyApproval}
}

const decideLong = `

--by says who decides; the service believes it and writes it down. It is taken
from --by, KERNELCTL_BY or the user of the context, never from the login name.

Without an id: on a terminal the pending approvals are shown to choose from, and
the chosen one is shown whole and asked about. Elsewhere, one pending approval is
%s and printed whole; when there are several, nothing is done and the exit code
is 9. None pending is exit 3; one that was decided meanwhile is exit 5; a name
that is not among the approvers is exit 6.

Several ids are each tried; the worst exit code wins.`

func newApprovalsGrant(f *factory) *cobra.Command {
	cmd := newDecide(f, grantVerdict())
	cmd.Short = "Grant approvals: the gated steps proceed"
	cmd.Long = "Grants approvals: the gated steps proceed and the executions resume." + fmt.Sprintf(decideLong, "granted")
	cmd.Example = `  kernelctl approvals grant 51c09ab4 --by alice
  kernelctl ap grant 51c09ab4 0aa1d377 --by alice --rationale "checked both" --yes
  kernelctl ap grant --by alice`
	return cmd
}

func newApprovalsDeny(f *factory) *cobra.Command {
	cmd := newDecide(f, denyVerdict())
	cmd.Short = "Deny approvals: the agents see a policy error"
	cmd.Long = "Denies approvals: the executions resume, and the agents see a policy error at those steps.\nA rationale is needed, unless the configuration says otherwise (require_rationale)." + fmt.Sprintf(decideLong, "denied")
	cmd.Example = `  kernelctl approvals deny 51c09ab4 --by bob --rationale "wrong table"
  kernelctl ap deny 51c09ab4 --by bob --rationale @reason.txt`
	return cmd
}

func newDecide(f *factory, v verdict) *cobra.Command {
	var rationale string
	cmd := &cobra.Command{Use: v.verb + " [ID...]", Args: takes(0, many, "")}
	fs := cmd.Flags()
	fs.String("by", "", byHelp)
	fs.StringVarP(&rationale, "rationale", "r", "", "why: `TEXT`, @FILE, or - for stdin")
	fs.BoolP("yes", "y", false, yesHelp)
	cmd.RunE = f.do(traits{writes: true}, func(ctx context.Context, s *session) error {
		return s.decide(ctx, v, rationale)
	})
	return cmd
}

// decide grants or denies what was named, or what is chosen.
func (s *session) decide(ctx context.Context, v verdict, rationale string) error {
	if err := s.askWho(ctx); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	var chosen []wire.Approval
	var failed []decision
	if len(s.args) > 0 {
		if chosen, failed, err = s.named(ctx, v); err != nil {
			return err
		}
	} else if chosen, err = s.pick(ctx, c, v); err != nil {
		return err
	}
	req := wire.DecideApproval{DecidedBy: s.User}
	if len(chosen) > 0 { // an approval that is not there is not worth a reason
		if req.Rationale, err = s.rationale(ctx, v, rationale); err != nil {
			return err
		}
	}
	results := failed
	for _, a := range chosen {
		results = append(results, s.decideOne(ctx, c, v, a, req))
	}
	return s.printDecisions(v, results)
}

// askWho makes sure that somebody decides.
func (s *session) askWho(ctx context.Context) error {
	if s.User != "" {
		return plainName(s.User)
	}
	if !s.io.CanPrompt() {
		return exit.Usagef("--by NAME is missing").
			Because("the service writes down who decides; neither --by nor KERNELCTL_BY nor the context says it").
			Try("rerun with --by NAME")
	}
	name, err := s.io.Ask(ctx, "Decide as whom?", s.io.Env("USER"))
	if err != nil {
		return err
	}
	if name == "" {
		return exit.Usagef("nobody decides: no name was given")
	}
	s.User = name
	return plainName(name)
}

// plainName refuses a name that does not show what it is: it is written down as
// the one who decided.
func plainName(name string) error {
	if clean := printer.Clean(name); clean != name {
		return exit.Usagef("%s is no name to decide under", clean).Because("it has characters that do not show")
	}
	return nil
}

// rationale is the reason, asked for where one is needed.
func (s *session) rationale(ctx context.Context, v verdict, value string) (string, error) {
	text, err := s.text("rationale", value)
	if text = strings.TrimSpace(text); err != nil || text != "" {
		return text, err
	}
	if s.RequireRationale == "never" || (s.RequireRationale == "deny" && v.verb != "deny") {
		return "", nil
	}
	missing := exit.Usagef("--rationale TEXT is missing").
		Because("require_rationale is %s: to %s needs a reason", s.RequireRationale, v.verb).
		Try("rerun with --rationale TEXT")
	if !s.io.CanPrompt() {
		return "", missing
	}
	text, err = s.io.Ask(ctx, "Why?", "")
	if err == nil && text == "" {
		err = missing
	}
	return text, err
}

// named reads the approvals that were named. One that cannot be read does not
// stop the others.
func (s *session) named(ctx context.Context, v verdict) (chosen []wire.Approval, failed []decision, err error) {
	seen := map[string]bool{}
	for _, arg := range s.args {
		a, err := s.approval(ctx, arg)
		if err = approvalError(err, arg); err != nil {
			if len(s.args) == 1 || ctx.Err() != nil {
				return nil, nil, err
			}
			failed = append(failed, decision{ID: arg, Result: "error", err: err})
			continue
		}
		if !seen[a.ID] {
			seen[a.ID] = true
			chosen = append(chosen, a)
		}
	}
	if len(s.args) < 2 || len(chosen) == 0 {
		return chosen, failed, nil
	}
	if s.io.CanPrompt() && !flagBool(s.cmd, "yes") {
		s.showApprovals(chosen)
	}
	return chosen, failed, s.confirm(ctx, fmt.Sprintf("%s %d approvals as %s?", title(v.verb), len(chosen), s.User))
}

// decision is what became of one approval.
type decision struct {
	ID          string         `json:"id"`
	Result      string         `json:"result"` // granted, denied or error
	Target      string         `json:"target"`
	ExecutionID string         `json:"execution_id"`
	DecidedBy   string         `json:"decided_by"`
	Approval    *wire.Approval `json:"approval"`
	Error       *errorBody     `json:"error"`

	err    error
	effect string
}

// decideOne sends one decision, to the approval that was shown. It is never
// sent twice: when the answer is lost, the approval says what became of it.
func (s *session) decideOne(ctx context.Context, c *client.Client, v verdict, a wire.Approval, req wire.DecideApproval) decision {
	d := decision{ID: a.ID, Target: a.Target, ExecutionID: a.ExecutionID, DecidedBy: req.DecidedBy, Approval: &a, effect: v.effect}
	err := v.send(c, ctx, a.ID, req)
	if err == nil {
		d.Result = string(v.done)
		return d
	}
	d.Result, d.err = "error", s.decisionError(ctx, c, v, a, req, err)
	if d.err == nil {
		d.Result = string(v.done)
	}
	return d
}

// decisionError says why a decision was not taken, or that it was after all.
func (s *session) decisionError(ctx context.Context, c *client.Client, v verdict, a wire.Approval, req wire.DecideApproval, err error) error {
	id := s.short(a.ID)
	switch code := client.CodeOf(err); {
	case code == wire.CodeForbidden:
		return &exit.Error{
			Code: exit.Forbidden, What: fmt.Sprintf("%s may not decide approval %s", req.DecidedBy, id),
			Why:  fmt.Sprintf("forbidden (403): approvers are %s", strings.Join(a.Approvers, ", ")),
			Next: "rerun with --by " + strings.Join(a.Approvers, " or --by "), Slug: string(code), Err: err,
		}
	case code == wire.CodeConflict || code == wire.CodeNotFound || code == wire.CodeExecutionTerminal:
		return s.decidedMeanwhile(ctx, c, a, err)
	case !lostAnswer(err):
		return err
	}
	now, readErr := c.GetApproval(ctx, a.ID)
	switch {
	case readErr != nil:
		return &exit.Error{
			Code: exit.Unreachable, What: fmt.Sprintf("it is not known whether approval %s was decided", id),
			Why: explain(err).Why, Next: "kernelctl ap get " + printer.ShortID(a.ID), Err: err,
		}
	case now.Status == v.done && deref(now.DecidedBy) == req.DecidedBy:
		s.io.Notef("the answer was lost, but approval %s is %s by %s", id, now.Status, req.DecidedBy)
		return nil
	case now.Status == wire.ApprovalPending:
		return &exit.Error{
			Code: exit.Unreachable, What: fmt.Sprintf("approval %s is still pending: the decision did not arrive", id),
			Why: explain(err).Why, Next: "run the same command again", Err: err,
		}
	}
	return s.decidedMeanwhile(ctx, c, a, err)
}

// lostAnswer reports whether a request may have had its effect although no
// answer says so.
func lostAnswer(err error) bool {
	if e := (*client.ConnectionError)(nil); errors.As(err, &e) {
		return e.Sent
	}
	s := client.StatusOf(err)
	return s == 502 || s == 504
}

// decidedMeanwhile says by whom.
func (s *session) decidedMeanwhile(ctx context.Context, c *client.Client, a wire.Approval, err error) error {
	e := &exit.Error{
		Code: exit.Conflict, What: fmt.Sprintf("approval %s is no longer pending", s.short(a.ID)), Why: explain(err).Why,
		Next: "kernelctl ap get " + printer.ShortID(a.ID), Slug: string(wire.CodeConflict), Err: err,
	}
	now, readErr := c.GetApproval(ctx, a.ID)
	if readErr != nil {
		return e
	}
	if by := deref(now.DecidedBy); by != "" && now.DecidedAt != nil {
		e.Why = fmt.Sprintf("%s by %s %s", now.Status, by, printer.Since(s.now().Sub(now.DecidedAt.Time)))
	} else if now.Status != wire.ApprovalPending {
		e.Why = "it is " + string(now.Status)
	}
	e.Details = map[string]string{"status": string(now.Status)}
	return e
}

// printDecisions prints a row for each, and gives the worst exit code.
func (s *session) printDecisions(v verdict, results []decision) error {
	if len(results) == 1 && results[0].err != nil {
		return results[0].err
	}
	p := s.printer()
	list := printer.NewList(p, decisionView())
	var worst *exit.Error
	n := 0
	for _, d := range results {
		if d.err != nil {
			e := explain(d.err)
			d.Error = s.f.bodyOf(e)
			if worst == nil || exit.Worst(worst.Code, e.Code) != worst.Code {
				worst = e
			}
			if n++; p.Format.ForPerson() {
				s.io.Warnf("%s: %s", printer.Clean(d.ID), printer.Clean(e.Error()))
			}
			if p.IDsOnly {
				continue
			}
		}
		if err := list.Add(d); err != nil {
			return err
		}
	}
	if err := list.Close(""); err != nil {
		return err
	}
	if worst == nil {
		return nil
	}
	return &exit.Error{
		Code: worst.Code, What: fmt.Sprintf("%d of %d approvals were not %s", n, len(results), v.done),
		Why: worst.Error(), Next: worst.Next, Slug: worst.Slug,
	}
}

func decisionView() printer.View[decision] {
	return printer.View[decision]{
		Name: func(d decision) string { return "approval/" + d.ID },
		ID:   func(d decision) string { return d.ID },
		Columns: []printer.Column[decision]{
			{Name: "RESULT", Cell: func(d decision) printer.Cell { return printer.ApprovalStatus(wire.ApprovalStatus(d.Result)) }},
			{Name: "ID", Cell: func(d decision) printer.Cell { return printer.ID(d.ID) }},
			{Name: "TARGET", Flex: true, Cell: func(d decision) printer.Cell { return printer.Dash(d.Target) }},
			{Name: "EXECUTION", Cell: func(d decision) printer.Cell {
				c := printer.ID(d.ExecutionID)
				if d.err == nil && d.effect != "" {
					c.Short += " " + d.effect
				}
				return c
			}},
		},
	}
}

func title(verb string) string { return strings.ToUpper(verb[:1]) + verb[1:] }
