package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pure are the packages that the core may import: none of them can learn
// anything that a command does not say. Of time it may use only what is data.
var pure = []string{
	"cmp", "crypto/sha256", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "slices", "strconv", "strings", "time",
	"github.com/agentkernel/kernelctl/internal/canonjson",
}

// pureTime are the names of package time that do not read a clock or wait.
var pureTime = []string{"Time", "Duration", "Microsecond", "Millisecond", "Second", "UnixMicro", "Parse", "RFC3339Nano"}

// TestPure reads the package's sources.
func TestPure(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 10 {
		t.Fatalf("found sources %v: %v", names, err)
	}
	files := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(pure, path) || spec.Name != nil {
				t.Errorf("%s imports %s; the core is pure: get it as a value of a command", name, spec.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && !slices.Contains(pureTime, n.Sel.Name) {
					t.Errorf("%s: the core uses time.%s", files.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s: the core starts or waits for something", files.Position(n.Pos()))
			}
			return true
		})
	}
}
