package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newSteps(f *factory) *cobra.Command {
	return newGroup(cobra.Command{
		Use:     "steps",
		Aliases: []string{"step", "st"},
		Short:   "Look at the steps of an execution",
		Long: `A step is one effect of an agent: a tool call, an LLM call, or a local value. What
it was called with and what came of it is kept with it.`,
		Example: `  kernelctl steps list 9f3a71c2
  kernelctl steps get 9f3a71c2 7be10c44 --field result`,
	}, newStepsList(f), newStepsGet(f))
}

func stepView(p *printer.Printer) printer.View[wire.Step] {
	return printer.View[wire.Step]{
		Name: func(st wire.Step) string { return "step/" + st.StepID },
		ID:   func(st wire.Step) string { return st.StepID },
		Columns: []printer.Column[wire.Step]{
			{Name: "STEP", Cell: func(st wire.Step) printer.Cell { return printer.ID(st.StepID) }},
			{Name: "KIND", Cell: func(st wire.Step) printer.Cell { return printer.Text(string(st.Kind)) }},
			{Name: "TARGET", Flex: true, Cell: func(st wire.Step) printer.Cell { return printer.Text(st.Target) }},
			{Name: "STATUS", Cell: func(st wire.Step) printer.Cell { return printer.StepStatus(st.Status) }},
			{Name: "RULE", Flex: true, Cell: func(st wire.Step) printer.Cell { return printer.Dash(st.RuleID) }},
			{Name: "TOKENS", Right: true, Cell: stepTokens},
			{Name: "TOOK", Right: true, Cell: func(st wire.Step) printer.Cell { return stepTook(p, st) }},
			{Name: "CREATED", Wide: true, Cell: func(st wire.Step) printer.Cell { return p.Ago(st.CreatedAt) }},
			{Name: "ATTEMPT", Wide: true, Right: true, Cell: func(st wire.Step) printer.Cell { return printer.Int(st.Attempt) }},
			{Name: "OCCURRENCE", Wide: true, Right: true, Cell: func(st wire.Step) printer.Cell { return printer.Int(int64(st.Occurrence)) }},
			{Name: "ARGS", Wide: true, Flex: true, Cell: func(st wire.Step) printer.Cell { return printer.Text(string(st.Args)) }},
		},
	}
}

// stepTokens are input/output.
func stepTokens(st wire.Step) printer.Cell {
	if st.Usage == nil {
		return printer.Cell{Short: "-"}
	}
	return printer.Text(fmt.Sprintf("%d/%d", st.Usage.InputTokens, st.Usage.OutputTokens))
}

// stepTook is how long the effect took, or has been taking.
func stepTook(p *printer.Printer, st wire.Step) printer.Cell {
	switch {
	case st.StartedAt == nil:
		return printer.Cell{Short: "-"}
	case st.CompletedAt == nil:
		return printer.Cell{Short: printer.Duration(p.Now().Sub(st.StartedAt.Time)) + "+", Style: printer.Active}
	}
	return printer.Text(printer.Took(st.CompletedAt.Sub(st.StartedAt.Time)))
}

func newStepsList(f *factory) *cobra.Command {
	var terminal bool
	var kinds, statuses []string
	cmd := &cobra.Command{
		Use:     "list ID",
		Aliases: []string{"ls"},
		Short:   "List the steps of an execution",
		Long:    `Lists the steps of an execution in the order in which the agent proposed them.`,
		Example: `  kernelctl steps list 9f3a71c2
  kernelctl st ls 9f3a71c2 --status executing -o wide`,
		Args: takes(1, 1, "the id of an execution"),
	}
	fs := cmd.Flags()
	fs.BoolVar(&terminal, "terminal", false, "only those that succeeded, failed or were denied")
	fs.StringArrayVar(&kinds, "kind", nil, "only of this `kind`: tool_call, llm_call or local; repeatable")
	fs.StringArrayVar(&statuses, "status", nil, "only with this `status`; repeatable")
	cmd.RunE = f.do(traits{pages: true}, func(ctx context.Context, s *session) error {
		keep, err := stepFilter(kinds, statuses)
		if err != nil {
			return err
		}
		id, err := s.executionID(ctx, s.args[0])
		if err != nil {
			return err
		}
		status := ""
		if terminal {
			status = wire.StepsTerminal
		}
		return s.listSteps(ctx, id, status, keep)
	})
	return cmd
}

func (s *session) listSteps(ctx context.Context, id, status string, keep func(wire.Step) bool) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	steps, err := c.ListSteps(ctx, id, status)
	if err != nil {
		return executionError(err, s.args[0])
	}
	p := s.printer()
	list := printer.NewList(p, stepView(p))
	for _, st := range steps {
		if !keep(st) {
			continue
		}
		if err := list.Add(st); err != nil {
			return err
		}
	}
	return list.Close("")
}

func stepFilter(kinds, statuses []string) (func(wire.Step) bool, error) {
	wantKind, wantStatus := make(map[wire.StepKind]bool), make(map[wire.StepStatus]bool)
	for _, k := range splitAll(kinds) {
		if err := oneOf("kind", k, []wire.StepKind{wire.KindToolCall, wire.KindLLMCall, wire.KindLocal}); err != nil {
			return nil, err
		}
		wantKind[wire.StepKind(k)] = true
	}
	for _, st := range splitAll(statuses) {
		if err := oneOf("status", st, wire.StepStatuses()); err != nil {
			return nil, err
		}
		wantStatus[wire.StepStatus(st)] = true
	}
	return func(st wire.Step) bool {
		return (len(wantKind) == 0 || wantKind[st.Kind]) && (len(wantStatus) == 0 || wantStatus[st.Status])
	}, nil
}

func newStepsGet(f *factory) *cobra.Command {
	var field string
	var full bool
	cmd := &cobra.Command{
		Use:     "get ID STEP",
		Aliases: []string{"show"},
		Short:   "Show one step: arguments, result or error, usage",
		Long: `Shows one step of an execution: what it was called with, what was decided on it,
and what came of it.

--field prints one field of it as JSON and nothing else.`,
		Example: `  kernelctl steps get 9f3a71c2 7be10c44
  kernelctl steps get 9f3a71c2 7be10c44 --field result | jq .`,
		Args: takes(2, 2, "the id of an execution and the id of a step"),
	}
	cmd.Flags().StringVar(&field, "field", "", "print only this `field` as JSON, such as args, result or error")
	cmd.Flags().BoolVar(&full, "full", false, "show arguments and result whole")
	cmd.RunE = f.do(traits{pages: true}, func(ctx context.Context, s *session) error {
		st, err := s.step(ctx, s.args[0], s.args[1])
		if err != nil {
			return err
		}
		p := s.printer()
		if field != "" {
			return printField(p, st, field)
		}
		return printer.One(p, stepView(p), st, func() []printer.Field {
			fields := stepCard(p, st)
			if full || p.Format.Kind == printer.TSV {
				return fields
			}
			return printer.Shorten(fields, "--full shows all")
		})
	})
	return cmd
}

func (s *session) step(ctx context.Context, execution, step string) (wire.Step, error) {
	id, err := s.executionID(ctx, execution)
	if err != nil {
		return wire.Step{}, err
	}
	stepID, err := s.stepID(ctx, id, step)
	if err != nil {
		return wire.Step{}, executionError(err, execution)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return wire.Step{}, err
	}
	return c.GetStep(ctx, id, stepID)
}

// printField prints one field of a step, as the API has it.
func printField(p *printer.Printer, st wire.Step, field string) error {
	raw, err := wire.Marshal(st)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	v, ok := all[field]
	if !ok {
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		e := exit.Usagef("--field %s: a step has no such field", field)
		if near := nearest(field, names); near != "" {
			e = e.Because("did you mean %s?", near)
		}
		return e
	}
	if p.Format.ForPerson() {
		p.Format.Kind = printer.JSON
	}
	return p.Object(v)
}

func stepCard(p *printer.Printer, st wire.Step) []printer.Field {
	fields := []printer.Field{
		{Name: "step", Value: printer.Text(st.StepID)},
		{Name: "target", Value: printer.Text(st.Target + " (" + string(st.Kind) + ")")},
		{Name: "status", Value: printer.StepStatus(st.Status)},
		{Name: "rule", Value: printer.Dash(st.RuleID)},
		{Name: "idempotency", Value: printer.Text(string(st.Idempotency))},
		{Name: "attempt", Value: printer.Text(fmt.Sprintf("%d of dispatch %s", st.Attempt, p.Name(st.DispatchID)))},
		{Name: "created", Value: p.Ago(st.CreatedAt)},
		{Name: "took", Value: stepTook(p, st)},
	}
	if st.ApprovalID != nil {
		fields = append(fields, printer.Field{Name: "approval", Value: printer.ID(*st.ApprovalID)})
	}
	if st.Usage != nil {
		fields = append(fields, printer.Field{Name: "tokens", Value: printer.Text(fmt.Sprintf("%d in, %d out", st.Usage.InputTokens, st.Usage.OutputTokens))})
	}
	fields = append(fields, printer.Field{Name: "args", JSON: orNull(st.Args)})
	if st.Status == wire.StepFailed || st.Status == wire.StepDenied || st.Status == wire.StepCancelled {
		return append(fields, printer.Field{Name: "error", JSON: orNull(st.Error)})
	}
	return append(fields, printer.Field{Name: "result", JSON: orNull(st.Result)})
}
