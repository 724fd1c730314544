package main

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// cmdSchema validates a file (or stdout, stderr) against docs/schemas/NAME.json.
// With -l every line of it is one value.
func cmdSchema(ts *testscript.TestScript, neg bool, args []string) {
	lines := len(args) > 0 && args[0] == "-l"
	if lines {
		args = args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema [-l] NAME FILE|stdout|stderr")
	}
	_, here, _, _ := runtime.Caller(0)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(filepath.Dir(here), "..", "..", "docs", "schemas", args[0]+".json"))
	ts.Check(err)
	texts := []string{ts.ReadFile(args[1])}
	if lines {
		texts = strings.Split(strings.TrimSuffix(texts[0], "\n"), "\n")
	}
	for _, text := range texts {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			ts.Fatalf("%s is not JSON: %v\n%s", args[1], err, text)
		}
		if err := schema.Validate(v); err != nil {
			ts.Fatalf("%s is not as %s.json says: %v\n%s", args[1], args[0], err, text)
		}
	}
}
