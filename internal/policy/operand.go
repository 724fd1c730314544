package policy

import (
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

// operand is the text that a value of the bundle is compared by, in the way an
// argument's is: the content of a string, the JSON text of a number, boolean or
// null, the canonical JSON of anything else.
func (r *reader) operand(n *yaml.Node, field string) (string, bool) {
	if n.Kind == yaml.ScalarNode && isString(n) {
		return n.Value, true
	}
	b, ok := r.json(n, field)
	if !ok {
		return "", false
	}
	return string(canonjson.AppendChecked(nil, b)), true
}

// json is a YAML value as JSON. Numbers stay digit for digit as written.
func (r *reader) json(n *yaml.Node, field string) ([]byte, bool) {
	before := len(r.problems)
	b := r.appendJSON(nil, n, field, 1)
	return b, len(r.problems) == before
}

func (r *reader) appendJSON(dst []byte, n *yaml.Node, field string, depth int) []byte {
	switch {
	case n.Kind == yaml.AliasNode:
		r.at(n, field, "an alias has no value here")
	case n.Kind == yaml.ScalarNode:
		return r.appendScalar(dst, n, field)
	case depth > canonjson.MaxDepth:
		r.at(n, field, "nested deeper than %d levels", canonjson.MaxDepth)
	case n.Kind == yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = r.appendJSON(dst, item, indexed(field, i), depth+1)
		}
		return append(dst, ']')
	default:
		return r.appendObject(dst, n, field, depth)
	}
	return dst
}

func (r *reader) appendObject(dst []byte, n *yaml.Node, field string, depth int) []byte {
	f, ok := r.anyMapping(n, field)
	if !ok {
		return dst
	}
	dst = append(dst, '{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		key := n.Content[i].Value
		dst = canonjson.AppendString(dst, key)
		dst = append(dst, ':')
		dst = r.appendJSON(dst, n.Content[i+1], f.path(key), depth+1)
	}
	return append(dst, '}')
}

func (r *reader) appendScalar(dst []byte, n *yaml.Node, field string) []byte {
	number, isNumber := numberText(n)
	switch {
	case isNumber:
		return append(dst, number...)
	case isString(n):
		return canonjson.AppendString(dst, n.Value)
	case isNull(n) && n.Value == "":
		r.at(n, field, "needs a value (write null if that is meant)")
	case isNull(n):
		return append(dst, "null"...)
	case n.Tag == "!!bool":
		return append(dst, boolText(n)...)
	default: // 0x1f, 010, .5, 1_000, .inf: a number to YAML, none to JSON
		r.at(n, field, "%s is not a number as JSON writes it; quote it if a text is meant", n.Value)
	}
	return dst
}

// isString reports whether a scalar is a string. YAML also knows dates; to JSON
// they are strings.
func isString(n *yaml.Node) bool {
	_, isNumber := numberText(n)
	return n.Kind == yaml.ScalarNode && !isNumber && (n.Tag == "!!str" || n.Tag == "!!timestamp")
}

// numberText is the text of a scalar that is written plainly and as JSON writes
// numbers. YAML's own idea is not asked: to the parser 1e999 is a string and 010
// is eight.
func numberText(n *yaml.Node) (string, bool) {
	plain := n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if !plain || n.Value == "" || !(n.Value[0] == '-' || '0' <= n.Value[0] && n.Value[0] <= '9') {
		return "", false
	}
	return n.Value, canonjson.Check([]byte(n.Value)) == nil
}

// boolText is true or false; YAML also allows True and TRUE.
func boolText(n *yaml.Node) string {
	if n.Value[0] == 't' || n.Value[0] == 'T' {
		return "true"
	}
	return "false"
}

// jsonNode is a checked JSON value as a YAML node, so that both are read by the
// same code. Such nodes have no line and no column. An empty b is null.
func jsonNode(b []byte) *yaml.Node {
	switch canonjson.Kind(b) {
	case '{':
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		_ = canonjson.Members(b, func(name string, value []byte) error { // b is an object
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: name}
			n.Content = append(n.Content, key, jsonNode(value))
			return nil
		})
		return n
	case '[':
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		var elements []json.RawMessage
		_ = json.Unmarshal(b, &elements) // b is an array
		for _, e := range elements {
			n.Content = append(n.Content, jsonNode(e))
		}
		return n
	case '"':
		s, _ := canonjson.String(b)
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}
	case '0':
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(b)} // no tag: to YAML 1e999 is no float, and would get one
	case 'n', 0:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: string(b)}
	}
}
