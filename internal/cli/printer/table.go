package printer

import (
	"strings"
)

// Column is one column of a view.
type Column[T any] struct {
	Name  string
	Wide  bool // only in the wide table, and always in tab-separated values
	Right bool // numbers
	Flex  bool // gives way first when the screen is narrow
	Width int  // in tables that grow row by row, where no row is known beforehand
	Cell  func(T) Cell
}

// View is how values of a type are shown to a person, and what they are called.
type View[T any] struct {
	Columns []Column[T]
	Name    func(T) string // as kind/id
	ID      func(T) string // as -q shows it
}

// columns are those of the printer's format.
func (v View[T]) columns(k Kind) []Column[T] {
	if k != Table {
		return v.Columns
	}
	var cs []Column[T]
	for _, c := range v.Columns {
		if !c.Wide {
			cs = append(cs, c)
		}
	}
	return cs
}

const gap = 2 // spaces between columns

// minFlex is how narrow a flexible column becomes before others do.
const minFlex = 8

// shrink makes the widths fit: flexible columns first, the widest of them
// first, then the last one.
func shrink(widths []int, flex []bool, screen int) {
	if screen <= 0 || len(widths) == 0 {
		return
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > screen {
		widest := -1
		for i, w := range widths {
			if flex[i] && w > minFlex && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	last := len(widths) - 1
	if total > screen {
		widths[last] = max(widths[last]-(total-screen), 1)
	}
}

// line lays out one row. The last column is not padded.
func (p *Printer) line(cells []Cell, widths []int, right []bool) string {
	var b strings.Builder
	for i, c := range cells {
		text := Cut(p.show(c), widths[i])
		if i < len(cells)-1 || right[i] {
			padded := pad(text, widths[i], right[i])
			b.WriteString(strings.Replace(padded, text, p.Paint(c.Style, text), 1))
		} else {
			b.WriteString(p.Paint(c.Style, text))
		}
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", gap))
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// show is the text of a cell in a table.
func (p *Printer) show(c Cell) string {
	if c.Short != "" && (!p.Full || c.Text == "") {
		return Clean(c.Short)
	}
	return Clean(c.Text)
}

// tsv is one row of tab-separated values, in full.
func tsv(cells []Cell) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = Clean(c.Text)
	}
	return strings.Join(texts, "\t") + "\n"
}
