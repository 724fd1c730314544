package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/archive"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newExecutionsView(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "view FILE [ID]",
		Short: "Show executions of an exported file, without a server",
		Long: `Shows what kernelctl export wrote, and needs no server. A file with one execution
shows it whole: card, steps, events. One with several lists them; an id, or a
unique part of it, shows that one. - is stdin.

A file that was changed or cut short is shown as far as it is whole, with exit 20.`,
		Example: `  kernelctl executions view run.jsonl
  kernelctl ex view x.jsonl 9f3a71c2 -o json`,
		Args: takes(1, 2, "a file"),
	}
	cmd.RunE = f.do(traits{pages: true, lenient: true}, func(ctx context.Context, s *session) error { return s.view(ctx) })
	return cmd
}

func (s *session) view(ctx context.Context) error {
	in, err := s.open(s.args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	r := archive.NewReader(in)
	sections, broken := readSections(r, s.wantSection())
	if err := s.viewSections(ctx, sections); err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	if next := r.Cursor(); next != "" {
		s.io.Notef("the export goes on: kernelctl export --since-cursor %s", next)
	}
	return nil
}

func (s *session) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(s.io.In), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, exit.Usagef("cannot read %s", path).Because("%v", err)
	}
	return f, nil
}

// wantSection is a test of the id that was given, if any.
func (s *session) wantSection() func(string) bool {
	if len(s.args) == 1 {
		return func(string) bool { return true }
	}
	part := idArg("execution", s.args[1])
	return func(id string) bool { return matches(id, part) }
}

// readSections reads what is whole, and says what is not.
func readSections(r *archive.Reader, want func(string) bool) (sections []*archive.Section, broken error) {
	var problems []string
	for {
		sec, err := r.Next()
		p := (*archive.Problem)(nil)
		switch {
		case errors.Is(err, io.EOF):
			if len(problems) == 0 {
				return sections, nil
			}
			return sections, &exit.Error{
				Code: exit.CheckFailed, What: "the file is damaged: " + printer.Counted(len(problems), "problem"), Why: problems[0],
				Details: map[string]any{"problems": problems},
			}
		case errors.As(err, &p):
			problems = append(problems, p.Error())
			continue
		case err != nil:
			return sections, err
		}
		if want(sec.Execution.ID) {
			for _, text := range sec.Check() {
				problems = append(problems, fmt.Sprintf("line %d: execution %s: %s", sec.Line, sec.Execution.ID, text))
			}
			sections = append(sections, sec)
		}
	}
}

func (s *session) viewSections(ctx context.Context, sections []*archive.Section) error {
	p := s.printer()
	switch {
	case len(sections) == 0 && len(s.args) == 2:
		return &exit.Error{Code: exit.NotFound, What: fmt.Sprintf("no execution %s in %s", s.args[1], s.args[0]), Next: "kernelctl executions view " + s.args[0]}
	case len(sections) == 1 && !p.IDsOnly:
		return s.viewOne(ctx, p, sections[0])
	case len(s.args) == 2 && len(sections) > 1:
		found := make([]idMatch, len(sections))
		for i, sec := range sections {
			found[i] = idMatch{sec.Execution.ID, sec.Execution.AgentID + " " + string(sec.Execution.Status)}
		}
		_, err := choose("execution", s.args[1], found, "")
		return err
	}
	list := printer.NewList(p, executionView(p, nil))
	for _, sec := range sections {
		if err := list.Add(sec.Execution); err != nil {
			return err
		}
	}
	return list.Close("")
}

// viewed is one execution of a file, as a program sees it.
type viewed struct {
	Execution wire.Execution           `json:"execution"`
	Events    wire.List[wire.Event]    `json:"events"`
	Steps     wire.List[wire.Step]     `json:"steps"`
	Approvals wire.List[wire.Approval] `json:"approvals"`
}

func (s *session) viewOne(ctx context.Context, p *printer.Printer, sec *archive.Section) error {
	if !p.Format.ForPerson() {
		return p.Value(viewed{sec.Execution, sec.Events, sec.Steps, sec.Approvals})
	}
	if err := p.Card(s.executionCard(ctx, p, nil, sec.Execution)); err != nil {
		return err
	}
	if err := viewList(s, p, stepView(p), sec.Steps); err != nil {
		return err
	}
	if err := viewList(s, p, approvalView(p, true), sec.Approvals); err != nil {
		return err
	}
	return viewList(s, p, eventView(p, false), sec.Events)
}

// viewList is a table under an empty line; nothing when there is nothing.
func viewList[T any](s *session, p *printer.Printer, v printer.View[T], items []T) error {
	if len(items) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(s.out); err != nil {
		return err
	}
	list := printer.NewList(p, v)
	for _, item := range items {
		if err := list.Add(item); err != nil {
			return err
		}
	}
	return list.Close("")
}
