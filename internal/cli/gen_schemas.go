package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newGenSchemas(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schemas DIR",
		Short:   "Write the JSON Schemas of what commands print",
		Long:    `Writes a JSON Schema for each object that a command prints into a directory.`,
		Example: `  kernelctl gen schemas docs/schemas`,
		Args:    takes(1, 1, "a directory"),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(_ context.Context, s *session) error {
		return writeSchemas(s.args[0], f.shapes)
	})
	return cmd
}

// shape is an object that commands print as JSON. One that stands in lists has a
// schema for the list, too.
type shape struct {
	value any
	list  bool
}

// shapes are those of the commands of this package.
func shapes() map[string]shape {
	return map[string]shape{
		"execution": {wire.Execution{}, true}, "event": {wire.Event{}, true}, "step": {wire.Step{}, true},
		"approval": {wire.Approval{}, true}, "agent": {wire.Agent{}, true}, "policy": {wire.Policy{}, false},
		"decision": {decision{}, true}, "cancelled": {cancelled{}, true}, "registered": {registered{}, false},
		"signal": {wire.SignalAccepted{}, false}, "delta": {wire.StreamDelta{}, false}, "reason": {reason{}, false},
		"diagnosis": {Diagnosis{}, true}, "snapshot": {snapshot{}, false}, "versions": {versions{}, false},
		"policy-report": {wire.PolicyTestReport{}, false}, "what-if": {whatIf{}, false}, "finding": {finding{}, true},
		"setting": {settings.Value{}, true}, "context": {contextRow{}, true}, "view": {viewed{}, false}, "error": {errorObject{}, false},
	}
}

// Shape says what a command of another package prints as JSON. The schema of
// value gets the name.
func (h *Host) Shape(name string, value any) { h.f.shapes[name] = shape{value: value} }

func writeSchemas(dir string, all map[string]shape) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	for name, s := range all {
		schemas := map[string]map[string]any{name: schemaOf(reflect.TypeOf(s.value))}
		if s.list {
			schemas[name+"-list"] = schemaOfList(name)
		}
		for name, schema := range schemas {
			schema["$schema"], schema["title"] = "https://json-schema.org/draft/2020-12/schema", name
			b, err := json.MarshalIndent(schema, "", "  ")
			if err != nil {
				return fmt.Errorf("encode schema %s: %w", name, err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+".json"), append(b, '\n'), 0o644); err != nil {
				return fmt.Errorf("write schema %s: %w", name, err)
			}
		}
	}
	return nil
}

func schemaOfList(name string) map[string]any {
	return map[string]any{
		"type":     "object",
		"required": []string{"schema", "items", "next_cursor"},
		"properties": map[string]any{
			"schema":      map[string]any{"const": printer.Schema},
			"items":       map[string]any{"type": "array", "items": map[string]any{"$ref": name + ".json"}},
			"next_cursor": map[string]any{"type": "string"},
		},
	}
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
