package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text writes a report for people: a line a measure, the percentiles of one
// operation side by side.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(r.caption() + "\n")
	rows := r.rows()
	widest := 0
	for _, row := range rows {
		widest = max(widest, len([]rune(row.name)))
	}
	head := ""
	for _, row := range rows {
		if row.head != head {
			head = row.head
			fmt.Fprintf(&b, "\n%s\n", head)
		}
		said := slices.DeleteFunc([]string{row.value, row.ratio, row.goal}, func(s string) bool { return s == "" })
		fmt.Fprintf(&b, "  %s%s  %s\n", row.name, strings.Repeat(" ", widest-len([]rune(row.name))), strings.Join(said, "  "))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// caption says of what the figures are.
func (r *Report) caption() string {
	return fmt.Sprintf("kernelctl %s, %s, %d CPUs, %s/%s; %d steps an execution, %d bytes of args and result, %gs a case",
		r.Version, r.TakenAt.Format(time.DateOnly), r.Machine.CPUs, r.Machine.OS, r.Machine.Arch, r.Settings.Steps, r.Settings.Payload, r.Settings.Seconds)
}

// Markdown writes a report as a table for a document.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(r.caption() + "\n\n| scenario | measure | figure | of the machine | goal |\n|---|---|---|---|---|\n")
	for _, row := range r.rows() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.head, row.name, row.value, row.ratio, row.goal)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// row is a measure as it is shown.
type row struct{ head, name, value, ratio, goal string }

// rows puts the percentiles of an operation into one row.
func (r *Report) rows() []row {
	var rows []row
	for i := 0; i < len(r.Figures); i++ {
		f := &r.Figures[i]
		line := row{head: strings.TrimSpace(f.Scenario + " " + f.Case)}
		operation, ok := strings.CutSuffix(f.Name, " p50")
		if n := percentiles(r.Figures[i:], operation); ok && n > 1 {
			line.name = operation
			var parts, ratios, goals []string
			for _, p := range r.Figures[i : i+n] {
				which := strings.TrimPrefix(p.Name, operation+" ")
				parts = append(parts, which+" "+number(p.Value))
				if p.Ratio != nil {
					ratios = append(ratios, which+" "+p.share())
				}
				if p.Goal != nil {
					goals = append(goals, which+" "+p.verdict())
				}
			}
			line.value = strings.Join(parts, "  ") + " " + f.Unit
			line.ratio, line.goal = strings.Join(ratios, ", "), strings.Join(goals, ", ")
			i += n - 1
		} else {
			line.name, line.value = f.Name, number(f.Value)+" "+f.Unit
			if f.Goal != nil {
				line.goal = f.verdict()
			}
			if f.Ratio != nil {
				line.ratio = f.share()
			}
		}
		rows = append(rows, line)
	}
	return rows
}

// percentiles is how many of the first figures are of the same operation.
func percentiles(figures []Figure, operation string) int {
	n := 0
	for n < len(figures) {
		rest, ok := strings.CutPrefix(figures[n].Name, operation+" ")
		if !ok || n > 0 && rest == "p50" || !slices.Contains([]string{"p50", "p90", "p99", "max"}, rest) {
			break
		}
		n++
	}
	return n
}

// share says what part of the machine's own limit the figure is.
func (f *Figure) share() string { return fmt.Sprintf("%.2f of %s", *f.Ratio, number(*f.Limit)) }

// verdict says what the goal is and whether it is met.
func (f *Figure) verdict() string {
	sign := "≤"
	if f.Better == Higher {
		sign = "≥"
	}
	said := "met"
	if !f.Met() {
		said = "missed"
	}
	return fmt.Sprintf("%s %s %s", sign, number(*f.Goal), said)
}

// number shows three figures that count, and whole numbers whole.
func number(v float64) string {
	digits := 0
	if a := math.Abs(v); a > 0 && a < 100 {
		digits = max(0, 2-int(math.Floor(math.Log10(a))))
	}
	s := strconv.FormatFloat(v, 'f', min(digits, 4), 64)
	if strings.Contains(s, ".") {
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Table writes changes for people.
func Table(w io.Writer, changes []Change) error {
	var b bytes.Buffer
	for _, c := range changes {
		f := &c.Figure
		switch {
		case c.Old == nil:
			fmt.Fprintf(&b, "%-9s %s: %s %s, which was not measured before\n", "new", f.Key(), number(f.Value), f.Unit)
			continue
		case c.Regressed:
			b.WriteString("worse     ")
		default:
			b.WriteString("          ")
		}
		fmt.Fprintf(&b, "%s: %s → %s %s (%+.1f%%)\n", f.Key(), number(*c.Old), number(f.Value), f.Unit, 100*(c.Factor-1))
	}
	_, err := w.Write(b.Bytes())
	return err
}
