package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// document parses a YAML text into its root node; nil after a problem that
// leaves nothing to read. What is refused everywhere is found here, once:
// several documents, aliases (and with them the texts that grow without bound),
// tags and merge keys.
func (r *reader) document(src []byte) *yaml.Node {
	if !r.readable(src) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	doc, err := decode(decoder)
	if errors.Is(err, io.EOF) || err == nil && isNull(doc.Content[0]) {
		r.at(place(src, 0), "", "the text is empty")
		return nil
	}
	if err != nil {
		r.syntax(src, err)
		return nil
	}
	r.constructs(doc)
	switch second, err := decode(decoder); {
	case err == nil:
		r.at(second, "", "a second document starts here; only one is allowed")
	case !errors.Is(err, io.EOF):
		r.syntax(src, err)
	}
	return doc.Content[0]
}

// decode reads the next document. The parser answers a few malformed texts with
// a panic, which must not take the service down.
func decode(d *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("yaml: the text cannot be parsed: %v", cause)
		}
	}()
	doc = &yaml.Node{}
	if err := d.Decode(doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, io.EOF
	}
	return doc, nil
}

// readable looks for characters that no YAML text has, because the parser would
// not say where they are.
func (r *reader) readable(src []byte) bool {
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r.at(place(src, i), "", "the text is not valid UTF-8")
			return false
		case c < 0x20 && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			r.at(place(src, i), "", "control character U+%04X is not allowed", c)
			return false
		}
		i += size
	}
	return true
}

// place is a node that stands at an offset of the text.
func place(src []byte, offset int) *yaml.Node {
	before := src[:max(offset, 0)]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &yaml.Node{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1}
}

var (
	syntaxLine    = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax reports an error of the parser, which names the line in its text, or
// none when it is the first.
func (r *reader) syntax(src []byte, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if found := unknownAnchor.FindStringSubmatch(text); found != nil {
		r.alias(place(src, bytes.Index(src, []byte("*"+found[1]))), found[1])
		return
	}
	line := 1
	found := syntaxLine.FindStringSubmatch(text)
	if found != nil {
		line, _ = strconv.Atoi(found[1]) // digits only: at worst too many, then it is 0
		text = strings.TrimPrefix(text, found[0])
	}
	if advice := structural(text); advice != "" {
		text += "; " + advice
		if found != nil {
			line++ // of these errors the parser counts lines from 0
		}
	}
	last := place(src, len(bytes.TrimRight(src, "\r\n"))).Line // the end of the text is not a line of its own
	r.at(&yaml.Node{Line: min(line, last), Column: 1}, "", "not valid YAML: %s", text)
}

// structural is advice for the errors that the parser reports at the start of a
// construct that is wrong somewhere inside, or at its end; else it is empty.
func structural(text string) string {
	switch text {
	case "did not find expected key", "did not find expected '-' indicator":
		return "check the indentation around this line"
	case "did not find expected ',' or ']'", "did not find expected ',' or '}'":
		return "check that the brackets around this line are closed"
	case "did not find expected node content", "did not find expected <document start>":
		return "a value was expected"
	}
	return ""
}

func (r *reader) alias(n *yaml.Node, name string) {
	r.at(n, "", "alias *%s is not supported: write the value out", name)
}

func (r *reader) constructs(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.alias(n, n.Value)
	case n.Style&yaml.TaggedStyle != 0:
		r.at(n, "", "tag %s is not supported: quote a text, and write a number or boolean plainly", n.Tag)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!merge":
		r.at(n, "", "merge key << is not supported: write the members out")
	}
	for _, child := range n.Content {
		r.constructs(child)
	}
}
