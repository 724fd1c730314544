package canonjson_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

// value draws a JSON value as encoding/json decodes it, numbers as json.Number.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number"))
		case 3:
			return rapid.String().Draw(t, "string")
		case 4:
			return rapid.SliceOfN(value(depth-1), 0, 5).Draw(t, "array")
		default:
			return rapid.MapOfN(rapid.String(), value(depth-1), 0, 40).Draw(t, "object")
		}
	})
}

// render writes v with its members in any order, white space and escapes where
// they are allowed.
func render(t *rapid.T, b *strings.Builder, v any) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")) }
	text := func(s string) {
		b.WriteByte('"')
		for _, r := range s {
			if r < 0x20 || r == '"' || r == '\\' || rapid.IntRange(0, 9).Draw(t, "escape") == 0 {
				for _, unit := range utf16.Encode([]rune{r}) {
					b.WriteString(`\u` + string("0123456789abcdef"[unit>>12]) + string("0123456789ABCDEF"[unit>>8&15]) +
						string("0123456789abcdef"[unit>>4&15]) + string("0123456789ABCDEF"[unit&15]))
				}
				continue
			}
			b.WriteRune(r)
		}
		b.WriteByte('"')
	}
	space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case json.Number:
		b.WriteString(v.String())
	case string:
		text(v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			render(t, b, e)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		keys := slices.Sorted(maps.Keys(v))
		for i, k := range rapid.Permutation(keys).Draw(t, "order") {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			text(k)
			space()
			b.WriteByte(':')
			render(t, b, v[k])
		}
		b.WriteByte('}')
	}
	space()
}

func decode(t *rapid.T, b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("encoding/json refuses %s: %v", b, err)
	}
	return v
}

// reference is the canonical form, written the slow and plain way.
func reference(v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = reference(e)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		keys := slices.SortedFunc(maps.Keys(v), func(x, y string) int {
			return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
		})
		parts := make([]string, len(keys))
		for i, k := range keys {
			parts[i] = reference(k) + ":" + reference(v[k])
		}
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		var b strings.Builder
		b.WriteByte('"')
		for _, r := range v {
			switch {
			case strings.ContainsRune("\b\f\n\r\t\"\\", r):
				b.WriteString(`\` + map[rune]string{'\b': "b", '\f': "f", '\n': "n", '\r': "r", '\t': "t", '"': `"`, '\\': `\`}[r])
			case r < 0x20:
				b.WriteString(`\u00` + string("01"[r>>4]) + string("0123456789abcdef"[r&15]))
			default:
				b.WriteRune(r)
			}
		}
		b.WriteByte('"')
		return b.String()
	default:
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
}

func TestEveryRenderingHasOneCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		var b strings.Builder
		render(t, &b, v)
		text := []byte(b.String())
		if err := canonjson.Check(text); err != nil {
			t.Fatalf("Check(%s) = %v", text, err)
		}
		got, err := canonjson.Append(nil, text)
		if err != nil {
			t.Fatalf("Append(%s) = %v", text, err)
		}
		if want := reference(v); string(got) != want {
			t.Fatalf("Append(%s)\n got %s\nwant %s", text, got, want)
		}
		if checked := canonjson.AppendChecked(nil, text); !bytes.Equal(checked, got) {
			t.Fatalf("AppendChecked(%s)\n got %s\nwant %s", text, checked, got)
		}
		if len(got) > len(text) {
			t.Fatalf("canonical form of %d bytes is %d long", len(text), len(got))
		}
		if diff := cmp.Diff(v, decode(t, got)); diff != "" {
			t.Fatalf("the canonical form means something else (-want +got)\n%s", diff)
		}
	})
}

func TestMembersAndLookupAgreeWithEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.String(), value(2), 0, 10).Draw(t, "object")
		var b strings.Builder
		render(t, &b, want)
		text := []byte(b.String())
		got := map[string]any{}
		err := canonjson.Members(text, func(name string, value []byte) error {
			got[name] = decode(t, value)
			found, ok := canonjson.Lookup(text, canonjson.Key(name))
			if !ok || !bytes.Equal(found, value) {
				t.Fatalf("Lookup(%q) = %s, %t, want %s", name, found, ok, value)
			}
			p, err := canonjson.ParsePointer("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			if err != nil {
				t.Fatalf("ParsePointer of %q: %v", name, err)
			}
			if found, ok := canonjson.Lookup(text, p); !ok || !bytes.Equal(found, value) {
				t.Fatalf("Lookup by pointer of %q = %s, %t, want %s", name, found, ok, value)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("Members(%s) = %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Members(%s) (-want +got)\n%s", text, diff)
		}
	})
}

func TestStringsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "string")
		text := canonjson.AppendString(nil, s)
		if err := canonjson.Check(text); err != nil {
			t.Fatalf("Check(%s) = %v", text, err)
		}
		if got, ok := canonjson.String(text); got != s || !ok {
			t.Fatalf("String(%s) = %q, %t, want %q", text, got, ok, s)
		}
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if err := canonjson.Check(canonjson.AppendString(nil, raw)); err != nil {
			t.Fatalf("Check(AppendString(%q)) = %v", raw, err)
		}
	})
}
