package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type policyTestFlags struct {
	bundle, cases, execution   string
	kind, target, args, expect string
	labels                     []string
	since                      string
	limit                      int
}

func newPoliciesTest(f *factory) *cobra.Command {
	var fl policyTestFlags
	cmd := &cobra.Command{
		Use:   "test [AGENT] [flags]",
		Short: "Try a policy bundle on cases, or on what agents did",
		Long: `Tries a policy bundle and changes nothing. Which bundle: that of --file, else the
one that is loaded for the agent. On what:

  --cases FILE         cases with what is expected of them; beside p.yaml the file
                       p` + casesSuffix + ` is found by itself
  --target T           one call, with --args, --kind and --label
  --execution ID       the steps of one past execution: expected is what was
                       decided then
  --since 30d          the steps of all executions of that time, and --limit N the
                       newest N of them: shows what would change
                       (decisions by rule and target, extra approvals a day, runs
                       that would have stopped)

With --file, --cases or --target need no server and no agent. Exit 20 when
something does not match.

A case has name, kind (tool_call), target, args, labels, agent_id, expect (allow,
deny, require_approval) and expect_rule.`,
		Example: `  kernelctl policies test -f p.yaml
  kernelctl pol test demo --target send_email --args '{"to":"ceo@x.com"}'
  kernelctl pol test demo -f p.yaml --since 30d`,
		Args: takes(0, 1, "the id of an agent"),
	}
	fs := cmd.Flags()
	fs.StringVarP(&fl.bundle, "file", "f", "", "`file` with the bundle; - is stdin")
	fs.StringVar(&fl.cases, "cases", "", "`file` with cases, YAML or JSON; - is stdin")
	fs.StringVarP(&fl.execution, "execution", "x", "", "replay the steps of this `execution`")
	fs.StringVar(&fl.target, "target", "", "try one call of this `target`")
	fs.StringVar(&fl.args, "args", "", "its arguments: `JSON`, @FILE, or - for stdin")
	fs.StringVar(&fl.kind, "kind", "", "its `kind`: tool_call, llm_call or local")
	fs.StringArrayVarP(&fl.labels, "label", "l", nil, "label of its execution, `KEY=VALUE`; repeatable")
	fs.StringVar(&fl.expect, "expect", "", "what `decision` is expected: allow, deny or require_approval")
	fs.StringVar(&fl.since, "since", "", "replay the executions of this `time`, such as 30d or 12h")
	fs.IntVar(&fl.limit, "limit", 0, "replay at most so many executions, newest first")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := traits{junit: true, long: fl.since != "" || fl.limit > 0}
		return f.do(t, func(ctx context.Context, s *session) error { return s.testPolicy(ctx, fl) })(cmd, args)
	}
	return cmd
}

func (s *session) testPolicy(ctx context.Context, fl policyTestFlags) error {
	agent := ""
	if len(s.args) == 1 {
		agent = agentID(s.args[0])
	}
	if err := fl.check(agent); err != nil {
		return err
	}
	req := wire.PolicyTest{}
	if fl.bundle != "" {
		text, err := s.bundle("file", fl.bundle)
		if err != nil {
			return err
		}
		req.Bundle = &text
	}
	if fl.replaysMany() {
		return s.whatIf(ctx, agent, req.Bundle, fl)
	}
	cases, err := s.cases(fl)
	if err != nil {
		return err
	}
	var report wire.PolicyTestReport
	if agent == "" {
		report, err = testHere(*req.Bundle, cases)
	} else {
		report, err = s.testThere(ctx, agent, req, cases, fl)
	}
	if err != nil {
		return err
	}
	return s.printReport(agent, report, fl.target != "")
}

func (fl policyTestFlags) replaysMany() bool { return fl.since != "" || fl.limit > 0 }

// check refuses what does not go together.
func (fl policyTestFlags) check(agent string) error {
	sources := 0
	for _, on := range []bool{fl.cases != "", fl.execution != "", fl.target != "", fl.replaysMany()} {
		if on {
			sources++
		}
	}
	switch {
	case sources > 1:
		return exit.Usagef("only one of --cases, --target, --execution and --since with --limit")
	case fl.target == "" && (fl.args != "" || fl.kind != "" || fl.expect != "" || len(fl.labels) > 0):
		return exit.Usagef("--args, --kind, --label and --expect go with --target")
	case agent == "" && (fl.execution != "" || fl.replaysMany()):
		return exit.Usagef("an agent is missing: past executions are those of one").Try("kernelctl policies test AGENT …")
	case agent == "" && fl.bundle == "":
		return exit.Usagef("nothing to test: name an agent, or a bundle with --file").Try("kernelctl policies test --help")
	case sources == 0 && fl.casesBeside() == "":
		return exit.Usagef("nothing to test on: give --cases, --target, --execution or --since").
			Because("there is no file of cases beside the bundle").Try("kernelctl policies test --help")
	case fl.limit < 0:
		return exit.Usagef("--limit %d: want 1 or more", fl.limit)
	}
	if err := oneOf("kind", fl.kind, []wire.StepKind{wire.KindToolCall, wire.KindLLMCall, wire.KindLocal}); err != nil {
		return err
	}
	return oneOf("expect", fl.expect, []wire.PolicyAction{wire.ActionAllow, wire.ActionDeny, wire.ActionRequireApproval})
}

// casesBeside is the file of cases that belongs to a bundle; empty when it is
// not there.
func (fl policyTestFlags) casesBeside() string {
	if fl.bundle == "" || fl.bundle == "-" {
		return ""
	}
	path := strings.TrimSuffix(fl.bundle, filepath.Ext(fl.bundle)) + casesSuffix
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// cases are those of a file, or the one call; none when past executions are
// replayed.
func (s *session) cases(fl policyTestFlags) ([]policy.Case, error) {
	if fl.target != "" {
		return s.oneCase(fl)
	}
	path := fl.cases
	if path == "" && fl.execution == "" {
		path = fl.casesBeside()
	}
	if path == "" {
		return nil, nil
	}
	text, err := s.file("cases", path)
	if err != nil {
		return nil, err
	}
	cases, err := policy.ParseCases([]byte(text))
	if err != nil {
		e := explain(policyError(path, err))
		e.What = path + " has no proper cases"
		return nil, e
	}
	if len(cases) == 0 {
		return nil, exit.Usagef("%s: there is no case in it", path)
	}
	return cases, nil
}

func (s *session) oneCase(fl policyTestFlags) ([]policy.Case, error) {
	c := policy.Case{Target: fl.target, Kind: fl.kind, Expect: fl.expect}
	var err error
	if c.Labels, err = parseLabels(fl.labels); err != nil {
		return nil, err
	}
	if fl.args != "" {
		raw, err := s.json("args", fl.args)
		if err != nil {
			return nil, err
		}
		if err := c.Args.UnmarshalJSON(raw); err != nil {
			return nil, exit.Usagef("--args: %v", err)
		}
	}
	return []policy.Case{c}, nil
}

// testHere needs no server: it is the same evaluator.
func testHere(bundle string, cases []policy.Case) (report wire.PolicyTestReport, err error) {
	b, err := policy.Compile([]byte(bundle))
	if err != nil {
		return report, err
	}
	return report, reshape(policy.RunCases(b, "", cases), &report)
}

// reshape copies a value to a type with the same JSON.
func reshape(from, to any) error {
	b, err := wire.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

func (s *session) testThere(ctx context.Context, agent string, req wire.PolicyTest, cases []policy.Case, fl policyTestFlags) (report wire.PolicyTestReport, err error) {
	if err := reshape(cases, &req.Cases); err != nil {
		return report, err
	}
	if fl.execution != "" {
		if req.ExecutionID, err = s.executionID(ctx, fl.execution); err != nil {
			return report, err
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return report, err
	}
	report, err = c.TestPolicy(ctx, agent, req)
	if client.CodeOf(err) == wire.CodeNotFound {
		if _, agentErr := c.GetAgent(ctx, agent); client.CodeOf(agentErr) == wire.CodeNotFound {
			return report, noAgent(agent, agentErr)
		}
	}
	return report, err
}

// printReport prints what came of the cases, and fails when one did not match.
func (s *session) printReport(agent string, report wire.PolicyTestReport, probe bool) error {
	p := s.printer()
	switch {
	case p.Format.Kind == printer.JUnit:
		if err := writeJUnit(s.out, strings.TrimSpace("policies test "+agent), reportCases(report)); err != nil {
			return err
		}
	case p.Format.ForPerson():
		if err := printResults(p, report, probe); err != nil {
			return err
		}
		if !probe {
			s.io.Notef("%d cases, %d do not match", report.Total, report.Failed)
			if len(report.UnexercisedRules) > 0 {
				s.io.Notef("rules that no case exercised: %s", printer.Clean(strings.Join(report.UnexercisedRules, ", ")))
			}
		}
	default:
		if err := p.Value(report); err != nil {
			return err
		}
	}
	if report.Failed > 0 {
		return &exit.Error{Code: exit.CheckFailed, What: fmt.Sprintf("%d of %d cases do not match", report.Failed, report.Total)}
	}
	return nil
}

type numbered struct {
	n int
	wire.PolicyResult
}

func printResults(p *printer.Printer, report wire.PolicyTestReport, probe bool) error {
	list := printer.NewList(p, resultView(probe))
	for i, r := range report.Results {
		if err := list.Add(numbered{i + 1, r}); err != nil {
			return err
		}
	}
	return list.Close("")
}

func resultView(probe bool) printer.View[numbered] {
	v := printer.View[numbered]{
		Name: func(r numbered) string { return caseName(r.n, r.PolicyResult) },
		ID:   func(r numbered) string { return caseName(r.n, r.PolicyResult) },
		Columns: []printer.Column[numbered]{
			{Name: "CASE", Flex: true, Cell: func(r numbered) printer.Cell { return printer.Text(caseName(r.n, r.PolicyResult)) }},
			{Name: "KIND", Wide: true, Cell: func(r numbered) printer.Cell { return printer.Text(string(r.Kind)) }},
			{Name: "TARGET", Flex: true, Cell: func(r numbered) printer.Cell { return printer.Text(r.Target) }},
			{Name: "WANT", Cell: func(r numbered) printer.Cell { return printer.Dash(string(r.Expect)) }},
			{Name: "GOT", Cell: func(r numbered) printer.Cell { return action(r.Decision) }},
			{Name: "RULE", Flex: true, Cell: func(r numbered) printer.Cell { return printer.Text(r.RuleID) }},
			{Name: "REASON", Wide: !probe, Flex: true, Cell: func(r numbered) printer.Cell { return printer.Dash(r.Reason) }},
			{Name: "RESULT", Cell: func(r numbered) printer.Cell {
				if r.Pass {
					return printer.Cell{Text: "ok", Style: printer.Good}
				}
				return printer.Cell{Text: "MISMATCH: " + r.Failure, Style: printer.Bad}
			}},
		},
	}
	return v
}

func caseName(n int, r wire.PolicyResult) string {
	switch {
	case r.Name != "":
		return r.Name
	case r.StepID != "":
		return printer.ShortID(r.StepID)
	}
	return strconv.Itoa(n)
}

func action(a wire.PolicyAction) printer.Cell {
	c := printer.Cell{Text: string(a)}
	switch a {
	case wire.ActionAllow:
		c.Style = printer.Good
	case wire.ActionDeny:
		c.Style = printer.Bad
	case wire.ActionRequireApproval:
		c.Style = printer.Warn
	}
	return c
}

func reportCases(report wire.PolicyTestReport) []junitCase {
	cases := make([]junitCase, len(report.Results))
	for i, r := range report.Results {
		cases[i] = junitCase{Class: string(r.Kind) + "." + r.Target, Name: caseName(i+1, r)}
		if !r.Pass {
			cases[i].Failure = &junitFailure{Message: r.Failure, Text: r.Failure + "\nrule " + r.RuleID + ": " + r.Reason}
		}
	}
	return cases
}
