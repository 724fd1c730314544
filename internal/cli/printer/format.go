package printer

import (
	"fmt"
	"os"
	"strings"
	"text/template"
)

// Kind is a way to write values.
type Kind string

// The kinds. TSV is what a table becomes in a pipe.
const (
	Auto     Kind = ""
	Table    Kind = "table"
	Wide     Kind = "wide"
	TSV      Kind = "tsv"
	JSON     Kind = "json"
	YAML     Kind = "yaml"
	JSONL    Kind = "jsonl"
	Name     Kind = "name"
	Template Kind = "go-template"
	JUnit    Kind = "junit" // of the commands that run cases
)

// templateFile is a way to say [Template].
const templateFile = "go-template-file"

// Kinds lists the values of --output, without those of single commands.
func Kinds() []string {
	return []string{"table", "wide", "tsv", "json", "yaml", "jsonl", "name", "go-template=", "go-template-file="}
}

// Format is a kind with what it needs.
type Format struct {
	Kind     Kind
	Template *template.Template // of kind Template
}

// ParseFormat reads the value of --output.
func ParseFormat(s string) (Format, error) {
	kind, arg, has := strings.Cut(s, "=")
	switch k := Kind(kind); k {
	case Auto, Table, Wide, TSV, JSON, YAML, JSONL, Name, JUnit:
		if !has {
			return Format{Kind: k}, nil
		}
	case Template:
		if has {
			return parseTemplate(arg)
		}
		return Format{}, fmt.Errorf("output format go-template: say go-template='{{.id}}'")
	case templateFile:
		if !has {
			return Format{}, fmt.Errorf("output format go-template-file: say go-template-file=PATH")
		}
		text, err := os.ReadFile(arg)
		if err != nil {
			return Format{}, fmt.Errorf("output format: %w", err)
		}
		return parseTemplate(string(text))
	}
	return Format{}, fmt.Errorf("output format %q: want one of %s", s, strings.Join(Kinds(), ", "))
}

// ForProgram reports whether errors should be JSON, too.
func (f Format) ForProgram() bool { return f.Kind == JSON || f.Kind == JSONL }

// ForPerson reports whether the kind is one of the tables.
func (f Format) ForPerson() bool {
	switch f.Kind {
	case Auto, Table, Wide, TSV:
		return true
	case JSON, YAML, JSONL, Name, Template, JUnit:
	}
	return false
}
