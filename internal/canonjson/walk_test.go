package canonjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

func TestString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		ok       bool
	}{
		{`"plain"`, "plain", true},
		{` "a b" `, "a b", true},
		{`""`, "", true},
		{`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00!"`, "\"\\/\b\f\n\r\té😀!", true},
		{`5`, "", false},
		{`null`, "", false},
		{``, "", false},
		{`["a"]`, "", false},
	} {
		if got, ok := canonjson.String([]byte(c.in)); got != c.want || ok != c.ok {
			t.Errorf("String(%s) = %q, %t, want %q, %t", c.in, got, ok, c.want, c.ok)
		}
		scratch := make([]byte, 0, 64)
		if got, ok := canonjson.Content([]byte(c.in), scratch); string(got) != c.want || ok != c.ok {
			t.Errorf("Content(%s) = %q, %t, want %q, %t", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]byte{
		`{}`: '{', ` [1]`: '[', `"a"`: '"', `0`: '0', `-1`: '0', `9`: '0', `true`: 't', `false`: 'f', "\nnull": 'n', "": 0, "  ": 0, "x": 0,
	} {
		if got := canonjson.Kind([]byte(in)); got != want {
			t.Errorf("Kind(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	type member struct{ Name, Value string }
	for _, c := range []struct {
		in   string
		want []member
	}{
		{`{}`, nil},
		{` { } `, nil},
		{`{"b":1,"a":2}`, []member{{"b", "1"}, {"a", "2"}}},
		{"{ \"a\" : {\"x\": [1, \"}\"]} ,\n\"\" : \"s\\\"\" , \"\\u0063\\\"\" : null }", []member{{"a", `{"x": [1, "}"]}`}, {"", `"s\""`}, {`c"`, "null"}}},
	} {
		var got []member
		err := canonjson.Members([]byte(c.in), func(name string, value []byte) error {
			got = append(got, member{name, string(value)})
			return nil
		})
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("Members(%s): %v (-want +got)\n%s", c.in, err, diff)
		}
	}
	for _, in := range []string{"", "null", "[]", `"a"`, "5"} {
		var syntax *canonjson.SyntaxError
		if err := canonjson.Members([]byte(in), nil); !errors.As(err, &syntax) {
			t.Errorf("Members(%q) = %v, want a *SyntaxError", in, err)
		}
	}
	stop := errors.New("stop")
	calls := 0
	err := canonjson.MembersBytes([]byte(`{"a":1,"b":2}`), func(_, _ []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("got %v after %d calls, want the error of the first", err, calls)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	const missing = "(missing)"
	// The document of RFC 6901 §5, and a few more members.
	const doc = ` {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
		"to": [ {"email": "a@b.c"} , [ [ ] , { } , [ 1 , "]" , 3 ] ] ], "0": {"1": "obj"}, "n": null} `
	for _, c := range []struct{ doc, pointer, want string }{
		{doc, "", strings.TrimSpace(doc)},
		{doc, "/foo", `["bar", "baz"]`},
		{doc, "/foo/0", `"bar"`},
		{doc, "/foo/1", `"baz"`},
		{doc, "/foo/2", missing},
		{doc, "/foo/-", missing},
		{doc, "/foo/01", missing},
		{doc, "/foo/+1", missing},
		{doc, "/foo/", missing},
		{doc, "/foo/99999999999999999999", missing},
		{doc, "/", "0"},
		{doc, "/a~1b", "1"},
		{doc, "/c%d", "2"},
		{doc, "/e^f", "3"},
		{doc, "/g|h", "4"},
		{doc, `/i\j`, "5"},
		{doc, `/k"l`, "6"},
		{doc, "/ ", "7"},
		{doc, "/m~0n", "8"},
		{doc, "/to/0/email", `"a@b.c"`},
		{doc, "/to/1/2/1", `"]"`},
		{doc, "/to/1/2/2", "3"},
		{doc, "/to/1/1", "{ }"},
		{doc, "/to/1/0/0", missing},
		{doc, "/0/1", `"obj"`},
		{doc, "/n", "null"},
		{doc, "/n/x", missing},
		{doc, "/foo/0/0", missing},
		{doc, "/nope", missing},
		{`["a"]`, "/0", `"a"`},
		{`{"\u00e9\n":1}`, "/é\n", "1"},
		{`{"~1":1,"/":2}`, "/~01", "1"},
		{`5`, "", "5"},
		{`5`, "/a", missing},
		{``, "", missing},
	} {
		p, err := canonjson.ParsePointer(c.pointer)
		if err != nil {
			t.Errorf("ParsePointer(%q) = %v", c.pointer, err)
			continue
		}
		got := missing
		if value, ok := canonjson.Lookup([]byte(c.doc), p); ok {
			got = string(value)
		}
		if got != c.want {
			t.Errorf("Lookup(%.30s, %q) = %s, want %s", c.doc, c.pointer, got, c.want)
		}
	}
	for _, s := range []string{"a", "a/b", "/~", "/~2", "/a~", "#/a", "/~~0", "/~01~"} {
		if p, err := canonjson.ParsePointer(s); err == nil {
			t.Errorf("ParsePointer(%q) = %v, want an error", s, p)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"/a":1,"~0":2,"":3,"x":4,"a\tb":5}`)
	for key, want := range map[string]string{"/a": "1", "~0": "2", "": "3", "x": "4", "a\tb": "5", "~": "", "a": ""} {
		value, ok := canonjson.Lookup(doc, canonjson.Key(key))
		if string(value) != want || ok != (want != "") {
			t.Errorf("Lookup(Key(%q)) = %q, %t, want %q", key, value, ok, want)
		}
	}
	if value, ok := canonjson.Lookup([]byte(`["a"]`), canonjson.Key("0")); ok {
		t.Errorf("Lookup(Key) in an array = %q, want nothing", value)
	}
}
