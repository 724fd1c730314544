package policy

import (
	"slices"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// Bundle is a compiled policy bundle. The nil *Bundle is what an agent has that
// was given none: it allows everything.
type Bundle struct {
	source    []byte
	digest    kernel.Digest
	rules     []rule
	index     index
	arguments []canonjson.Pointer // every argument that a rule looks at, once
	fallback  kernel.Ruling       // when no rule matches
}

// Call is what a policy rules on: a step before it runs.
type Call struct {
	Kind    kernel.StepKind
	Target  string
	Args    []byte // checked JSON; empty counts as null
	AgentID string
	Labels  map[string]string // of the execution
}

// RuleInfo describes a rule for people.
type RuleInfo struct {
	ID     string
	Line   int // where the rule starts in the source, from 1
	Action kernel.Action
	Reason string // as the ruling gives it
}

// Evaluate is the ruling of the first rule that matches, else of the default
// action; an unmatched local step is allowed whatever the default. The ruling
// shares its approvers, limit and budget with the bundle: they must not be changed.
func (b *Bundle) Evaluate(c Call) kernel.Ruling {
	if b == nil {
		return kernel.Ruling{Rule: kernel.RulePermissive, Action: kernel.Allow}
	}
	args := arguments{args: c.Args, pointers: b.arguments}
	candidates := b.index.candidates(c.Target)
	for {
		i, named, ok := candidates.next()
		if !ok {
			break
		}
		if r := &b.rules[i]; r.matches(&c, named, &args) {
			return r.ruling
		}
	}
	if c.Kind == kernel.Local {
		return kernel.Ruling{Rule: kernel.RuleLocal, Action: kernel.Allow, Bundle: b.digest}
	}
	return b.fallback
}

// Digest is the SHA-256 of the source text; zero without a bundle.
func (b *Bundle) Digest() kernel.Digest {
	if b == nil {
		return kernel.Digest{}
	}
	return b.digest
}

// Source is a copy of the text that was compiled; nil without a bundle.
func (b *Bundle) Source() []byte {
	if b == nil {
		return nil
	}
	return slices.Clone(b.source)
}

// Rules lists the rules in order.
func (b *Bundle) Rules() []RuleInfo {
	if b == nil {
		return nil
	}
	infos := make([]RuleInfo, len(b.rules))
	for i, r := range b.rules {
		infos[i] = RuleInfo{ID: r.ruling.Rule, Line: r.line, Action: r.ruling.Action, Reason: r.ruling.Reason}
	}
	return infos
}
