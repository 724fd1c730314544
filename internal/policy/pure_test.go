package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestPure holds the package away from clocks, randomness and IO.
func TestPure(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"bytes": true, "cmp": true, "encoding/json": true, "errors": true, "fmt": true, "io": true, "math": true, "regexp": true,
		"regexp/syntax": true, "slices": true, "strconv": true, "strings": true, "time": true, "unicode": true, "unicode/utf8": true,
		"gopkg.in/yaml.v3": true, "github.com/agentkernel/kernelctl/internal/canonjson": true, "github.com/agentkernel/kernelctl/internal/kernel": true,
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range syntax.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); !allowed[path] {
				t.Errorf("%s imports %s", file, path)
			}
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && s.Sel.Name != "Duration" && s.Sel.Name != "ParseDuration" {
					t.Errorf("%s uses time.%s", file, s.Sel.Name)
				}
			}
			return true
		})
	}
}
