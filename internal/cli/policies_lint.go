package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/policy"
)

// casesSuffix ends the name of a file with cases: p.yaml has p.policytest.yaml.
const casesSuffix = ".policytest.yaml"

func newPoliciesLint(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "lint FILE...",
		Aliases: []string{"check"},
		Short:   "Check policy bundles and case files, without a server",
		Long: `Checks policy bundles with the parser that the server has, and needs no server.
Files whose name ends in ` + casesSuffix + ` are checked as cases. Every problem is
one line: file:line:column: message. Exit 20 when there is one.`,
		Example: `  kernelctl policies lint p.yaml
  kernelctl pol lint policies/*.yaml -o junit > lint.xml`,
		Args: takes(1, many, "a file"),
	}
	cmd.RunE = f.do(traits{junit: true}, func(_ context.Context, s *session) error {
		found := []finding{}
		for _, path := range s.args {
			problems, err := s.lint(path)
			if err != nil {
				return err
			}
			found = append(found, problems...)
		}
		return s.printFindings(found)
	})
	return cmd
}

// finding is a problem of a file.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

func (f finding) where() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

func (s *session) lint(path string) ([]finding, error) {
	text, err := s.file("file", path)
	if err != nil {
		e := explain(err)
		e.What = "cannot read " + path
		return nil, e
	}
	if strings.HasSuffix(path, casesSuffix) {
		_, err = policy.ParseCases([]byte(text))
	} else {
		_, err = policy.Compile([]byte(text))
	}
	invalid := (*policy.Invalid)(nil)
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &invalid):
		return []finding{{File: path, Field: "bundle", Problem: err.Error()}}, nil
	}
	found := make([]finding, len(invalid.Problems))
	for i, p := range invalid.Problems {
		found[i] = finding{File: path, Line: p.Line, Column: p.Column, Field: p.Field, Problem: p.Problem}
	}
	return found, nil
}

func (s *session) printFindings(found []finding) error {
	p := s.printer()
	if err := writeFindings(s, p, found); err != nil {
		return err
	}
	if len(found) > 0 {
		return &exit.Error{Code: exit.CheckFailed, What: printer.Counted(len(found), "problem") + " in " + printer.Counted(filesOf(found), "file")}
	}
	if p.Format.ForPerson() {
		s.io.Notef("%s checked, no problem", printer.Counted(len(s.args), "file"))
	}
	return nil
}

func writeFindings(s *session, p *printer.Printer, found []finding) error {
	switch {
	case p.Format.Kind == printer.JUnit:
		return writeJUnit(s.out, "policies lint", lintCases(s.args, found))
	case p.Format.ForPerson():
		for _, f := range found {
			if _, err := fmt.Fprintf(s.out, "%s: error: %s: %s\n", printer.Clean(f.where()), printer.Clean(f.Field), printer.Clean(f.Problem)); err != nil {
				return err
			}
		}
		return nil
	}
	list := printer.NewList(p, printer.View[finding]{Name: finding.where, ID: finding.where})
	for _, f := range found {
		if err := list.Add(f); err != nil {
			return err
		}
	}
	return list.Close("")
}

func filesOf(found []finding) int {
	files := map[string]bool{}
	for _, f := range found {
		files[f.File] = true
	}
	return len(files)
}

// lintCases is one JUnit case a file.
func lintCases(files []string, found []finding) []junitCase {
	cases := make([]junitCase, 0, len(files))
	for _, file := range files {
		c := junitCase{Class: "lint", Name: file}
		var lines []string
		for _, f := range found {
			if f.File == file {
				lines = append(lines, f.where()+": "+f.Field+": "+f.Problem)
			}
		}
		if len(lines) > 0 {
			c.Failure = &junitFailure{Message: printer.Counted(len(lines), "problem"), Text: strings.Join(lines, "\n")}
		}
		cases = append(cases, c)
	}
	return cases
}
