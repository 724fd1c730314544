package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// UnknownKey is a key that cannot be set.
type UnknownKey struct {
	Key   string
	Known []string
}

// Error names the key.
func (e *UnknownKey) Error() string { return "there is no setting " + e.Key }

// KnownKeys lists what can be set; NAME stands for a context.
func KnownKeys() []string {
	keys := scalarKeys()
	for _, k := range contextKeys() {
		keys = append(keys, "contexts.NAME."+k)
	}
	return append(keys, "ui.KEY")
}

// Set writes one value into the file at path, which is made when it is not
// there. Comments and the order of keys stay. A context that is not there is
// added.
func Set(path, key, value string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Invalid{Path: path, Problem: "cannot be read: " + reason(err)}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return &Invalid{Path: path, Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if len(doc.Content) == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	if err := setKey(doc.Content[0], key, value); err != nil {
		return err
	}
	var out strings.Builder
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	if _, err := parse(path, []byte(out.String())); err != nil {
		return err
	}
	return replace(path, out.String())
}

func setKey(root *yaml.Node, key, value string) error {
	if slices.Contains(scalarKeys(), key) {
		assign(root, key, value)
		return nil
	}
	if name, ok := strings.CutPrefix(key, "ui."); ok && name != "" {
		assign(child(root, "ui", yaml.MappingNode), name, value)
		return nil
	}
	if rest, ok := strings.CutPrefix(key, "contexts."); ok {
		if i := strings.LastIndexByte(rest, '.'); i > 0 && slices.Contains(contextKeys(), rest[i+1:]) {
			assign(contextNode(root, rest[:i]), rest[i+1:], value)
			return nil
		}
	}
	return &UnknownKey{Key: key, Known: KnownKeys()}
}

// contextNode finds a context, or adds one.
func contextNode(root *yaml.Node, name string) *yaml.Node {
	list := child(root, "contexts", yaml.SequenceNode)
	for _, n := range list.Content {
		if v := lookup(n, "name"); v != nil && v.Value == name {
			return n
		}
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	assign(n, "name", name)
	list.Content = append(list.Content, n)
	return n
}

func lookup(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func child(m *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	if n := lookup(m, key); n != nil && n.Kind == kind {
		return n
	}
	n := &yaml.Node{Kind: kind}
	put(m, key, n)
	return n
}

func put(m *yaml.Node, key string, n *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = n
			return
		}
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, n)
}

func assign(m *yaml.Node, key, value string) {
	n := &yaml.Node{}
	n.SetString(value)
	if value == "true" || value == "false" {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: value}
	}
	if old := lookup(m, key); old != nil {
		n.LineComment, n.HeadComment, n.FootComment = old.LineComment, old.HeadComment, old.FootComment
	}
	put(m, key, n)
}

// replace writes a file whole or not at all, readable by its owner only.
func replace(path, text string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link to where a person keeps such files stays a link
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of the configuration: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".config-*.yaml") // mode 0600
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
