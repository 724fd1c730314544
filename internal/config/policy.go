package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/policy"
)

// policy reads the policy of an agent: from a file, or as it stands in the
// manifest. It is compiled here, so that a bad one stops the start.
func (f *manifestFile) policy(keys map[string]member, field string) []byte {
	file, inFile := keys["policy_file"]
	inline, inManifest := keys["policy"]
	switch {
	case inFile && inManifest:
		f.at(inline.key, field+".policy", "give either policy or policy_file, not both")
	case inFile:
		return f.policyFile(file.value, field+".policy_file")
	case inManifest:
		return f.policyInline(inline.value, field+".policy")
	}
	return nil
}

func (f *manifestFile) policyFile(n *yaml.Node, field string) []byte {
	name, ok := f.text(n, field)
	if !ok {
		return nil
	}
	if name == "" {
		f.at(n, field, "must not be empty")
		return nil
	}
	path := f.beside(name)
	if text, known := f.policies[path]; known {
		return text
	}
	text, err := readFile(path, policy.MaxSize)
	f.policies[path] = text
	if err != nil {
		f.at(n, field, "cannot read %s: %s", path, err)
		return nil
	}
	f.compile(text, func(p policy.Problem) Problem {
		return Problem{Source: path, Line: max(p.Line, 1), Column: max(p.Column, 1), Field: p.Field, Problem: p.Problem}
	})
	return text
}

// policyInline takes a policy that stands in the manifest as a mapping, or as a
// text (policy: |). Its problems are reported where they stand.
func (f *manifestFile) policyInline(n *yaml.Node, field string) []byte {
	var text []byte
	var place func(line, column int) (int, int)
	switch {
	case n.Kind == yaml.MappingNode:
		var err error
		if text, place, err = rewrite(n); err != nil {
			f.at(n, field, "the policy cannot be read: %s", err)
			return nil
		}
	case isText(n):
		text, place = []byte(n.Value), f.inText(n)
	default:
		f.mismatch(n, field, "a policy bundle")
		return nil
	}
	f.compile(text, func(p policy.Problem) Problem {
		line, column := place(p.Line, p.Column)
		return Problem{Source: f.path, Line: line, Column: column, Field: field + "." + p.Field, Problem: p.Problem}
	})
	return text
}

// compile reports what is wrong with a bundle, each problem as at places it.
func (f *manifestFile) compile(text []byte, at func(policy.Problem) Problem) {
	_, err := policy.Compile(text)
	var invalid *policy.Invalid
	switch {
	case errors.As(err, &invalid):
		for _, p := range invalid.Problems {
			f.problems = append(f.problems, at(p))
		}
	case err != nil:
		f.problems = append(f.problems, at(policy.Problem{Field: "bundle", Problem: err.Error()}))
	}
}

// rewrite is a mapping as a text of its own, and the function that finds a
// place of that text in the file that the mapping stands in.
func rewrite(n *yaml.Node) (text []byte, place func(line, column int) (int, int), err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("yaml: %v", cause)
		}
	}()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return nil, nil, err
	}
	again, err := decode(yaml.NewDecoder(bytes.NewReader(b.Bytes())))
	if err != nil {
		return nil, nil, err
	}
	origin := map[[2]int][2]int{}
	pair(again.Content[0], n, origin)
	return b.Bytes(), func(line, column int) (int, int) {
		if o, ok := origin[[2]int{line, column}]; ok {
			return o[0], o[1]
		}
		return n.Line, n.Column
	}, nil
}

// pair notes where the nodes of a rewritten tree stood.
func pair(now, before *yaml.Node, origin map[[2]int][2]int) {
	if _, ok := origin[[2]int{now.Line, now.Column}]; !ok {
		origin[[2]int{now.Line, now.Column}] = [2]int{before.Line, before.Column}
	}
	for i := range min(len(now.Content), len(before.Content)) {
		pair(now.Content[i], before.Content[i], origin)
	}
}

// inText finds a place of a text in the file. Only a literal text (|) has its
// lines as the file has them.
func (f *manifestFile) inText(n *yaml.Node) func(line, column int) (int, int) {
	return func(line, column int) (int, int) {
		at := n.Line + line
		if n.Style&yaml.LiteralStyle == 0 || line < 1 || at > len(f.lines) {
			return n.Line, n.Column
		}
		written, _, _ := strings.Cut(f.lines[at-1], "\r")
		value := strings.Split(n.Value, "\n")
		indent := 0
		if line <= len(value) {
			indent = max(0, utf8.RuneCountInString(written)-utf8.RuneCountInString(value[line-1]))
		}
		return at, indent + column
	}
}
