package canonjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
)

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `false`, ` true `, "\t\r\n null", `""`, `"a"`, `"é€😀"`, `"\u0000"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`,
		`"\"\\\/\b\f\n\r\t"`, "\"\x7f\"", `0`, `-0`, `1`, `10`, `-1.5e+10`, `0.0`, `1E5`, `1e-5`, `123456789012345678901234567890`,
		`1e999999999`, `[]`, `[ ]`, `[1,2]`, `{}`, `{ }`, `{"a":1}`, `{"a":1,"b":2}`, `{"b":1,"a":2}`, `{"":1}`,
		`{"a":{"a":{"a":[]}}}`, ` { "a" : [ 1 , { } ] } `, `{"a":1,"A":2}`, "\"\u2028\"",
		nested(canonjson.MaxDepth, "["), nested(canonjson.MaxDepth, `{"a":`),
	} {
		if err := canonjson.Check([]byte(text)); err != nil {
			t.Errorf("Check(%q) = %v, want nil", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		offset int
		want   string // part of the problem
	}{
		{"", 0, "the text is empty, want a value"},
		{"  \n", 3, "the text is empty"},
		{"\ufeff{}", 0, "byte order mark"},
		{"nul", 0, `unexpected 'n', want a value`},
		{"nulll", 4, "unexpected data after the value"},
		{"True", 0, `unexpected 'T', want a value`},
		{"NaN", 0, `unexpected 'N'`},
		{"'a'", 0, `unexpected '\''`},
		{"\x00", 0, `unexpected '\x00'`},
		{"null\x00", 4, "unexpected data after the value"},
		{"{}{}", 2, "unexpected data after the value"},
		{"{} x", 3, "unexpected data after the value"},
		{"\xff", 0, "unexpected byte 0xff, want a value"},
		{"\u00a0null", 0, "unexpected"},
		{"01", 0, "must not start with a zero"},
		{"-01", 1, "must not start with a zero"},
		{"-", 1, "the text ends too early, want a digit"},
		{"-a", 1, "unexpected 'a', want a digit"},
		{"+1", 0, "unexpected '+'"},
		{".5", 0, "unexpected '.'"},
		{"1.", 2, "want a digit"},
		{"1.e5", 2, "want a digit"},
		{"1e", 2, "want a digit"},
		{"1e+", 3, "want a digit"},
		{"0x10", 1, "unexpected data after the value"},
		{`"a`, 2, "the text ends inside a string"},
		{`"a\`, 3, "the text ends inside a string"},
		{`"a\"`, 4, "the text ends inside a string"},
		{"\"a\nb\"", 2, "control character U+000A in a string must be escaped"},
		{"\"\x1f\"", 1, "control character U+001F"},
		{`"\x41"`, 1, "unknown escape sequence of a backslash and 'x'"},
		{`"\u12"`, 1, "four hexadecimal digits"},
		{`"\u12g4"`, 1, "four hexadecimal digits"},
		{`"\U0041"`, 1, "unknown escape sequence"},
		{"\"12345678\xff\"", 9, "byte 0xff in a string is not valid UTF-8"},
		{"\"\xc0\x80\"", 1, "not valid UTF-8"},
		{"\"\xed\xa0\x80\"", 1, "not valid UTF-8"}, // a surrogate in UTF-8
		{"\"\xf4\x90\x80\x80\"", 1, "not valid UTF-8"},
		{"\"\xe2\x82\"", 1, "not valid UTF-8"},
		{`"\ud800"`, 1, `unpaired surrogate escape \ud800`},
		{`"\udc00"`, 1, "unpaired surrogate escape"},
		{`"\udc00\ud800"`, 1, "unpaired surrogate escape"},
		{`"\ud800\ud800"`, 1, "unpaired surrogate escape"},
		{`"\ud800\u0041"`, 1, "unpaired surrogate escape"},
		{`"\ud800x"`, 1, "unpaired surrogate escape"},
		{`{"\ud800":1}`, 2, "unpaired surrogate escape"},
		{"[", 1, "the text ends too early, want a value"},
		{"[1", 2, "want a comma or the end of the array"},
		{"[1,]", 3, "unexpected ']', want a value"},
		{"[,1]", 1, "unexpected ',', want a value"},
		{"[1 2]", 3, "unexpected '2', want a comma or the end of the array"},
		{"[1}", 2, "unexpected '}'"},
		{"{", 1, "want a member name"},
		{"{1:2}", 1, "unexpected '1', want a member name in double quotes"},
		{`{"a"}`, 4, "want a colon"},
		{`{"a" 1}`, 5, "want a colon"},
		{`{"a":}`, 5, "unexpected '}', want a value"},
		{`{"a":1,}`, 7, "want a member name"},
		{`{"a":1 "b":2}`, 7, "want a comma or the end of the object"},
		{`{"a":1]`, 6, "unexpected ']'"},
		{`{"a":1,"a":2}`, 7, `duplicate member name "a"`},
		{`{"a":1,"\u0061":2}`, 7, `duplicate member name "\u0061"`},
		{`{"b":1,"a":1,"b":2}`, 13, `duplicate member name "b"`},
		{`{"c":1,"b":1,"a":0,"b":2,"c":3}`, 19, `duplicate member name "b"`},
		{`{"\n":1,"\u000a":2}`, 8, "duplicate member name"},
		{`{"\/":1,"/":2}`, 8, "duplicate member name"},
		{`{"😀":1,"\ud83d\ude00":2}`, 10, "duplicate member name"},
		{`[{"x":{"a":1,"a":1}}]`, 13, "duplicate member name"},
		{nested(canonjson.MaxDepth+1, "["), 64, "nested deeper than 64 levels"},
		{nested(canonjson.MaxDepth+1, `{"a":`), 64 * 5, "nested deeper than 64 levels"},
		{strings.Repeat("[", 1e6), 64, "nested deeper than 64 levels"},
	} {
		err := canonjson.Check([]byte(c.text))
		var syntax *canonjson.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Check(%.80q) = %v, want a *SyntaxError", c.text, err)
			continue
		}
		if syntax.Offset != c.offset || !strings.Contains(syntax.Problem, c.want) {
			t.Errorf("Check(%.80q) = byte %d: %s, want byte %d: %s", c.text, syntax.Offset, syntax.Problem, c.offset, c.want)
		}
		if got, err := canonjson.Append([]byte("kept"), []byte(c.text)); err == nil || string(got) != "kept" {
			t.Errorf("Append(%.80q) = %q, %v, want the destination as it was and an error", c.text, got, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	got := canonjson.Check([]byte(`{"a":1,"a":2}`)).Error()
	if want := `invalid JSON at byte 7: duplicate member name "a"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	long := `{"` + strings.Repeat("é", 100) + `":1,"` + strings.Repeat("é", 100) + `":2}`
	if got := canonjson.Check([]byte(long)).Error(); len(got) > 200 || !strings.HasSuffix(got, "é…") {
		t.Errorf("got %q, want a name cut at a character", got)
	}
}

// TestCheckManyNames holds the duplicate search away from quadratic time: a
// quadratic one would need hours.
func TestCheckManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"z":0`)
	const names = 300_000
	for i := range names {
		fmt.Fprintf(&b, `,"%d":0`, i*7919%names)
	}
	unique := b.String() + "}"
	start := time.Now()
	if err := canonjson.Check([]byte(unique)); err != nil {
		t.Errorf("Check of %d names = %v, want nil", names, err)
	}
	if err := canonjson.Check([]byte(b.String() + `,"17":0}`)); err == nil {
		t.Errorf("Check of %d names and a duplicate = nil, want an error", names)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if got, err := canonjson.Append(nil, []byte(unique)); err != nil || !json.Valid(got) || len(got) != len(unique) {
		t.Errorf("Append: %d bytes, %v, want %d", len(got), err, len(unique))
	}
}

// nested is n levels that open with open.
func nested(n int, open string) string {
	inner, closing := "", "]"
	if open[0] == '{' {
		inner, closing = "{}", "}"
		n--
	}
	return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
}
