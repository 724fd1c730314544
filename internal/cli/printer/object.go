package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Field is a line of a card.
type Field struct {
	Name  string
	Value Cell
	JSON  json.RawMessage // instead of Value: a value of any size
	Text  string          // instead of Value: text of several lines
}

// One writes one value: a card for a person, the object for a program.
func One[T any](p *Printer, v View[T], item T, card func() []Field) error {
	switch {
	case p.IDsOnly && p.Format.ForPerson():
		_, err := fmt.Fprintln(p.Out, v.ID(item))
		return err
	case p.Format.Kind == Name:
		_, err := fmt.Fprintln(p.Out, v.Name(item))
		return err
	case p.Format.ForPerson():
		return p.Card(card())
	}
	raw, err := wire.Marshal(item)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return p.Object(raw)
}

// Object writes a JSON value in the format of a program.
func (p *Printer) Object(raw []byte) error {
	if p.Format.Kind == JSONL {
		_, err := fmt.Fprintf(p.Out, "%s\n", p.screen(raw))
		return err
	}
	return p.document(p.Out, raw)
}

// Value is Object for any value.
func (p *Printer) Value(v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return p.Object(raw)
}

// document writes a whole value: YAML, through the template, else JSON.
func (p *Printer) document(w io.Writer, raw []byte) error {
	switch p.Format.Kind {
	case YAML:
		text, err := p.yaml(raw)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	case Template:
		return p.template(w, raw)
	case Auto, Table, Wide, TSV, JSON, JSONL, Name, JUnit:
	}
	_, err := fmt.Fprintf(w, "%s\n", p.screen(indent(raw, "")))
	return err
}

// screen makes JSON harmless when a person reads along.
func (p *Printer) screen(raw []byte) []byte {
	if p.Screen {
		return cleanJSON(raw)
	}
	return raw
}

// maxCardLines is how much of a long value a card shows, unless it is to show all.
const maxCardLines = 20

// Card writes fields one under the other; in a pipe as name, tab, value.
func (p *Printer) Card(fields []Field) error {
	var b strings.Builder
	widest := 0
	for _, f := range fields {
		widest = max(widest, len(f.Name))
	}
	for _, f := range fields {
		if p.Format.Kind == TSV {
			b.WriteString(f.Name + "\t" + f.tsv() + "\n")
			continue
		}
		name := p.Paint(Dim, f.Name) + strings.Repeat(" ", widest-len(f.Name)+gap)
		for i, line := range p.lines(f) {
			if i > 0 {
				name = strings.Repeat(" ", widest+gap)
			}
			b.WriteString(strings.TrimRight(name+line, " ") + "\n")
		}
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

func (f Field) tsv() string {
	switch {
	case f.JSON != nil:
		return string(cleanJSON(compact(f.JSON)))
	case f.Text != "":
		return Clean(f.Text)
	}
	return Clean(f.Value.Text)
}

func (p *Printer) lines(f Field) []string {
	var text string
	switch {
	case f.JSON != nil:
		text = string(cleanJSON(pretty(f.JSON)))
	case f.Text != "":
		text = Lines(strings.TrimRight(f.Text, "\n"))
	default:
		return []string{p.Paint(f.Value.Style, p.show(f.Value))}
	}
	return strings.Split(text, "\n")
}

// Shorten cuts a long JSON value or text of a card to what fits on a screen,
// and says how much it left out.
func Shorten(fields []Field, how string) []Field {
	for i, f := range fields {
		text := f.Text
		if f.JSON != nil {
			text = string(cleanJSON(pretty(f.JSON)))
		}
		lines := strings.Split(text, "\n")
		if len(lines) <= maxCardLines {
			continue
		}
		left := len(lines) - maxCardLines
		fields[i].JSON = nil
		fields[i].Text = strings.Join(lines[:maxCardLines], "\n") + fmt.Sprintf("\n… %d more lines: %s", left, how)
	}
	return fields
}

// pretty puts a short value on one line and a long one on several.
func pretty(raw json.RawMessage) []byte {
	if one := compact(raw); len(one) <= 72 {
		return one
	}
	return indent(raw, "")
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func parseTemplate(text string) (Format, error) {
	t, err := template.New("output").Option("missingkey=zero").Funcs(template.FuncMap{
		"json":  func(v any) (string, error) { b, err := wire.Marshal(v); return string(b), err },
		"short": func(s string) string { return ShortID(s) },
		"join":  func(sep string, vs []any) string { return joinAny(sep, vs) },
	}).Parse(text)
	if err != nil {
		return Format{}, fmt.Errorf("output format: %w", err)
	}
	return Format{Kind: Template, Template: t}, nil
}

func joinAny(sep string, vs []any) string {
	texts := make([]string, len(vs))
	for i, v := range vs {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, sep)
}

// template puts a value through the template. Numbers keep their digits.
func (p *Printer) template(w io.Writer, raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("read the object for the template: %w", err)
	}
	var b bytes.Buffer
	if err := p.Format.Template.Execute(&b, v); err != nil {
		return fmt.Errorf("run the template: %w", err)
	}
	if b.Len() > 0 && b.Bytes()[b.Len()-1] != '\n' {
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Compact writes a value as one JSON line, or through the template.
func (p *Printer) Compact(v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	switch p.Format.Kind {
	case Template:
		return p.template(p.Out, raw)
	case YAML:
		text, err := p.yaml(raw)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Out, "---\n%s", text)
		return err
	case Auto, Table, Wide, TSV, JSON, JSONL, Name, JUnit:
	}
	_, err = fmt.Fprintf(p.Out, "%s\n", p.screen(raw))
	return err
}
