package printer

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"
)

// yaml writes a JSON value as YAML: keys in their order, numbers digit for
// digit.
func (p *Printer) yaml(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	n, err := p.node(d)
	if err != nil {
		return nil, fmt.Errorf("turn JSON into YAML: %w", err)
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

func (p *Printer) node(d *json.Decoder) (*yaml.Node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := t.(type) {
	case json.Delim:
		return p.collection(d, v)
	case string:
		return p.text(v)
	case json.Number:
		return scalar("", v.String()), nil
	case bool:
		return scalar("!!bool", fmt.Sprint(v)), nil
	}
	return scalar("!!null", "null"), nil
}

func (p *Printer) collection(d *json.Decoder, open json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if open == '{' {
		n.Kind = yaml.MappingNode
	}
	for d.More() {
		child, err := p.node(d) // in an object a key, then a value, in turn
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	_, err := d.Token()
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n, err
}

// text quotes what some reader of YAML would take for something else: yes, 12.
func (p *Printer) text(s string) (*yaml.Node, error) {
	if p.Screen {
		s = Lines(s)
	}
	n := &yaml.Node{}
	return n, n.Encode(s)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
