package serve

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/archive"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
)

// maxProblems is how many problems of an export are named; all are counted.
const maxProblems = 20

// verifiedExport is what verify says of an export, in JSON.
type verifiedExport struct {
	OK         bool     `json:"ok"`
	File       string   `json:"file"`
	Executions int64    `json:"executions"`  // that are whole
	Events     int64    `json:"events"`      // of them
	NextCursor string   `json:"next_cursor"` // where the export goes on; empty: nowhere
	Found      int64    `json:"problems_found"`
	Problems   []string `json:"problems"` // the first ones
}

// verifyExport checks what an export can prove about itself.
func verifyExport(s *cli.Session, stdin io.Reader, path string) error {
	in := io.NopCloser(stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return exit.Usagef("cannot read the export").Because("%v", err)
		}
		in = f
	}
	defer in.Close()
	v, err := checkExport(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	v.File = path
	checks := []cli.Diagnosis{{
		Level: cli.LevelOK, Check: "export",
		Text: fmt.Sprintf("%s: %s with %s, each as it was written", path, printer.Counted(v.Executions, "execution"), printer.Counted(v.Events, "event")),
	}}
	if v.NextCursor != "" {
		checks = append(checks, cli.Diagnosis{
			Level: cli.LevelWarn, Check: "end", Text: "the export goes on",
			Fix: "kernelctl export --since-cursor " + v.NextCursor,
		})
	}
	if !v.OK {
		checks = failures(v.Problems, v.Found, "")
	}
	return conclude(s, v, checks, path, v.Found)
}

func checkExport(in io.Reader) (verifiedExport, error) {
	v := verifiedExport{Problems: []string{}}
	report := func(text string) {
		if v.Found++; v.Found <= maxProblems {
			v.Problems = append(v.Problems, text)
		}
	}
	for r := archive.NewReader(in); ; {
		section, err := r.Next()
		var problem *archive.Problem
		switch {
		case errors.Is(err, io.EOF):
			v.OK, v.NextCursor = v.Found == 0, r.Cursor()
			return v, nil
		case errors.As(err, &problem):
			report(problem.Error())
			continue
		case err != nil:
			return v, err
		}
		found := section.Check()
		for _, what := range found {
			report(fmt.Sprintf("line %d: execution %s: %s", section.Line, section.Execution.ID, what))
		}
		if len(found) == 0 {
			v.Executions++
			v.Events += int64(len(section.Events))
		}
	}
}
