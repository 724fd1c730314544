package policy

import (
	"slices"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// rule is a compiled rule. What is empty sets no condition.
type rule struct {
	line    int
	kind    kernel.StepKind
	targets []glob // any of
	target  *glob  // this one, too, when both target and targets are given
	agents  []string
	labels  []label
	args    []condition
	ruling  kernel.Ruling
}

type label struct{ key, value string }

// condition is what is said of one argument.
type condition struct {
	argument   int // index in Bundle.arguments
	predicates []predicate
}

// matches looks at what is cheap first and at arguments last. named says that
// the target is one of r.targets, word for word.
func (r *rule) matches(c *Call, named bool, args *arguments) bool {
	return (r.kind == 0 || r.kind == c.Kind) &&
		(named || r.anyTarget(c.Target)) &&
		(r.target == nil || r.target.match(c.Target)) &&
		(len(r.agents) == 0 || slices.Contains(r.agents, c.AgentID)) &&
		r.hasLabels(c.Labels) &&
		r.hasArguments(args)
}

func (r *rule) anyTarget(target string) bool {
	if len(r.targets) == 0 {
		return true
	}
	for i := range r.targets {
		if r.targets[i].match(target) {
			return true
		}
	}
	return false
}

func (r *rule) hasLabels(labels map[string]string) bool {
	for _, want := range r.labels {
		if got, ok := labels[want.key]; !ok || got != want.value {
			return false
		}
	}
	return true
}

func (r *rule) hasArguments(args *arguments) bool {
	for i := range r.args {
		a := args.at(r.args[i].argument)
		for j := range r.args[i].predicates {
			if !r.args[i].predicates[j].holds(a) {
				return false
			}
		}
	}
	return true
}

// index finds the rules that a target can match, in order, without a look at
// the others: those that name it word for word, and those with patterns or
// without a condition on the target.
type index struct {
	named map[string][]uint16
	open  []uint16
}

func newIndex(rules []rule) index {
	x := index{named: map[string][]uint16{}}
	for i := range rules {
		at := uint16(i) // there are at most maxRules
		open := len(rules[i].targets) == 0
		for _, g := range rules[i].targets {
			if g.shape != exact {
				open = true
				continue
			}
			list := x.named[g.text]
			if len(list) == 0 || list[len(list)-1] != at {
				x.named[g.text] = append(list, at)
			}
		}
		if open {
			x.open = append(x.open, at)
		}
	}
	return x
}

func (x *index) candidates(target string) candidates {
	return candidates{named: x.named[target], open: x.open}
}

// candidates merges two ascending lists of rules.
type candidates struct{ named, open []uint16 }

// next is the next rule, and whether it names the target.
func (c *candidates) next() (at uint16, named, ok bool) {
	switch {
	case len(c.named) > 0 && (len(c.open) == 0 || c.named[0] <= c.open[0]):
		at = c.named[0]
		c.named = c.named[1:]
		if len(c.open) > 0 && c.open[0] == at {
			c.open = c.open[1:]
		}
		return at, true, true
	case len(c.open) > 0:
		at = c.open[0]
		c.open = c.open[1:]
		return at, false, true
	}
	return 0, false, false
}
