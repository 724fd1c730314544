package policy

import (
	"bytes"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

var caseKeys = []string{"name", "kind", "target", "args", "labels", "agent_id", "expect", "expect_rule"}

// ParseCases reads a list of cases, or a mapping with such a list under cases,
// from YAML or JSON. The error is an [*Invalid] that lists every problem; in
// JSON they have a field, but no line.
func ParseCases(src []byte) ([]Case, error) {
	r := reader{what: "cases"}
	var root *yaml.Node
	if looksLikeJSON(src) && canonjson.Check(src) == nil {
		root = jsonNode(src) // JSON is not quite YAML: \ud83d\ude00 is one character only to JSON
	} else {
		root = r.document(src)
	}
	var cases []Case
	if root != nil {
		cases = r.cases(root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return cases, nil
}

func looksLikeJSON(src []byte) bool {
	text := bytes.TrimLeft(src, " \t\r\n")
	return len(text) > 0 && (text[0] == '[' || text[0] == '{')
}

func (r *reader) cases(n *yaml.Node) []Case {
	field := ""
	if n.Kind == yaml.MappingNode {
		f, _ := r.mapping(n, "", []string{"cases"})
		field = "cases"
		if n = f.byKey[field]; n == nil {
			r.at(f.node, field, "is missing: a list of cases")
			return nil
		}
	}
	if n.Kind != yaml.SequenceNode {
		r.mismatch(n, field, "a list of cases")
		return nil
	}
	cases := make([]Case, len(n.Content))
	for i, item := range n.Content {
		cases[i] = r.oneCase(item, indexed("cases", i))
	}
	return cases
}

func (r *reader) oneCase(n *yaml.Node, field string) Case {
	var c Case
	f, ok := r.mapping(n, field, caseKeys)
	if !ok {
		return c
	}
	optional := func(key string, words ...string) string {
		value := f.byKey[key]
		if value == nil || isNull(value) || value.Kind == yaml.ScalarNode && value.Value == "" {
			return ""
		}
		if len(words) > 0 {
			word, _ := r.choice(value, f.path(key), words...)
			return word
		}
		text, _ := r.text(value, f.path(key))
		return text
	}
	c.Name = optional("name")
	c.Kind = optional("kind", kernel.ToolCall.String(), kernel.LLMCall.String(), kernel.Local.String())
	c.AgentID = optional("agent_id")
	c.Expect = optional("expect", kernel.Allow.String(), kernel.Deny.String(), kernel.RequireApproval.String())
	c.ExpectRule = optional("expect_rule")
	if target := f.byKey["target"]; target != nil {
		c.Target, _ = r.text(target, f.path("target"))
	} else {
		r.at(n, f.path("target"), "is missing: the tool, model or step name to try")
	}
	if args := f.byKey["args"]; args != nil && !isNull(args) {
		c.Args, _ = r.json(args, f.path("args"))
	}
	if labels := f.byKey["labels"]; labels != nil && !isNull(labels) {
		c.Labels = map[string]string{}
		for _, l := range r.labels(labels, f.path("labels")) {
			c.Labels[l.key] = l.value
		}
	}
	return c
}
