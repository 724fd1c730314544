package tui

import (
	"strings"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// col is a column of a table: its name, and its width; -1 takes the rest.
type col struct {
	name string
	w    int
}

// columns is a table for one width. A marker of two cells stands in front.
type columns []col

// newColumns gives the rest of w to the column that asks for it.
func newColumns(w int, cols ...col) columns {
	rest, open := w-3, -1
	for i, c := range cols {
		if c.w < 0 {
			open = i
			continue
		}
		rest -= c.w + 1
	}
	if open >= 0 {
		cols[open].w = max(rest, 0)
	}
	return cols
}

func (cs columns) header(sorted string, desc bool) string {
	return cs.line("  ", func(name string) string {
		s := strings.ToUpper(name)
		if name == sorted && desc {
			return s + " v"
		}
		if name == sorted {
			return s + " ^"
		}
		return s
	})
}

// line makes a row; cell must give clean text.
func (cs columns) line(mark string, cell func(name string) string) string {
	var b strings.Builder
	b.WriteString(mark)
	for _, c := range cs {
		b.WriteByte(' ')
		b.WriteString(text.Fit(cell(c.name), c.w))
	}
	return b.String()
}

// fill cuts or fills to exactly h lines.
func fill(lines []string, h int) []string {
	h = max(h, 0)
	if len(lines) > h {
		return lines[:h]
	}
	for len(lines) < h {
		lines = append(lines, "")
	}
	return lines
}

// beside puts two columns of lines side by side.
func beside(th *theme, left, right []string, lw, h int) []string {
	left, right = fill(left, h), fill(right, h)
	out := make([]string, h)
	for i := range out {
		out[i] = text.Fit(left[i], lw) + " " + th.box.bar + " " + right[i]
	}
	return out
}

// ruleLine is a line of dashes with a title and something at its end.
func ruleLine(th *theme, title, end string, w int) string {
	return th.paint(tokDim, rule(th.box.dash, title, end, w))
}

// titled is the ruleLine of a part that keys may go to.
func titled(th *theme, title, end string, w int, focused bool) string {
	if focused {
		return th.paint(tokBold, rule(th.box.thick, title, end, w))
	}
	return ruleLine(th, title, end, w)
}

func rule(dash, title, end string, w int) string {
	s := strings.Repeat(dash, 3) + " " + text.Cut(title, max(w-8, 0)) + " "
	if end != "" {
		end = " " + end + " " + dash + dash
	}
	n := w - text.Width(s) - text.Width(end)
	if n < 0 {
		end = ""
		n = max(w-text.Width(s), 0)
	}
	return text.Cut(s+strings.Repeat(dash, n)+end, w)
}

// center is a text in the middle of its line, a little below the top.
func center(w int, lines ...string) []string {
	out := []string{"", ""}
	for _, s := range lines {
		s = text.Cut(s, w)
		out = append(out, strings.Repeat(" ", max((w-text.Width(s))/2, 0))+s)
	}
	return out
}

// boxed draws a frame around lines of w cells.
func boxed(th *theme, tok token, title, end string, lines []string, w int) []string {
	b := th.box
	head := rule(b.dash, title, end, w+3)
	out := []string{th.paint(tok, b.topLeft+head[len(b.dash):]+b.topRight)}
	for _, l := range lines {
		out = append(out, th.paint(tok, b.bar)+" "+text.Fit(l, w)+" "+th.paint(tok, b.bar))
	}
	return append(out, th.paint(tok, b.bottomLeft+strings.Repeat(b.dash, w+2)+b.bottomRight))
}
