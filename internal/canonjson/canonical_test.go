package canonjson_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{` null `, `null`},
		{`[ 1 , 2 ]`, `[1,2]`},
		{`{ }`, `{}`},
		{`[ ]`, `[]`},
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"{\n  \"b\": [true, false],\n  \"a\": {\"y\": null, \"x\": \"\"}\n}", `{"a":{"x":"","y":null},"b":[true,false]}`},
		{`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{`[{"b":1,"a":[{"d":1,"c":2}]}]`, `[{"a":[{"c":2,"d":1}],"b":1}]`},
		// Numbers stay digit for digit as sent.
		{`[9007199254740993,1.0,1E5,-0,0.10,1e999999999]`, `[9007199254740993,1.0,1E5,-0,0.10,1e999999999]`},
		// Escapes: only what must be, the shortest way, lower-case hex.
		{`"\u0041\/\u00e9\u20ac\ud83d\ude00"`, `"A/é€😀"`},
		{`"\u0008\u0009\u000a\u000c\u000d\u0022\u005c"`, `"\b\t\n\f\r\"\\"`},
		{`"\u0000\u001F\u007f"`, `"\u0000\u001f` + "\x7f" + `"`},
		{`"<>&\u2028"`, "\"<>&\u2028\""},
		{`{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"\n":1,"\t":2,"\"":3,"!":4}`, `{"\t":2,"\n":1,"!":4,"\"":3}`},
		// RFC 8785 §3.2.3: UTF-16 code units, so U+1F600 sorts before U+FB33.
		{
			`{"\u20ac":"Euro","\r":"CR","\ufb33":"Dalet","1":"One","\ud83d\ude00":"Smiley","\u0080":"Control","\u00f6":"o"}`,
			"{\"\\r\":\"CR\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"o\",\"€\":\"Euro\",\"😀\":\"Smiley\",\"\ufb33\":\"Dalet\"}",
		},
		{"{\"\ue000\":1,\"😀\":2,\"\ud7ff\":3}", "{\"\ud7ff\":3,\"😀\":2,\"\ue000\":1}"},
		{"{\"\ue000\":1,\"\\ud83d\\ude00\":2,\"\\ud7ff\":3}", "{\"\ud7ff\":3,\"😀\":2,\"\ue000\":1}"},
	} {
		got, err := canonjson.Append([]byte(">"), []byte(c.in))
		if err != nil || string(got) != ">"+c.want {
			t.Errorf("Append(%s) = %s, %v, want >%s", c.in, got, err, c.want)
		}
		if got := canonjson.AppendChecked([]byte(">"), []byte(c.in)); string(got) != ">"+c.want {
			t.Errorf("AppendChecked(%s) = %s, want >%s", c.in, got, c.want)
		}
		if got := canonjson.AppendChecked(nil, []byte(c.want)); string(got) != c.want {
			t.Errorf("AppendChecked(%s) = %s, want the same", c.want, got)
		}
		if got, want := canonjson.Digest([]byte(c.in)), sha256.Sum256([]byte(c.want)); got != want {
			t.Errorf("Digest(%s) = %x, want %x", c.in, got, want)
		}
	}
}

func TestDigestOfNothingIsNull(t *testing.T) {
	t.Parallel()
	want := sha256.Sum256([]byte("null"))
	for _, b := range [][]byte{nil, {}, []byte("null"), []byte(" null\n")} {
		if got := canonjson.Digest(b); got != want {
			t.Errorf("Digest(%q) = %x, want %x", b, got, want)
		}
	}
}

func TestDigestOfLongValue(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	got := canonjson.Digest([]byte(`{"b":"` + long + `", "a":1}`))
	if want := sha256.Sum256([]byte(`{"a":1,"b":"` + long + `"}`)); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{"a\"b\\c", `"a\"b\\c"`},
		{"\b\f\n\r\t\x00\x1f\x7f", `"\b\f\n\r\t\u0000\u001f` + "\x7f" + `"`},
		{"é😀</script>\u2028", "\"é😀</script>\u2028\""},
		{"a\xffb\xc0\x80", "\"a\ufffdb\ufffd\ufffd\""},
	} {
		if got := canonjson.AppendString([]byte(">"), c.in); string(got) != ">"+c.want {
			t.Errorf("AppendString(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}
