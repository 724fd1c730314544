package canonjson_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

func seed(f *testing.F) {
	for _, s := range []string{
		`null`, `{"b":[1,2.50,-0e+1],"a":{"x":"\u00e9\/\ud83d\ude00"},"":[]}`, `{"a":1,"\u0061":2}`, `[[[[]]]]`, `"\ud800"`,
		`{"command":"rm -rf /","cwd":"/tmp","😀":1,"` + "\ufb33" + `":2}`, `[1,]`, `{"a":`, `"\`, `"\u`, "\"\xff\"", ` { } `, `{"a"}`, `{"a" "b"}`,
	} {
		f.Add([]byte(s))
	}
}

// FuzzCheck holds Check against encoding/json, which accepts more (invalid
// UTF-8, duplicates, unpaired surrogates, deeper nesting) but nothing less, and
// feeds every function with texts that were never checked.
func FuzzCheck(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		err := canonjson.Check(b)
		if err == nil && (!json.Valid(b) || !utf8.Valid(b)) {
			t.Fatalf("Check(%q) = nil, but it is no JSON", b)
		}
		if (err == nil) != same(t, b) {
			t.Fatalf("Check(%q) = %v, but a decoder that looks for duplicates says %t", b, err, same(t, b))
		}
		canonjson.Digest(b)
		canonjson.Kind(b)
		canonjson.String(b)
		canonjson.AppendChecked(nil, b)
		_ = canonjson.Members(b, func(name string, value []byte) error {
			found, ok := canonjson.Lookup(b, canonjson.Key(name))
			if err == nil && (!ok || !bytes.Equal(found, value)) {
				t.Fatalf("Lookup(%q, %q) = %q, %t, want %q", b, name, found, ok, value)
			}
			return nil
		})
		for _, s := range []string{"", "/a", "/0/0", "/a/0/x"} {
			p, err := canonjson.ParsePointer(s)
			if err != nil {
				t.Fatal(err)
			}
			canonjson.Lookup(b, p)
		}
	})
}

// FuzzCanonical: the canonical form is a fixed point, means the same, and does
// not depend on the order of members or on white space.
func FuzzCanonical(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := canonjson.Append(nil, b)
		if checked := canonjson.Check(b); (err == nil) != (checked == nil) {
			t.Fatalf("Append(%q) = %v, Check = %v", b, err, checked)
		}
		if err != nil {
			return
		}
		if twice, err := canonjson.Append(nil, once); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("canonical of %q is %q, of that %q (%v)", b, once, twice, err)
		}
		if got := canonjson.AppendChecked(nil, b); !bytes.Equal(got, once) {
			t.Fatalf("AppendChecked(%q) = %q, Append = %q", b, got, once)
		}
		if canonjson.Digest(b) != canonjson.Digest(once) {
			t.Fatalf("digests of %q and %q differ", b, once)
		}
		var was, is any
		if err := number(b, &was); err != nil {
			t.Fatal(err)
		}
		if err := number(once, &is); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, is); diff != "" {
			t.Fatalf("%q and %q differ (-was +is)\n%s", b, once, diff)
		}
		// encoding/json sorts members its own way and indents: another spelling.
		var spelled bytes.Buffer
		if err := json.Indent(&spelled, b, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if got, err := canonjson.Append(nil, spelled.Bytes()); err != nil || !bytes.Equal(got, once) {
			t.Fatalf("indented %q gives %q (%v), want %q", spelled.Bytes(), got, err, once)
		}
		shuffled, err := json.Marshal(is)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := canonjson.Append(nil, shuffled); err != nil || !bytes.Equal(got, once) {
			t.Fatalf("reordered %q gives %q (%v), want %q", shuffled, got, err, once)
		}
	})
}

func number(b []byte, v *any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// same decodes with encoding/json and its own search for what Check adds.
func same(t *testing.T, b []byte) bool {
	if !json.Valid(b) || !utf8.Valid(b) || bytes.Contains(b, []byte(`\ud`)) || bytes.Contains(b, []byte(`\uD`)) {
		return canonjson.Check(b) == nil // nothing to compare with
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	type frame struct {
		names map[string]bool
		key   bool
	}
	var open []frame
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		top := len(open) - 1
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			open = open[:top]
			continue
		}
		if top >= 0 && open[top].names != nil {
			if open[top].key {
				name, ok := token.(string)
				if !ok {
					t.Fatalf("token %v is no name", token)
				}
				if open[top].names[name] {
					return false
				}
				open[top].names[name] = true
			}
			open[top].key = !open[top].key
		}
		switch token {
		case json.Delim('{'):
			open = append(open, frame{names: map[string]bool{}, key: true})
		case json.Delim('['):
			open = append(open, frame{})
		}
		if len(open) > canonjson.MaxDepth {
			return false
		}
	}
}
