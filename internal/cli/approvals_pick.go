package cli

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// pick finds out which approvals are meant when none was named. On a terminal a
// person sees the whole of what they decide before they say yes. Elsewhere only
// a single one can be meant, and it is printed whole.
func (s *session) pick(ctx context.Context, c *client.Client, v verdict) ([]wire.Approval, error) {
	pending, err := c.ListApprovals(ctx, client.ApprovalFilter{Limit: wire.MaxApprovalsLimit})
	switch {
	case err != nil:
		return nil, err
	case len(pending) == 0:
		return nil, &exit.Error{Code: exit.NotFound, What: "nothing is pending", Why: "no approval waits to be decided"}
	case len(pending) > 1 && !s.io.CanPrompt():
		return nil, s.tooMany(v, pending)
	case len(pending) > 1:
		if pending, err = s.choose(ctx, pending); err != nil {
			return nil, err
		}
	}
	for _, a := range pending {
		s.showApproval(a)
	}
	if !s.io.CanPrompt() || flagBool(s.cmd, "yes") {
		return pending, nil
	}
	question := fmt.Sprintf("%s as %s?", title(v.verb), s.User)
	if len(pending) > 1 {
		question = fmt.Sprintf("%s these %d as %s?", title(v.verb), len(pending), s.User)
	}
	return pending, s.confirm(ctx, question)
}

// tooMany lists what could have been meant, each with the command for it.
func (s *session) tooMany(v verdict, pending []wire.Approval) error {
	lines := make([]string, 0, len(pending))
	ids := make([]string, 0, len(pending))
	for _, a := range pending {
		ids = append(ids, a.ID)
		lines = append(lines, fmt.Sprintf("kernelctl approvals %s %s --by %s  # %s, agent %s, rule %s, %s left",
			v.verb, a.ID, quote(s.User), a.Target, a.AgentID, a.RuleID, printer.Left(a.TimeoutAt.Sub(s.now()))))
	}
	return &exit.Error{
		Code: exit.Ambiguous, What: fmt.Sprintf("%d approvals are pending: say which", len(pending)),
		Why:  "there is no terminal to ask on, and what nobody saw is not decided",
		Next: "one of\n" + strings.Join(lines, "\n"), Details: map[string]any{"matches": ids},
	}
}

// quote makes a word safe for a shell.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:/", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// choose lets a person pick rows by number, narrowing the list by text first if
// they like. It works on any terminal and with any reader of screens.
func (s *session) choose(ctx context.Context, pending []wire.Approval) ([]wire.Approval, error) {
	shown := pending
	for {
		s.showApprovals(shown)
		answer, err := s.io.Ask(ctx, "Which? numbers (1 3), text to narrow the list, or nothing to stop:", "")
		if err != nil {
			return nil, err
		}
		if answer == "" {
			return nil, &exit.Error{Code: exit.Failed, What: "nothing was done", Why: "nothing was chosen"}
		}
		if chosen, ok := byNumber(shown, answer); ok {
			return chosen, nil
		}
		if shown = containing(pending, answer); len(shown) == 0 {
			s.io.Warnf("nothing contains %q", answer)
			shown = pending
		}
	}
}

// byNumber reads 1 3 or 1,3 as rows of a list.
func byNumber(shown []wire.Approval, answer string) (chosen []wire.Approval, ok bool) {
	seen := map[int]bool{}
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(shown) {
			return nil, false
		}
		if !seen[n] {
			seen[n] = true
			chosen = append(chosen, shown[n-1])
		}
	}
	return chosen, len(chosen) > 0
}

func containing(all []wire.Approval, text string) []wire.Approval {
	var some []wire.Approval
	for _, a := range all {
		row := strings.Join([]string{a.ID, a.AgentID, a.Target, a.RuleID, a.ExecutionID, string(a.Args)}, " ")
		if strings.Contains(strings.ToLower(row), strings.ToLower(text)) {
			some = append(some, a)
		}
	}
	return some
}

// showApproval shows one approval on stderr, whole.
func (s *session) showApproval(a wire.Approval) {
	s.show(func(p *printer.Printer) error { return p.Card(approvalCard(p, a)) })
}

// showApprovals shows a numbered list on stderr.
func (s *session) showApprovals(approvals []wire.Approval) {
	type row struct {
		n int
		a wire.Approval
	}
	s.show(func(p *printer.Printer) error {
		base := approvalView(p, false)
		v := printer.View[row]{Columns: []printer.Column[row]{
			{Name: "#", Right: true, Cell: func(r row) printer.Cell { return printer.Int(int64(r.n)) }},
		}}
		for _, c := range base.Columns {
			v.Columns = append(v.Columns, printer.Column[row]{
				Name: c.Name, Flex: c.Flex, Wide: c.Wide && c.Name != "ARGS", Cell: func(r row) printer.Cell { return c.Cell(r.a) },
			})
		}
		list := printer.NewList(p, v)
		for i, a := range approvals {
			if err := list.Add(row{i + 1, a}); err != nil {
				return err
			}
		}
		return list.Close("")
	})
}

// show writes something for a person to stderr. What cannot be shown is not
// worth failing for: nobody is there to see it.
func (s *session) show(write func(*printer.Printer) error) {
	var b bytes.Buffer
	p := s.printer()
	p.Out, p.Color, p.Format.Kind, p.IDsOnly, p.Headers = &b, s.io.ColorErr(), printer.Table, false, true
	p.Full = !s.io.ErrTTY
	if write(p) == nil {
		s.io.Warnf("%s", strings.TrimSuffix(b.String(), "\n"))
	}
}
