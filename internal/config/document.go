package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxManifest bounds a manifest; policies may stand in it.
const maxManifest = 16 << 20

// document is a YAML file that is being read. After a problem it goes on, to
// find the others.
type document struct {
	path     string
	lines    []string
	env      func(string) (string, bool)
	problems problems
}

// at reports a problem at a node. An empty field means the text as a whole.
func (d *document) at(n *yaml.Node, field, format string, args ...any) {
	if field == "" {
		field = "manifest"
	}
	d.problems = append(d.problems, Problem{Source: d.path, Line: n.Line, Column: n.Column, Field: field, Problem: fmt.Sprintf(format, args...)})
}

// readFile reads a file of at most a number of bytes.
func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return readAll(f, most)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, reason(err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("more than %d bytes", most)
	}
	return text, nil
}

// reason is an error of the file system without the path, which is said elsewhere.
func reason(err error) error {
	var where *os.PathError
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}

// parse is the root of a text that holds one document; nil after a problem. It
// refuses what nobody needs here: aliases (and with them the texts that grow
// without bound), tags and merge keys.
func (d *document) parse(src []byte) *yaml.Node {
	d.lines = strings.Split(string(src), "\n")
	start := &yaml.Node{Line: 1, Column: 1}
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	doc, err := decode(decoder)
	if errors.Is(err, io.EOF) || err == nil && isNull(doc.Content[0]) {
		d.at(start, "", "the file is empty")
		return nil
	}
	if err != nil {
		d.syntax(err)
		return nil
	}
	switch second, err := decode(decoder); {
	case err == nil:
		d.at(second, "", "a second document starts here; only one is allowed")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
		return nil
	}
	if !d.constructs(doc) {
		return nil
	}
	return doc.Content[0]
}

// decode reads the next document. The parser answers a few malformed texts with
// a panic, which must not end in a stack trace.
func decode(from *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("yaml: the text cannot be parsed: %v", cause)
		}
	}()
	doc = &yaml.Node{}
	if err := from.Decode(doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, io.EOF
	}
	return doc, nil
}

var syntaxLine = regexp.MustCompile(`^line (\d+): `)

// syntax reports an error of the parser, which names the line in its text, or
// none when it is the first.
func (d *document) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if found := syntaxLine.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1]) // digits only
		text = strings.TrimPrefix(text, found[0])
	}
	d.at(&yaml.Node{Line: max(line, 1), Column: 1}, "", "not valid YAML: %s", text)
}

func (d *document) constructs(n *yaml.Node) bool {
	ok := false
	switch {
	case n.Kind == yaml.AliasNode:
		d.at(n, "", "alias *%s is not supported: write the value out", n.Value)
	case n.Style&yaml.TaggedStyle != 0:
		d.at(n, "", "tag %s is not supported: quote a text, and write a number plainly", n.Tag)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!merge":
		d.at(n, "", "merge key << is not supported: write the members out")
	default:
		ok = true
	}
	for _, child := range n.Content {
		ok = d.constructs(child) && ok
	}
	return ok
}

// member is a key of a mapping and its value.
type member struct{ key, value *yaml.Node }

// members reads a mapping; name turns a key as it is written into the one that
// is meant. Keys that are unknown or occur twice are reported.
func (d *document) members(n *yaml.Node, field string, known []string, name func(string) string) (map[string]member, bool) {
	if n.Kind != yaml.MappingNode {
		d.mismatch(n, field, "a mapping of keys to values")
		return nil, false
	}
	out := make(map[string]member, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isText(key) {
			d.mismatch(key, field, "a plain text as key")
			continue
		}
		word := name(key.Value)
		first, twice := out[word]
		switch {
		case !slices.Contains(known, word):
			d.at(key, join(field, clip(key.Value)), "unknown key%s", hint(word, known))
		case twice:
			d.at(key, join(field, word), "duplicate key, first used on line %d", first.key.Line)
		default:
			out[word] = member{key, value}
		}
	}
	return out, true
}

// text reads a value and replaces what it takes from the environment.
func (d *document) text(n *yaml.Node, field string) (string, bool) {
	if !isText(n) {
		d.mismatch(n, field, "a text")
		return "", false
	}
	value, wrong := expand(n.Value, d.env)
	for _, problem := range wrong {
		d.at(n, field, "%s", problem)
	}
	return value, len(wrong) == 0
}

// mismatch reports a node that is not what it should be. It does not repeat
// what is there, which may be a secret in the wrong place.
func (d *document) mismatch(n *yaml.Node, field, want string) {
	what := "a text"
	switch {
	case isNull(n):
		d.at(n, field, "needs a value: %s", want)
		return
	case n.Kind == yaml.SequenceNode:
		what = "a list"
	case n.Kind == yaml.MappingNode:
		what = "a mapping"
	}
	d.at(n, field, "must be %s, not %s", want, what)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// isText reports whether a node is a scalar that is not null. A number or
// boolean counts as it is written.
func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!null" }

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
