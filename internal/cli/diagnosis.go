package cli

import (
	"fmt"
	"strings"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
)

// The levels of a [Diagnosis].
const (
	LevelOK   = "ok"
	LevelWarn = "warn"
	LevelFail = "FAIL"
)

// Diagnosis is the outcome of one check.
type Diagnosis struct {
	Level string `json:"level"` // ok, warn or fail
	Check string `json:"check"`
	Text  string `json:"text"`
	Fix   string `json:"fix"` // empty when all is well
}

// printDiagnoses writes a line for each, and below it how to mend what is wrong;
// for a pipe and for programs a list.
func printDiagnoses(p *printer.Printer, found []Diagnosis) error {
	if p.Format.Kind != printer.Table && p.Format.Kind != printer.Wide {
		list := printer.NewList(p, diagnosisView())
		for _, d := range found {
			d.Level = strings.ToLower(d.Level)
			if err := list.Add(d); err != nil {
				return err
			}
		}
		return list.Close("")
	}
	widest := 0
	for _, d := range found {
		widest = max(widest, len(d.Check))
	}
	for _, d := range found {
		text := fmt.Sprintf("%s  %-*s  %s\n", p.Paint(levelStyle(d.Level), fmt.Sprintf("%-4s", d.Level)), widest, d.Check, printer.Clean(d.Text))
		if d.Fix != "" {
			text += fmt.Sprintf("      %*s  fix: %s\n", widest, "", printer.Clean(d.Fix))
		}
		if _, err := fmt.Fprint(p.Out, text); err != nil {
			return err
		}
	}
	return nil
}

func levelStyle(level string) printer.Style {
	switch level {
	case LevelOK:
		return printer.Good
	case LevelWarn:
		return printer.Warn
	}
	return printer.Bad
}

func diagnosisView() printer.View[Diagnosis] {
	text := func(get func(Diagnosis) string) func(Diagnosis) printer.Cell {
		return func(d Diagnosis) printer.Cell { return printer.Text(get(d)) }
	}
	return printer.View[Diagnosis]{
		Name: func(d Diagnosis) string { return "check/" + d.Check },
		ID:   func(d Diagnosis) string { return d.Check },
		Columns: []printer.Column[Diagnosis]{
			{Name: "LEVEL", Cell: text(func(d Diagnosis) string { return d.Level })},
			{Name: "CHECK", Cell: text(func(d Diagnosis) string { return d.Check })},
			{Name: "TEXT", Cell: text(func(d Diagnosis) string { return d.Text })},
			{Name: "FIX", Cell: text(func(d Diagnosis) string { return d.Fix })},
		},
	}
}
