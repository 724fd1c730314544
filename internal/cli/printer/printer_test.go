package printer_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

type item struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	N    int    `json:"n"`
}

var now = time.Date(2026, 11, 20, 14, 2, 11, 0, time.UTC)

func view() printer.View[item] {
	return printer.View[item]{
		Name: func(i item) string { return "item/" + i.ID },
		ID:   func(i item) string { return i.ID },
		Columns: []printer.Column[item]{
			{Name: "ID", Width: 8, Cell: func(i item) printer.Cell { return printer.ID(i.ID) }},
			{Name: "NAME", Width: 10, Flex: true, Cell: func(i item) printer.Cell { return printer.Cell{Text: i.Name, Style: printer.Good} }},
			{Name: "WIDE", Width: 4, Wide: true, Cell: func(item) printer.Cell { return printer.Dash("") }},
			{Name: "N", Width: 3, Right: true, Cell: func(i item) printer.Cell { return printer.Int(int64(i.N)) }},
		},
	}
}

func items() []item {
	return []item{
		{"01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2", "plain", 7},
		{"01930c2e-7a10-7c55-b2aa-0f1ec2d0e911", "tab\there\nand \x1b[31mthere", 123},
	}
}

// show prints the items and gives what was written.
func show(t *testing.T, format string, set func(*printer.Printer), live bool) string {
	t.Helper()
	f, err := printer.ParseFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := &printer.Printer{Out: &b, Format: f, Headers: true, Now: func() time.Time { return now }}
	if set != nil {
		set(p)
	}
	l := printer.NewList(p, view())
	if live {
		l = printer.NewLive(p, view())
	}
	for _, i := range items() {
		if err := l.Add(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close("next"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, format string
		set          func(*printer.Printer)
		live         bool
		want         string
	}{
		{name: "table", format: "table", want: `
ID        NAME                            N
9f3a71c2  plain                           7
c2d0e911  tab\there\nand \x1b[31mthere  123
`},
		{name: "wide", format: "wide", want: `
ID        NAME                          WIDE    N
9f3a71c2  plain                         -       7
c2d0e911  tab\there\nand \x1b[31mthere  -     123
`},
		{name: "full", format: "table", set: func(p *printer.Printer) { p.Full = true }, want: `
ID                                    NAME                            N
01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2  plain                           7
01930c2e-7a10-7c55-b2aa-0f1ec2d0e911  tab\there\nand \x1b[31mthere  123
`},
		{name: "cut to the screen", format: "table", set: func(p *printer.Printer) { p.Width = 30 }, want: `
ID        NAME               N
9f3a71c2  plain              7
c2d0e911  tab\there\nand…  123
`},
		{name: "colour", format: "table", set: func(p *printer.Printer) { p.Color = true; p.Width = 24 }, want: "\n" +
			"\x1b[1mID\x1b[0m        \x1b[1mNAME\x1b[0m         \x1b[1mN\x1b[0m\n" +
			"9f3a71c2  \x1b[32mplain\x1b[0m        7\n" +
			"c2d0e911  \x1b[32mtab\\ther…\x1b[0m  123\n"},
		{name: "no headers", format: "table", set: func(p *printer.Printer) { p.Headers = false }, want: `
9f3a71c2  plain                           7
c2d0e911  tab\there\nand \x1b[31mthere  123
`},
		{name: "tsv", format: "tsv", want: "\n" +
			"01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2\tplain\t\t7\n" +
			"01930c2e-7a10-7c55-b2aa-0f1ec2d0e911\ttab\\there\\nand \\x1b[31mthere\t\t123\n"},
		{name: "name", format: "name", want: `
item/01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2
item/01930c2e-7a10-7c55-b2aa-0f1ec2d0e911
`},
		{name: "quiet", format: "table", set: func(p *printer.Printer) { p.IDsOnly = true }, want: `
01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2
01930c2e-7a10-7c55-b2aa-0f1ec2d0e911
`},
		{name: "json", format: "json", want: `
{
  "schema": "v0",
  "items": [
    {
      "id": "01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2",
      "name": "plain",
      "n": 7
    },
    {
      "id": "01930c2e-7a10-7c55-b2aa-0f1ec2d0e911",
      "name": "tab\there\nand \u001b[31mthere",
      "n": 123
    }
  ],
  "next_cursor": "next"
}
`},
		{name: "jsonl", format: "jsonl", want: `
{"id":"01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2","name":"plain","n":7}
{"id":"01930c2e-7a10-7c55-b2aa-0f1ec2d0e911","name":"tab\there\nand \u001b[31mthere","n":123}
`},
		{name: "live json is jsonl", format: "json", live: true, want: `
{"id":"01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2","name":"plain","n":7}
{"id":"01930c2e-7a10-7c55-b2aa-0f1ec2d0e911","name":"tab\there\nand \u001b[31mthere","n":123}
`},
		{name: "live table", format: "table", live: true, want: `
ID        NAME          N
9f3a71c2  plain         7
c2d0e911  tab\there\nand \x1b[31mthere  123
`},
		{name: "live table of what is wide", format: "table", live: true, set: func(p *printer.Printer) { p.Full = true }, want: `
ID                                    NAME          N
01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2  plain         7
01930c2e-7a10-7c55-b2aa-0f1ec2d0e911  tab\there\nand \x1b[31mthere  123
`},
		{name: "live table on a screen", format: "table", live: true, set: func(p *printer.Printer) { p.Width = 26 }, want: `
ID        NAME           N
9f3a71c2  plain          7
c2d0e911  tab\there…   123
`},
		{name: "yaml", format: "yaml", want: `
schema: v0
items:
  - id: 01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2
    name: plain
    "n": 7
  - id: 01930c2e-7a10-7c55-b2aa-0f1ec2d0e911
    name: "tab\there\nand \e[31mthere"
    "n": 123
next_cursor: next
`},
		{name: "template", format: `go-template={{range .items}}{{short .id}} {{.n}},{{end}}{{.missing}}`, want: `
9f3a71c2 7,c2d0e911 123,<no value>
`},
		{name: "live template", format: `go-template={{.n}}`, live: true, want: `
7
123
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), show(t, tt.format, tt.set, tt.live)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyLists(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"table": "", "tsv": "", "name": "", "jsonl": "",
		"json": "{\n  \"schema\": \"v0\",\n  \"items\": [],\n  \"next_cursor\": \"\"\n}\n",
		"yaml": "schema: v0\nitems: []\nnext_cursor: \"\"\n",
	} {
		f, err := printer.ParseFormat(format)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		l := printer.NewList(&printer.Printer{Out: &b, Format: f, Headers: true}, view())
		if err := l.Close(""); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v; want %q", format, &b, err, want)
		}
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"nonsense", "json=x", "go-template", "go-template={{", "go-template-file=/no/such/file", "TABLE"} {
		if _, err := printer.ParseFormat(bad); err == nil {
			t.Errorf("ParseFormat(%q) = nil", bad)
		}
	}
}

func TestCard(t *testing.T) {
	t.Parallel()
	fields := []printer.Field{
		{Name: "id", Value: printer.ID("01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2")},
		{Name: "short", JSON: []byte(`{"n":1.50,"u":"\u202e"}`)},
		{Name: "long", JSON: []byte(`{"text":"` + strings.Repeat("x", 80) + `"}`)},
		{Name: "text", Text: "two\nlines\x1b[2J"},
	}
	tests := []struct{ format, want string }{
		{"table", "id     9f3a71c2\nshort  {\"n\":1.50,\"u\":\"\\u202e\"}\nlong   {\n         \"text\": \"" + strings.Repeat("x", 80) + "\"\n       }\ntext   two\n       lines\\x1b[2J\n"},
		{"tsv", "id\t01930c2e-7a10-7c55-b2aa-0f1e9f3a71c2\nshort\t{\"n\":1.50,\"u\":\"\\u202e\"}\nlong\t{\"text\":\"" + strings.Repeat("x", 80) + "\"}\ntext\ttwo\\nlines\\x1b[2J\n"},
	}
	for _, tt := range tests {
		f, err := printer.ParseFormat(tt.format)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := (&printer.Printer{Out: &b, Format: f}).Card(fields); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.format, diff)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf(`"key%d": "a value that is long enough"`, i))
	}
	fields := printer.Shorten([]printer.Field{
		{Name: "input", JSON: []byte("{" + strings.Join(lines, ",") + "}")},
		{Name: "output", JSON: []byte(`1`)},
	}, "--full shows all")
	if !strings.HasSuffix(fields[0].Text, "\n… 12 more lines: --full shows all") || fields[1].JSON == nil {
		t.Errorf("Shorten = %+v", fields)
	}
}

func TestScreenJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	f, err := printer.ParseFormat("jsonl")
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte("{\"a\":\"x\u202ey\u009b\u007f\U000e0041\"}")
	if err := (&printer.Printer{Out: &b, Format: f, Screen: true}).Object(raw); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"x\u202ey\u009b\u007f\udb40\udc41"}` + "\n"; b.String() != want {
		t.Errorf("on a screen %q, want %q", &b, want)
	}
	b.Reset()
	if err := (&printer.Printer{Out: &b, Format: f}).Object(raw); err != nil || b.String() != string(raw)+"\n" {
		t.Errorf("in a pipe %q, %v", &b, err)
	}
}

func TestYAMLKeepsWhatJSONSays(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	f, err := printer.ParseFormat("yaml")
	if err != nil {
		t.Fatal(err)
	}
	raw := `{"z":9007199254740993,"a":[true,null,"yes","12","\ud83d\ude00",1e400],"o":{},"l":[]}`
	if err := (&printer.Printer{Out: &b, Format: f}).Object([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	want := "z: 9007199254740993\na:\n  - true\n  - null\n  - \"yes\"\n  - \"12\"\n  - \"\\U0001F600\"\n  - 1e400\no: {}\nl: []\n"
	if got := b.String(); got != want && got != strings.ReplaceAll(want, `"\U0001F600"`, "😀") {
		t.Errorf("yaml:\n%s\nwant:\n%s", got, want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	at := wire.At(now.Add(-3*time.Minute - 5*time.Second))
	p := &printer.Printer{Now: func() time.Time { return now }, Times: printer.Relative}
	for got, want := range map[string]string{
		p.Ago(at).Short: "3m5s ago",
		p.Age(at).Short: "3m5s",
		p.Left(wire.At(now.Add(2 * time.Hour))).Short: "2h0m",
		p.Left(at).Short:         "over",
		p.Ago(at).Text:           "2026-11-20T13:59:06.000000Z",
		p.Ago(wire.Time{}).Short: "-",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p.Times, p.UTC = printer.ISO, true
	if got := p.Ago(at).Text; got != "2026-11-20T13:59:06.000000Z" {
		t.Errorf("iso = %q", got)
	}
	p.Times = printer.Unix
	if got := p.Ago(at).Text; got != "1795183146.000000" {
		t.Errorf("unix = %q", got)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 41 << 20: "41.0 MiB", 3 << 29: "1.5 GiB", 5 << 50: "5120.0 TiB"} {
		if got := printer.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 events", 1: "1 event", 2: "2 events"} {
		if got := printer.Counted(n, "event"); got != want {
			t.Errorf("Counted(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m1s", 11 * time.Minute: "11m", 90 * time.Minute: "1h30m",
		50 * time.Hour: "2d2h", -5 * time.Second: "-5s",
	} {
		if got := printer.Duration(d); got != want {
			t.Errorf("Duration(%s) = %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{3 * time.Millisecond: "3ms", 2100 * time.Millisecond: "2.1s", time.Minute: "1m0s"} {
		if got := printer.Took(d); got != want {
			t.Errorf("Took(%s) = %s, want %s", d, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		cells int
		want  string
	}{
		{"plain", 5, "plain"},
		{"plainer", 5, "plai…"},
		{"", 0, ""},
		{"x", 0, ""},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	}
	for _, tt := range tests {
		if got := printer.Cut(tt.in, tt.cells); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.cells, got, tt.want)
		}
	}
	for text, want := range map[string]int{"ascii": 5, "日本": 4, "e\u0301": 1, "👩\u200d🚀": 2, "é": 1} {
		if got := printer.Cells(text); got != want {
			t.Errorf("Cells(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é 日本 👩\u200d🚀": "plain é 日本 👩\u200d🚀",
		"a\tb\nc\r":           `a\tb\nc\r`,
		"\x1b]0;title\a":      `\x1b]0;title\x07`,
		"\u009b31m":           `\x9b31m`,
		"\u202eabc\u2066":     `\u202eabc\u2066`,
		"zero\u200bwidth":     `zero\u200bwidth`,
		"line\u2028sep":       `line\u2028sep`,
		"bad\xff":             `bad\xff`,
	} {
		if got := printer.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever the text, nothing that acts on a terminal is left of it, and what is
// printed fits the screen.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b[2J", "\u202e日本", "\xff\xfe", "\U000e0001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := printer.Clean(s)
		for _, r := range got {
			if r < ' ' || (r >= 0x7f && r < 0xa0) || r == '\u202e' || r == '\ufffd' && !strings.ContainsRune(s, '\ufffd') {
				t.Errorf("Clean(%q) = %q", s, got)
			}
		}
		if again := printer.Clean(got); again != got {
			t.Errorf("Clean twice = %q, then %q", got, again)
		}
		if cut := printer.Cut(got, 7); printer.Cells(cut) > 7 {
			t.Errorf("Cut(%q, 7) = %q of %d cells", got, cut, printer.Cells(cut))
		}
	})
}
