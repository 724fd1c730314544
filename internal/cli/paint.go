package cli

import (
	"strings"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
)

// paintDiff makes a diff harmless and colours it.
func paintDiff(color bool, text string) string {
	lines := strings.Split(strings.TrimSuffix(printer.Lines(text), "\n"), "\n")
	for i, line := range lines {
		style := printer.Plain
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			style = printer.Bold
		case strings.HasPrefix(line, "+"):
			style = printer.Good
		case strings.HasPrefix(line, "-"):
			style = printer.Bad
		case strings.HasPrefix(line, "@@"):
			style = printer.Active
		}
		lines[i] = printer.Paint(color, style, line)
	}
	return strings.Join(lines, "\n")
}
