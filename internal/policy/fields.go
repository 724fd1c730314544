package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// fields is a mapping whose keys were read.
type fields struct {
	node  *yaml.Node
	field string // path of the mapping
	byKey map[string]*yaml.Node
}

// path is the path of one key.
func (f fields) path(key string) string { return join(f.field, key) }

func join(field, key string) string {
	switch {
	case !plainKey.MatchString(key):
		key = "[" + quote(key) + "]"
	case field != "":
		key = "." + key
	}
	return field + key
}

// indexed is the path of an item of a list.
func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)

// mapping reads a mapping with these keys. Keys that are unknown or occur twice
// are reported; of the latter the first counts.
func (r *reader) mapping(n *yaml.Node, field string, known []string) (fields, bool) {
	f, ok := r.anyMapping(n, field)
	if !ok {
		return f, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if f.byKey[key.Value] == n.Content[i+1] && !slices.Contains(known, key.Value) {
			r.at(key, f.path(key.Value), "unknown key%s", r.keyHint(key.Value, known))
			delete(f.byKey, key.Value)
		}
	}
	return f, true
}

// anyMapping reads a mapping whose keys are the author's.
func (r *reader) anyMapping(n *yaml.Node, field string) (fields, bool) {
	f := fields{node: n, field: field, byKey: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		r.mismatch(n, field, "a mapping of keys to values")
		return f, false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !isText(key):
			r.mismatch(key, field, "a plain text as key")
		case lines[key.Value] > 0:
			r.at(key, f.path(key.Value), "duplicate key, first used on line %d", lines[key.Value])
		default:
			lines[key.Value] = key.Line
			f.byKey[key.Value] = value
		}
	}
	return f, true
}

// list reads a list of at least one item.
func (r *reader) list(n *yaml.Node, field string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.mismatch(n, field, "a list")
		return nil
	}
	r.notEmpty(n, field)
	return n.Content
}

// notEmpty reports a list or mapping without content: as a condition it would
// hold always, or never, and neither is what it looks like.
func (r *reader) notEmpty(n *yaml.Node, field string) {
	if (n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode) && len(n.Content) == 0 {
		r.at(n, field, "must not be empty; leave it out if it is not needed")
	}
}

// texts reads a list of texts and gives each one that is one to use.
func (r *reader) texts(n *yaml.Node, field string, use func(n *yaml.Node, field, text string)) {
	for i, item := range r.list(n, field) {
		itemField := indexed(field, i)
		if text, ok := r.text(item, itemField); ok {
			use(item, itemField, text)
		}
	}
}

// text reads a text that is not empty. A number or boolean counts as it is written.
func (r *reader) text(n *yaml.Node, field string) (string, bool) {
	switch {
	case !isText(n):
		r.mismatch(n, field, "a text")
	case n.Value == "":
		r.at(n, field, "must not be empty")
	default:
		return n.Value, true
	}
	return "", false
}

// choice reads one of a few words.
func (r *reader) choice(n *yaml.Node, field string, words ...string) (string, bool) {
	text, ok := r.text(n, field)
	if ok && !slices.Contains(words, text) {
		r.at(n, field, "unknown value %s%s", quote(text), hint(text, words))
		return "", false
	}
	return text, ok
}

// duration reads a duration above zero.
func (r *reader) duration(n *yaml.Node, field string) time.Duration {
	text, ok := r.text(n, field)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.at(n, field, "%s is not a duration: write a number and a unit, such as 30s, 5m or 1h30m", quote(text))
	case d <= 0:
		r.at(n, field, "must be longer than zero, not %s", text)
	default:
		return d
	}
	return 0
}

// count reads a whole number above zero.
func (r *reader) count(n *yaml.Node, field string) int64 {
	number, ok := numberText(n)
	if !ok || strings.ContainsAny(number, ".eE") {
		r.mismatch(n, field, "a whole number")
		return 0
	}
	count, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
		r.at(n, field, "%s is too large", number)
	case count <= 0:
		r.at(n, field, "must be at least 1, not %s", number)
	default:
		return count
	}
	return 0
}

// mismatch reports a node that is not what it should be.
func (r *reader) mismatch(n *yaml.Node, field, want string) {
	switch {
	case n.Kind == yaml.AliasNode: // reported for the whole text
	case isNull(n):
		r.at(n, field, "needs a value: %s", want)
	case n.Kind == yaml.ScalarNode:
		r.at(n, field, "must be %s, not %s", want, quote(n.Value))
	case n.Kind == yaml.SequenceNode:
		r.at(n, field, "must be %s, not a list", want)
	default:
		r.at(n, field, "must be %s, not a mapping", want)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// isText reports whether a node is a scalar that is not null.
func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!null" }
