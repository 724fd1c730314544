package policy

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

var whenKeys = []string{"target", "targets", "step_kind", "agent_id", "agent_ids", "labels", "arguments"}

// when reads the conditions of a rule.
func (c *compiler) when(r *rule, n *yaml.Node, field string) {
	f, ok := c.mapping(n, field, whenKeys)
	if !ok {
		return
	}
	if kind := f.byKey["step_kind"]; kind != nil {
		word, _ := c.choice(kind, f.path("step_kind"), kernel.ToolCall.String(), kernel.LLMCall.String(), kernel.Local.String())
		r.kind, _ = kernel.ParseStepKind(word)
	}
	c.targets(r, f)
	c.agents(r, f)
	if labels := f.byKey["labels"]; labels != nil {
		r.labels = c.labels(labels, f.path("labels"))
		c.notEmpty(labels, f.path("labels"))
	}
	if args := f.byKey["arguments"]; args != nil {
		r.args = c.conditions(args, f.path("arguments"))
		c.notEmpty(args, f.path("arguments"))
	}
}

func (c *compiler) targets(r *rule, f fields) {
	if list := f.byKey["targets"]; list != nil {
		c.texts(list, f.path("targets"), func(n *yaml.Node, field, pattern string) {
			r.targets = append(r.targets, c.glob(n, field, pattern))
		})
	}
	target := f.byKey["target"]
	if target == nil {
		return
	}
	pattern, ok := c.text(target, f.path("target"))
	if !ok {
		return
	}
	g := c.glob(target, f.path("target"), pattern)
	if f.byKey["targets"] == nil {
		r.targets = []glob{g}
	} else {
		r.target = &g
	}
}

func (c *compiler) glob(n *yaml.Node, field, pattern string) glob {
	g, err := compileGlob(pattern)
	if err != nil {
		c.at(n, field, "%s is not a valid pattern: %v", quote(pattern), err)
	}
	return g
}

func (c *compiler) agents(r *rule, f fields) {
	if list := f.byKey["agent_ids"]; list != nil {
		c.texts(list, f.path("agent_ids"), func(n *yaml.Node, field, id string) {
			r.agents = append(r.agents, c.agentID(n, field, id))
		})
	}
	agent := f.byKey["agent_id"]
	if agent == nil {
		return
	}
	id, ok := c.text(agent, f.path("agent_id"))
	if !ok {
		return
	}
	id = c.agentID(agent, f.path("agent_id"), id)
	if len(r.agents) > 0 && !slices.Contains(r.agents, id) {
		c.at(agent, f.path("agent_id"), "%s is not among agent_ids, so the rule could never match", quote(id))
	}
	r.agents = []string{id}
}

// agentID refuses what cannot be the id of an agent, such as a
// pattern: the rule would silently never match.
func (c *compiler) agentID(n *yaml.Node, field, id string) string {
	alien := strings.IndexFunc(id, func(r rune) bool {
		return !('A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r))
	})
	if alien >= 0 || len(id) > maxAgentID {
		c.at(n, field, "%s is not an agent id: 1 to %d characters of A-Z a-z 0-9 . _ - (there are no patterns here)", quote(id), maxAgentID)
	}
	return id
}

// labels reads pairs of texts.
func (r *reader) labels(n *yaml.Node, field string) []label {
	f, ok := r.anyMapping(n, field)
	if !ok {
		return nil
	}
	var labels []label
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !isText(key): // reported
		case !isText(value):
			r.mismatch(value, f.path(key.Value), "a text")
		default:
			labels = append(labels, label{key.Value, value.Value})
		}
	}
	return labels
}

func (c *compiler) conditions(n *yaml.Node, field string) []condition {
	f, ok := c.anyMapping(n, field)
	if !ok {
		return nil
	}
	var list []condition
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !isText(key) {
			continue
		}
		list = append(list, condition{
			argument:   c.argument(key, f.path(key.Value)),
			predicates: c.predicates(n.Content[i+1], f.path(key.Value)),
		})
	}
	return list
}

// argument reads the key of a condition: the name of a top-level argument, or a
// JSON Pointer, which starts with a slash.
func (c *compiler) argument(n *yaml.Node, field string) int {
	if n.Value == "" {
		c.at(n, field, "an argument name must not be empty (the JSON Pointer / names a member without a name)")
		return 0
	}
	if n.Value[0] != '/' {
		return c.slot(n.Value, canonjson.Key(n.Value))
	}
	p, err := canonjson.ParsePointer(n.Value)
	if err != nil {
		c.at(n, field, "%v", err)
	}
	return c.slot(n.Value, p)
}
