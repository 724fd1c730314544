package policy

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// The bounds of a bundle.
const (
	MaxSize    = 256 << 10 // bytes of text
	MaxRules   = 1000
	maxRuleID  = 128 // characters
	maxAgentID = 128 // characters
)

// The reasons of a denial that no rule gave one for.
const (
	reasonDenied  = "policy_denied"
	reasonDefault = "no rule allows this"
)

// reservedIDs are the rule ids that say that no rule ruled. A
// rule of such a name would make the record ambiguous.
var reservedIDs = []string{kernel.RuleDefault, kernel.RuleLocal, kernel.RulePermissive, kernel.RuleIndeterminateRetry}

// Compile reads the text of a bundle. The error is an [*Invalid] that lists
// every problem of the text.
func Compile(src []byte) (*Bundle, error) {
	c := compiler{
		reader: reader{what: "bundle", homes: []home{
			{"when", whenKeys}, {"then", thenKeys}, {"approval_config", approvalKeys}, {"rate_limit", limitKeys}, {"budget", budgetKeys},
		}},
		lines: map[string]int{},
		slots: map[string]int{},
	}
	if len(src) > MaxSize {
		c.at(place(src, 0), "", "the text has %d bytes, at most %d are allowed", len(src), MaxSize)
		return nil, c.err()
	}
	c.bundle.source = slices.Clone(src)
	c.bundle.digest = kernel.Sum(src)
	if root := c.document(src); root != nil {
		c.root(root)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	c.bundle.index = newIndex(c.bundle.rules)
	return &c.bundle, nil
}

// compiler builds a bundle out of YAML nodes. After a problem it goes on, to
// find the others; what it builds is then thrown away.
type compiler struct {
	reader
	bundle Bundle
	lines  map[string]int // of rule ids
	slots  map[string]int // of arguments, by key
}

func (c *compiler) root(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		c.mismatch(n, "", "a mapping with default_action and rules")
		return
	}
	f, _ := c.mapping(n, "", []string{"default_action", "rules"})
	c.bundle.fallback = kernel.Ruling{Rule: kernel.RuleDefault, Action: kernel.Deny, Reason: reasonDefault, Bundle: c.bundle.digest}
	if action := f.byKey["default_action"]; action != nil {
		if word, ok := c.choice(action, "default_action", "allow", "deny"); ok && word == "allow" {
			c.bundle.fallback.Action, c.bundle.fallback.Reason = kernel.Allow, ""
		}
	}
	if rules := f.byKey["rules"]; rules != nil && !isNull(rules) {
		c.ruleList(rules)
	}
}

func (c *compiler) ruleList(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		c.mismatch(n, "rules", "a list of rules")
		return
	}
	if len(n.Content) > MaxRules {
		c.at(n.Content[MaxRules], "rules", "there are %d rules, at most %d are allowed", len(n.Content), MaxRules)
	}
	c.bundle.rules = make([]rule, len(n.Content))
	for i, item := range n.Content {
		c.rule(&c.bundle.rules[i], item, indexed("rules", i))
	}
}

func (c *compiler) rule(r *rule, n *yaml.Node, field string) {
	f, ok := c.mapping(n, field, []string{"id", "when", "then"})
	if !ok {
		return
	}
	r.line = n.Line
	r.ruling.Bundle = c.bundle.digest
	if id := f.byKey["id"]; id != nil {
		r.ruling.Rule = c.ruleID(id, f.path("id"))
	} else {
		c.at(n, f.path("id"), "is missing: every rule needs an id")
	}
	if when := f.byKey["when"]; when != nil && !isNull(when) {
		c.when(r, when, f.path("when"))
	}
	if then := f.byKey["then"]; then != nil {
		c.then(&r.ruling, then, f.path("then"))
	} else {
		c.at(n, f.path("then"), "is missing: say what the rule does, such as {decision: deny}")
	}
}

func (c *compiler) ruleID(n *yaml.Node, field string) string {
	id, ok := c.text(n, field)
	switch {
	case !ok:
	case utf8.RuneCountInString(id) > maxRuleID:
		c.at(n, field, "has %d characters, at most %d are allowed", utf8.RuneCountInString(id), maxRuleID)
	case slices.ContainsFunc([]rune(id), unicode.IsControl):
		c.at(n, field, "%s has a control character", quote(id))
	case slices.Contains(reservedIDs, id):
		c.at(n, field, "%s is what the service itself reports when no rule matched; choose another id", quote(id))
	case c.lines[id] > 0:
		c.at(n, field, "duplicate id %s, first used on line %d", quote(id), c.lines[id])
	default:
		c.lines[id] = n.Line
	}
	return id
}

// slot is the index of an argument in the bundle.
func (c *compiler) slot(key string, p canonjson.Pointer) int {
	i, ok := c.slots[key]
	if !ok {
		i = len(c.bundle.arguments)
		c.slots[key] = i
		c.bundle.arguments = append(c.bundle.arguments, p)
	}
	return i
}
