package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// How a part of an id is looked up.
const (
	minIDPart = 4    // characters; fewer say too little
	lookBack  = 1000 // newest executions, in which a part must be unique
)

var (
	uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	stepForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	partForm = regexp.MustCompile(`^[0-9a-f-]+$`)
)

// idArg takes kind/id as well as id, and any case.
func idArg(kind, arg string) string {
	return strings.ToLower(strings.TrimPrefix(arg, kind+"/"))
}

// idMatch is one thing that a part of an id may mean.
type idMatch struct {
	id   string
	note string // what a person knows it by
}

// matches reports whether part is the beginning or the end of an id.
func matches(id, part string) bool { return strings.HasPrefix(id, part) || strings.HasSuffix(id, part) }

// checkPart refuses what cannot be a part of an id.
func checkPart(kind, arg, part string) error {
	switch {
	case !partForm.MatchString(part):
		return &exit.Error{
			Code: exit.NotFound, What: fmt.Sprintf("no %s %s", kind, arg),
			Why: "an id has the characters 0-9 a-f and - only", Next: "kernelctl " + plural(kind) + " list",
		}
	case len(part) < minIDPart:
		return exit.Usagef("%s %s: too short", kind, arg).Because("give at least %d characters of the beginning or the end of the id", minIDPart)
	}
	return nil
}

// choose makes one id of the matches of a part.
func choose(kind, arg string, found []idMatch, hint string) (string, error) {
	switch len(found) {
	case 1:
		return found[0].id, nil
	case 0:
		return "", &exit.Error{Code: exit.NotFound, What: fmt.Sprintf("no %s %s", kind, arg), Why: hint, Next: "kernelctl " + plural(kind) + " list"}
	}
	var lines []string
	for _, m := range found {
		lines = append(lines, strings.TrimSpace(m.id+"  "+m.note))
	}
	return "", &exit.Error{
		Code: exit.Ambiguous, What: fmt.Sprintf("%s %s: %d match", kind, arg, len(found)),
		Why:     "give more of the id",
		Next:    "one of\n" + strings.Join(lines, "\n"),
		Details: map[string]any{"matches": idsOf(found)},
	}
}

func idsOf(found []idMatch) []string {
	ids := make([]string, len(found))
	for i, m := range found {
		ids[i] = m.id
	}
	return ids
}

func plural(kind string) string { return kind + "s" }

// executionID makes a whole id of what was typed, asking the server when it is
// only a part.
func (s *session) executionID(ctx context.Context, arg string) (string, error) {
	part := idArg("execution", arg)
	if uuidForm.MatchString(part) {
		return part, nil
	}
	if err := checkPart("execution", arg, part); err != nil {
		return "", err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	var found []idMatch
	seen := 0
	for x, err := range c.Executions(ctx, client.ExecutionFilter{Limit: wire.MaxExecutionsLimit}) {
		if err != nil {
			return "", err
		}
		if matches(x.ID, part) {
			found = append(found, idMatch{x.ID, x.AgentID + " " + string(x.Status)})
		}
		if seen++; seen == lookBack {
			break
		}
	}
	hint := fmt.Sprintf("none of the newest %d executions begins or ends so; an older one needs its full id", lookBack)
	if seen < lookBack {
		hint = fmt.Sprintf("none of the %d executions begins or ends so", seen)
	}
	return choose("execution", arg, found, hint)
}

// stepID makes a whole id of what was typed, among the steps of an execution.
func (s *session) stepID(ctx context.Context, execution, arg string) (string, error) {
	part := idArg("step", arg)
	if stepForm.MatchString(part) {
		return part, nil
	}
	if err := checkPart("step", arg, part); err != nil {
		return "", err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	steps, err := c.ListSteps(ctx, execution, "")
	if err != nil {
		return "", err
	}
	var found []idMatch
	for _, st := range steps {
		if matches(st.StepID, part) {
			found = append(found, idMatch{st.StepID, string(st.Kind) + " " + st.Target})
		}
	}
	id, err := choose("step", arg, found, fmt.Sprintf("execution %s has %d steps, and none begins or ends so", s.short(execution), len(steps)))
	if e := (*exit.Error)(nil); errors.As(err, &e) && e.Code == exit.NotFound {
		e.Next = "kernelctl steps list " + printer.ShortID(execution)
	}
	return id, err
}

// approval reads the approval that was meant: the whole of it, because what is
// decided must be what was shown.
func (s *session) approval(ctx context.Context, arg string) (wire.Approval, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return wire.Approval{}, err
	}
	part := idArg("approval", arg)
	if uuidForm.MatchString(part) {
		return c.GetApproval(ctx, part)
	}
	if err := checkPart("approval", arg, part); err != nil {
		return wire.Approval{}, err
	}
	for _, status := range []string{string(wire.ApprovalPending), wire.ApprovalsAll} {
		all, err := c.ListApprovals(ctx, client.ApprovalFilter{Status: status, Limit: wire.MaxApprovalsLimit})
		if err != nil {
			return wire.Approval{}, err
		}
		byID := map[string]wire.Approval{}
		var found []idMatch
		for _, a := range all {
			if matches(a.ID, part) {
				byID[a.ID] = a
				found = append(found, idMatch{a.ID, a.AgentID + " " + a.Target + " " + string(a.Status)})
			}
		}
		if len(found) == 0 && status != wire.ApprovalsAll {
			continue // perhaps it is decided already
		}
		id, err := choose("approval", arg, found, fmt.Sprintf("none of the %d approvals begins or ends so", len(all)))
		return byID[id], err
	}
	return wire.Approval{}, nil
}
