package printer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// List writes many values, as they come. What can be written at once is not
// held back: tab-separated values, names, JSON and JSON lines of any length
// take constant memory. A table is laid out when all its rows are known.
type List[T any] struct {
	p     *Printer
	v     View[T]
	w     *bufio.Writer
	kind  Kind
	n     int
	rows  [][]Cell
	held  []json.RawMessage // for YAML and templates
	live  bool
	ids   bool // --quiet: only the ids
	shape shape
}

// shape is the layout of a table that grows row by row.
type shape struct {
	widths []int
	right  []bool
}

// NewList begins a list that ends.
func NewList[T any](p *Printer, v View[T]) *List[T] {
	l := &List[T]{p: p, v: v, w: bufio.NewWriterSize(p.Out, 64<<10), kind: p.Format.Kind}
	l.ids = p.IDsOnly && p.Format.ForPerson()
	return l
}

// NewLive begins a list that grows while a person or a program watches: each
// value is written at once. JSON becomes JSON lines, because a list without an
// end is never complete.
func NewLive[T any](p *Printer, v View[T]) *List[T] {
	l := NewList(p, v)
	l.live = true
	if l.kind == JSON {
		l.kind = JSONL
	}
	return l
}

// Len is how many values there were.
func (l *List[T]) Len() int { return l.n }

// Add writes one more value.
func (l *List[T]) Add(item T) error {
	if err := l.add(item); err != nil {
		return err
	}
	l.n++
	if l.live {
		return l.w.Flush()
	}
	return nil
}

func (l *List[T]) add(item T) error {
	if l.ids {
		return l.write(l.v.ID(item) + "\n")
	}
	switch l.kind {
	case TSV:
		return l.write(tsv(cellsOf(l.v.Columns, item)))
	case Name:
		return l.write(l.v.Name(item) + "\n")
	case JSON, JSONL, YAML, Template, JUnit:
		raw, err := wire.Marshal(item)
		if err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
		return l.addRaw(raw)
	case Auto, Table, Wide:
	}
	if l.live {
		return l.grow(item)
	}
	l.rows = append(l.rows, cellsOf(l.v.columns(l.kind), item))
	return nil
}

func (l *List[T]) addRaw(raw []byte) error {
	switch {
	case l.kind == JSONL:
		return l.write(string(l.p.screen(raw)) + "\n")
	case l.kind == JSON:
		sep := ",\n    "
		if l.n == 0 {
			sep = "{\n  \"schema\": \"" + Schema + "\",\n  \"items\": [\n    "
		}
		return l.write(sep + string(l.p.screen(indent(raw, "    "))))
	case l.live && l.kind == YAML:
		text, err := l.p.yaml(raw)
		if err != nil {
			return err
		}
		return l.write("---\n" + string(text))
	case l.live && l.kind == Template:
		return l.p.template(l.w, raw)
	}
	l.held = append(l.held, raw)
	return nil
}

func (l *List[T]) write(s string) error {
	_, err := l.w.WriteString(s)
	return err
}

// grow writes a row under columns whose widths were chosen beforehand.
func (l *List[T]) grow(item T) error {
	columns := l.v.columns(l.kind)
	if l.n == 0 {
		l.shape = fixed(columns, l.p.Width)
	}
	cells := cellsOf(columns, item)
	if l.p.Width <= 0 { // nothing is cut: a long value pushes its neighbours aside, from its row on
		for i, c := range cells {
			l.shape.widths[i] = max(l.shape.widths[i], Cells(l.p.show(c)))
		}
	}
	if l.n == 0 {
		if err := l.header(columns, l.shape); err != nil {
			return err
		}
	}
	return l.write(l.p.line(cells, l.shape.widths, l.shape.right))
}

func fixed[T any](columns []Column[T], screen int) shape {
	s := shape{widths: make([]int, len(columns)), right: make([]bool, len(columns))}
	used := 0
	for i, c := range columns {
		s.widths[i], s.right[i] = max(c.Width, len(c.Name)), c.Right
		used += s.widths[i] + gap
	}
	if last := len(columns) - 1; screen > 0 && last >= 0 {
		s.widths[last] = max(s.widths[last]+screen-(used-gap), 1)
	}
	return s
}

func (l *List[T]) header(columns []Column[T], s shape) error {
	if !l.p.Headers {
		return nil
	}
	cells := make([]Cell, len(columns))
	for i, c := range columns {
		cells[i] = Cell{Text: c.Name, Style: Bold}
	}
	return l.write(l.p.line(cells, s.widths, s.right))
}

// Close ends the list. Next is where the next page begins; empty: nowhere.
func (l *List[T]) Close(next string) error {
	if !l.live && !l.ids {
		if err := l.end(next); err != nil {
			return err
		}
	}
	return l.w.Flush()
}

func (l *List[T]) end(next string) error {
	switch l.kind {
	case Auto, Table, Wide:
		return l.table()
	case JSON:
		cursor, err := wire.Marshal(next)
		if err != nil {
			return err
		}
		if l.n == 0 {
			return l.write("{\n  \"schema\": \"" + Schema + "\",\n  \"items\": [],\n  \"next_cursor\": " + string(cursor) + "\n}\n")
		}
		return l.write("\n  ],\n  \"next_cursor\": " + string(cursor) + "\n}\n")
	case YAML, Template:
		raw, err := wire.Marshal(struct {
			Schema     string                     `json:"schema"`
			Items      wire.List[json.RawMessage] `json:"items"`
			NextCursor string                     `json:"next_cursor"`
		}{Schema, l.held, next})
		if err != nil {
			return err
		}
		return l.p.document(l.w, raw)
	case TSV, JSONL, Name, JUnit:
	}
	return nil
}

// table lays out all rows.
func (l *List[T]) table() error {
	columns := l.v.columns(l.kind)
	s := shape{widths: make([]int, len(columns)), right: make([]bool, len(columns))}
	flex := make([]bool, len(columns))
	for i, c := range columns {
		s.right[i], flex[i] = c.Right, c.Flex
		if l.p.Headers {
			s.widths[i] = len(c.Name)
		}
		for _, row := range l.rows {
			s.widths[i] = max(s.widths[i], Cells(l.p.show(row[i])))
		}
	}
	if len(l.rows) == 0 {
		return nil
	}
	shrink(s.widths, flex, l.p.Width)
	if err := l.header(columns, s); err != nil {
		return err
	}
	for _, row := range l.rows {
		if err := l.write(l.p.line(row, s.widths, s.right)); err != nil {
			return err
		}
	}
	return nil
}

func cellsOf[T any](columns []Column[T], item T) []Cell {
	cells := make([]Cell, len(columns))
	for i, c := range columns {
		cells[i] = c.Cell(item)
	}
	return cells
}

// indent is a JSON value over several lines, its digits and characters as they
// were.
func indent(raw []byte, prefix string) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, prefix, "  ") != nil {
		return raw
	}
	return b.Bytes()
}
