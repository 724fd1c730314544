package tui

import (
	"strings"
)

// filter is what stands in the filter line: words that must all be there, and
// fields with a value.
type filter struct {
	words  []string
	fields [][2]string
}

// row is what a filter may ask a row.
type row struct {
	hay                         string
	status, agent, rule, target string
	labels                      map[string]string
}

// parseFilter reads a filter. Case does not matter.
func parseFilter(s string) filter {
	var f filter
	for _, w := range strings.Fields(strings.ToLower(s)) {
		name, value, ok := strings.Cut(w, ":")
		switch name {
		case "status", "agent", "rule", "target", "label":
			if ok {
				if value != "" {
					f.fields = append(f.fields, [2]string{name, value})
				}
				continue
			}
		}
		f.words = append(f.words, w)
	}
	return f
}

func (f filter) empty() bool { return len(f.words) == 0 && len(f.fields) == 0 }

func (f filter) match(r row) bool {
	for _, w := range f.words {
		if !strings.Contains(r.hay, w) {
			return false
		}
	}
	for _, p := range f.fields {
		if !r.has(p[0], p[1]) {
			return false
		}
	}
	return true
}

func (r row) has(name, value string) bool {
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), value) }
	switch name {
	case "status":
		return in(r.status)
	case "agent":
		return in(r.agent)
	case "rule":
		return in(r.rule)
	case "target":
		return in(r.target)
	}
	key, want, exact := strings.Cut(value, "=")
	for k, v := range r.labels {
		k, v = strings.ToLower(k), strings.ToLower(v)
		if exact && k == key && v == want || !exact && (strings.Contains(k, value) || strings.Contains(v, value)) {
			return true
		}
	}
	return false
}
