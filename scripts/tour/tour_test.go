package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

func TestParse(t *testing.T) {
	t.Parallel()
	var (
		red  = style{fg: 2}
		blue = style{fg: 13, bold: true}
		sel  = style{invert: true}
	)
	for name, tt := range map[string]struct {
		in   string
		want frame
	}{
		"plain":                   {"ab\n", frame{{{"ab", style{}}}}},
		"two styles":              {"a\x1b[31mb\x1b[39mc\n", frame{{{"a", style{}}, {"b", red}, {"c", style{}}}}},
		"bright and bold":         {"\x1b[1;94mx\x1b[0m\n", frame{{{"x", blue}}}},
		"a style goes on":         {"\x1b[7ma\nb\x1b[27mc\n", frame{{{"a", sel}}, {{"b", sel}, {"c", style{}}}}},
		"no parameter is a reset": {"\x1b[31ma\x1b[mb", frame{{{"a", red}, {"b", style{}}}}},
		"the same style is one":   {"\x1b[31ma\x1b[31mb", frame{{{"ab", red}}}},
		"256 colours are skipped": {"\x1b[38;5;31;1ma", frame{{{"a", style{bold: true}}}}},
		"true colour is skipped":  {"\x1b[48;2;1;2;7ma", frame{{{"a", style{}}}}},
		"other sequences too":     {"a\x1b[2Kb", frame{{{"ab", style{}}}}},
		"an empty line":           {"\na\n", frame{nil, {{"a", style{}}}}},
	} {
		if d := cmp.Diff(tt.want, parse(tt.in), cmp.AllowUnexported(run{}, style{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestTrimmedKeepsWhatCanBeSeen(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a  ":                   "a",
		"a \x1b[1m  ":           "a",
		"a\x1b[7m  ":            "a\x1b[7m  \x1b[0m",
		"a \x1b[41m \x1b[0m   ": "a \x1b[41m \x1b[0m",
		"  ":                    "",
	} {
		if got := parse(in)[0].ansi(); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// scenes are frames with everything that is drawn in a way of its own.
func scenes() []shot {
	first := "\x1b[1m[1 Approvals]\x1b[0m        <&>\n───┌─┐│\x1b[31m│\x1b[0m═\n\x1b[7m> 株式会社 ミライ      x\x1b[0m\n"
	second := strings.Replace(first, "<&>", "<?>", 1)
	return []shot{
		{parse(first), caption{"g", "one < two"}, time.Second},
		{parse(second), caption{"", "two"}, 2 * time.Second},
		{parse(first), caption{"", "two"}, time.Second},
	}
}

// element is a part of a drawing.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Elements []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// walk visits an element and all in it.
func (e *element) walk(visit func(*element)) {
	visit(e)
	for i := range e.Elements {
		e.Elements[i].walk(visit)
	}
}

func (e *element) words() (s string) {
	e.walk(func(e *element) { s += e.Text })
	return s
}

func drawn(t *testing.T, svg []byte) *element {
	t.Helper()
	var root element
	if err := xml.Unmarshal(svg, &root); err != nil {
		t.Fatalf("no XML: %v", err)
	}
	ids := map[string]bool{}
	root.walk(func(e *element) {
		if id := e.attr("id"); id != "" {
			if ids[id] {
				t.Errorf("id %s is given twice", id)
			}
			ids[id] = true
		}
	})
	root.walk(func(e *element) {
		if href, ok := strings.CutPrefix(e.attr("href"), "#"); ok && !ids[href] {
			t.Errorf("#%s is used and not defined", href)
		}
	})
	return &root
}

// TestFilm: a film is well-formed, has a frame for each shot at its time, writes
// what looks the same once, and says the length of all text in cells.
func TestFilm(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := newDrawing(dark, 30, 4, "a <title>").film(&b, scenes()); err != nil {
		t.Fatal(err)
	}
	root := drawn(t, b.Bytes())
	frames := 0
	root.walk(func(e *element) {
		if e.attr("transform") != "" {
			frames++
		}
		if length := e.attr("textLength"); length != "" {
			if got, want := length, number(float64(text.Width(e.words()))*cellWidth); got != want {
				t.Errorf("%q is %s long, want %s", e.words(), got, want)
			}
		}
	})
	if frames != len(scenes()) {
		t.Errorf("%d frames, want %d", frames, len(scenes()))
	}
	for _, want := range []string{"animation:f 4s", "{0%{", "}25%{", "}75%{", "&lt;&amp;&gt;", "one &lt; two"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the film", want)
		}
	}
	if n := strings.Count(b.String(), "&lt;&amp;&gt;"); n != 1 {
		t.Errorf("a line of two frames is written %d times", n)
	}
}

// TestColumns: text stands at its column, whatever is before it.
func TestColumns(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := newDrawing(light, 30, 4, "").still(&b, scenes()[0].frame); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	drawn(t, b.Bytes()).walk(func(e *element) {
		if e.attr("textLength") != "" {
			at[e.words()] = e.attr("x")
		}
	})
	want := map[string]string{}
	for s, column := range map[string]int{"[1 Approvals]": 0, "<&>": 21, "> ": 0, "株式会社": 2, "ミライ": 11, "      x": 17} {
		want[s] = number(margin + float64(column)*cellWidth)
	}
	if d := cmp.Diff(want, at); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
}

// screen understands what differences are made of.
type screen []string

var move = regexp.MustCompile(`^\x1b\[(\d+);1H\x1b\[K`)

func (s screen) write(t *testing.T, out string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(out, "\x1b[?25l\x1b[2J"); ok {
		out = rest
	}
	for out != "" {
		m := move.FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("not a line: %q", out)
		}
		y, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		out = out[len(m[0]):]
		end := len(out)
		if next := regexp.MustCompile(`\x1b\[\d+;1H`).FindStringIndex(out); next != nil {
			end = next[0]
		}
		s[y-1], out = out[:end], out[end:]
	}
}

// TestCast plays a cast and looks at the screen after each piece of output.
func TestCast(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := writeCast(&b, 30, 3, "title", scenes()); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&b)
	var header struct {
		Version, Width, Height int
		Title                  string
	}
	if err := dec.Decode(&header); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(header); got != "{2 30 3 title}" {
		t.Errorf("header %s", got)
	}
	shown, shots := make(screen, 3), scenes()
	var times []string
	for i := 0; ; {
		var event []any
		if err := dec.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		times = append(times, fmt.Sprintf("%v %v", event[0], event[1]))
		out, ok := event[2].(string)
		if !ok || event[1] == "m" || i == len(shots) {
			continue
		}
		shown.write(t, out)
		var want screen
		for _, l := range shots[i].frame {
			want = append(want, l.ansi())
		}
		if d := cmp.Diff(want, shown); d != "" {
			t.Errorf("shot %d (-want +got):\n%s", i, d)
		}
		i++
	}
	if d := cmp.Diff([]string{"0 m", "0 o", "1 m", "1 o", "3 o", "4 o"}, times); d != "" {
		t.Errorf("times (-want +got):\n%s", d)
	}
}

// TestRecorded holds what is in the repository: it is small, well-formed, whole,
// and says nothing of where and when it was made.
func TestRecorded(t *testing.T) {
	t.Parallel()
	const most = 400 << 10
	dir := filepath.Join("..", "..", "docs", "tour")
	names := map[string]bool{"tour.svg": true, "tour.cast": true}
	for _, a := range script {
		if a.still != "" {
			names[a.still+".svg"] = true
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`/(tmp|home|root|work|Users)/|20\d\d-\d\d-\d\d`)
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > most {
			t.Errorf("%s has %d bytes", f.Name(), len(content))
		}
		if filepath.Ext(f.Name()) == ".svg" {
			drawn(t, content)
		}
		for _, found := range foreign.FindAllString(string(content), -1) {
			if found != someDay {
				t.Errorf("%s has %q", f.Name(), found)
			}
		}
		if !names[f.Name()] {
			t.Errorf("%s is not of the script", f.Name())
		}
		delete(names, f.Name())
	}
	if len(names) > 0 {
		t.Errorf("not recorded: %v", names)
	}
}
