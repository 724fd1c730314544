package config

import (
	"fmt"
	"regexp"
	"strings"
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${NAME} by the environment's value, and $${ by ${. A value is
// not looked into again. Every $ elsewhere stands for itself.
func expand(s string, env func(string) (string, bool)) (value string, wrong []string) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), wrong
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1])
			b.WriteString("${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		name, rest, closed := strings.Cut(s[i+2:], "}")
		switch found, ok := env(name); {
		case !closed:
			return "", append(wrong, "${ is never closed: write ${NAME} for an environment variable, or $${ for ${ itself")
		case !envName.MatchString(name):
			wrong = append(wrong, fmt.Sprintf("${%s} is not the name of an environment variable: write $${ for ${ itself", clip(name)))
		case !ok:
			wrong = append(wrong, fmt.Sprintf("environment variable %s is not set", name))
		default:
			b.WriteString(found)
		}
		s = rest
	}
}
