package policy

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

// predicate is one comparison with an argument. All but exists fail on an
// argument that is missing.
type predicate struct {
	op      operator
	text    []byte              // equals, contains, prefix, suffix
	texts   map[string]struct{} // one_of
	pattern *regexp.Regexp      // regex
	number  decimal             // gt, gte, lt, lte
	want    bool                // exists
}

type operator uint8

const (
	opEquals operator = iota
	opContains
	opOneOf
	opRegex
	opPrefix
	opSuffix
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opExists
)

var operators = []string{"equals", "contains", "one_of", "regex", "prefix", "suffix", "gt", "gte", "lt", "lte", "exists"}

// predicates reads what is said of one argument: all of it must hold.
func (r *reader) predicates(n *yaml.Node, field string) []predicate {
	if isText(n) {
		r.at(n, field, "must say how to compare, such as {equals: %s}", clip(n.Value))
		return nil
	}
	f, ok := r.mapping(n, field, operators)
	if !ok {
		return nil
	}
	if len(n.Content) == 0 {
		r.at(n, field, "is empty: say how to compare, with %s", strings.Join(operators, ", "))
	}
	var list []predicate
	for op, name := range operators {
		if value := f.byKey[name]; value != nil {
			list = append(list, r.predicate(operator(op), value, f.path(name)))
		}
	}
	return list
}

func (r *reader) predicate(op operator, n *yaml.Node, field string) predicate {
	p := predicate{op: op}
	switch op {
	case opEquals:
		text, _ := r.operand(n, field)
		p.text = []byte(text)
	case opOneOf:
		p.texts = map[string]struct{}{}
		for i, item := range r.list(n, field) {
			if text, ok := r.operand(item, indexed(field, i)); ok {
				p.texts[text] = struct{}{}
			}
		}
	case opContains, opPrefix, opSuffix:
		text, _ := r.text(n, field)
		p.text = []byte(text)
	case opRegex:
		p.pattern = r.regex(n, field)
	case opGreater, opGreaterEqual, opLess, opLessEqual:
		p.number = r.number(n, field)
	case opExists:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			r.mismatch(n, field, "true or false")
			break
		}
		p.want = boolText(n) == "true"
	}
	return p
}

func (r *reader) regex(n *yaml.Node, field string) *regexp.Regexp {
	text, ok := r.text(n, field)
	if !ok {
		return nil
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		problem := err.Error()
		var e *syntax.Error
		if errors.As(err, &e) {
			problem = fmt.Sprintf("%s: %s", e.Code, quote(e.Expr))
		}
		r.at(n, field, "not a valid regular expression (RE2): %s", problem)
	}
	return pattern
}

func (r *reader) number(n *yaml.Node, field string) decimal {
	text, ok := numberText(n)
	if !ok {
		r.mismatch(n, field, "a number as JSON writes it")
		return decimal{}
	}
	d := parseDecimal([]byte(text))
	if d.point > farExponent/2 || d.point < -farExponent/2 {
		r.at(n, field, "%s is out of range", clip(text))
	}
	return d
}

// holds compares with the argument of a call.
func (p *predicate) holds(a *argument) bool {
	if p.op == opExists {
		return p.want == a.found
	}
	if !a.found {
		return false
	}
	switch p.op {
	case opGreater, opGreaterEqual, opLess, opLessEqual:
		return p.inRange(a.value)
	case opEquals:
		return bytes.Equal(a.content(), p.text)
	case opContains:
		return bytes.Contains(a.content(), p.text)
	case opOneOf:
		_, ok := p.texts[string(a.content())]
		return ok
	case opRegex:
		return p.pattern.Match(a.content())
	case opPrefix:
		return bytes.HasPrefix(a.content(), p.text)
	case opSuffix:
		return bytes.HasSuffix(a.content(), p.text)
	case opExists:
	}
	return false
}

func (p *predicate) inRange(value []byte) bool {
	if canonjson.Kind(value) != '0' {
		return false
	}
	order := parseDecimal(value).compare(p.number)
	if order == 0 {
		return p.op == opGreaterEqual || p.op == opLessEqual
	}
	return (order > 0) == (p.op == opGreater || p.op == opGreaterEqual)
}
