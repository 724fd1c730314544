package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/wire"
)

var update = flag.Bool("update", false, "write docs/schemas")

// schemaDir holds a JSON Schema for each object that a command prints.
const schemaDir = "../../docs/schemas"

// shapes are the objects that commands print as JSON. Those that stand in lists
// have a schema for the list, too.
func shapes() map[string]struct {
	value any
	list  bool
} {
	type shape = struct {
		value any
		list  bool
	}
	return map[string]shape{
		"execution": {wire.Execution{}, true}, "event": {wire.Event{}, true}, "step": {wire.Step{}, true},
		"approval": {wire.Approval{}, true}, "agent": {wire.Agent{}, true}, "policy": {wire.Policy{}, false},
		"decision": {decision{}, true}, "cancelled": {cancelled{}, true}, "registered": {registered{}, false},
		"signal": {wire.SignalAccepted{}, false}, "delta": {wire.StreamDelta{}, false}, "reason": {reason{}, false},
		"diagnosis": {diagnosis{}, true}, "snapshot": {snapshot{}, false}, "versions": {versions{}, false},
		"policy-report": {wire.PolicyTestReport{}, false}, "what-if": {whatIf{}, false}, "finding": {finding{}, true},
		"setting": {settings.Value{}, true}, "context": {contextRow{}, true}, "view": {viewed{}, false}, "error": {errorObject{}, false},
	}
}

// TestSchemas holds docs/schemas to the types: within one schema version fields
// may be added, so what the files say must change with the code and be looked at.
func TestSchemas(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for name, s := range shapes() {
		want[name+".json"] = document(name, schemaOf(reflect.TypeOf(s.value)))
		if s.list {
			want[name+"-list.json"] = document(name+"-list", map[string]any{
				"type":     "object",
				"required": []string{"schema", "items", "next_cursor"},
				"properties": map[string]any{
					"schema":      map[string]any{"const": printer.Schema},
					"items":       map[string]any{"type": "array", "items": map[string]any{"$ref": name + ".json"}},
					"next_cursor": map[string]any{"type": "string"},
				},
			})
		}
	}
	if *update {
		writeSchemas(t, want)
		return
	}
	for file, text := range want {
		got, err := os.ReadFile(filepath.Join(schemaDir, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("docs/schemas/%s is stale; run go test ./internal/cli -run TestSchemas -update (-want +got):\n%s", file, diff)
		}
	}
	entries, err := os.ReadDir(schemaDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := want[e.Name()]; !ok && e.Name() != "README.md" {
			t.Errorf("docs/schemas/%s belongs to no output", e.Name())
		}
	}
}

func writeSchemas(t *testing.T, want map[string]string) {
	t.Helper()
	if err := os.MkdirAll(schemaDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range want {
		if err := os.WriteFile(filepath.Join(schemaDir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func document(name string, s map[string]any) string {
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = name
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// schemaOf says what the JSON of a type looks like. Further fields are allowed:
// a reader must not mind those of a later version.
func schemaOf(typ reflect.Type) map[string]any {
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		return map[string]any{} // any value
	case typ == reflect.TypeFor[wire.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(typ.Elem()), map[string]any{"type": "null"}}}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		fields(typ, properties, &required)
		return map[string]any{"type": "object", "properties": properties, "required": required}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(typ.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	default:
		return map[string]any{"type": "integer"}
	}
}

func fields(typ reflect.Type, properties map[string]any, required *[]string) {
	for f := range typ.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && tag == "":
			fields(f.Type, properties, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		properties[name] = schemaOf(f.Type)
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}
