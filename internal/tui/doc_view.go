package tui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// The limits of what is shown of a JSON text at once.
const (
	docBytes    = 64 << 10 // more is cut, and that is said
	docString   = 200      // cells of a line, and lines of a value, until it is unfolded
	docItems    = 20       // an object or array with more is folded
	docIndented = 4 << 20  // of a text that is indented at all
)

// docLine is a line of an indented text. Close is the index of the line that
// ends what this one opens; 0 when it opens nothing.
type docLine struct {
	text  string // clean
	close int
	items int
	odd   bool // holds escapes for what would not be seen
}

// doc is a JSON text as lines. The text is indented as it stands: order, double
// names and the spelling of numbers stay as they came.
type doc struct {
	lines []docLine
	cut   int        // bytes that are not in lines
	whole func() doc // the doc without a cut; nil when there is none
}

// full is the doc with nothing cut, as far as that can be had.
func (d doc) full() doc {
	if d.whole != nil {
		return d.whole()
	}
	return d
}

// newDoc makes the lines of a JSON text, of no more than docBytes. What is no
// JSON is shown as text.
func newDoc(raw []byte) doc {
	d := docOf(raw, docBytes)
	if d.cut > 0 {
		d.whole = func() doc { return docOf(raw, len(raw)*8) }
	}
	return d
}

func docOf(raw []byte, limit int) doc {
	if len(bytes.TrimSpace(raw)) == 0 {
		return doc{lines: []docLine{{text: "-"}}}
	}
	var b bytes.Buffer
	body := raw
	if len(raw) <= docIndented && json.Indent(&b, raw, "", "  ") == nil {
		body = b.Bytes()
	}
	var d doc
	if len(body) > limit {
		d.cut = len(body) - limit
		body = body[:limit]
	}
	return d.with(string(body))
}

// newText makes the lines of a plain text.
func newText(s string) doc {
	var d doc
	if len(s) > docIndented {
		d.cut = len(s) - docIndented
		s = s[:docIndented]
	}
	return d.with(strings.ReplaceAll(s, "\t", "    "))
}

func (d doc) with(body string) doc {
	var open []int
	for i, line := range strings.Split(body, "\n") {
		clean := text.Clean(line)
		d.lines = append(d.lines, docLine{text: clean, odd: clean != line})
		end := strings.TrimSuffix(line, ",")
		switch {
		case strings.HasSuffix(end, "{"), strings.HasSuffix(end, "["):
			open = append(open, i)
		case len(open) > 0 && (strings.HasSuffix(end, "}") || strings.HasSuffix(end, "]")) && strings.TrimLeft(end, " ") == end[len(end)-1:]:
			d.lines[open[len(open)-1]].close = i
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && open[n-1] != i {
			d.lines[open[n-1]].items++
		}
	}
	return d
}

// docView is a window on a doc, with a cursor and folds. A long line that is
// shown whole takes several rows.
type docView struct {
	doc
	wrap   bool // lines of up to docString cells are shown whole
	flow   bool // all lines are shown whole, broken between words
	folded map[int]bool
	wide   map[int]bool // long lines that are shown whole
	rows   []docRow     // what is not folded away
	at     int          // in rows
	top    int
	w, h   int
	find   string // lower case
	key    string // of what is shown: the same key keeps folds and cursor
}

// docRow is a row of the window: a piece of a line.
type docRow struct {
	line int
	text string // of a line that is shown whole
	rest bool   // not the first piece
}

// show puts a text into the window, unless it is there already.
func (v *docView) show(key string, build func() doc) {
	if v.key == key && v.rows != nil {
		return
	}
	*v = docView{doc: build(), wrap: v.wrap, flow: v.flow, w: v.w, h: v.h, find: v.find, key: key, folded: map[int]bool{}, wide: map[int]bool{}}
	for i, l := range v.lines {
		if i > 0 && l.close > 0 && (l.items > docItems && l.close-i > docItems || l.close-i > docString) {
			v.folded[i] = true
		}
	}
	v.layout()
}

// layout makes the rows anew. The cursor stays on its line.
func (v *docView) layout() {
	line := v.line()
	v.rows = v.rows[:0]
	for i := 0; i < len(v.lines); i++ {
		if v.whole(i) {
			pieces := hanging
			if v.flow {
				pieces = text.Words
			}
			for p, piece := range pieces(v.lines[i].text, max(v.w-2, 1)) {
				v.rows = append(v.rows, docRow{i, piece, p > 0})
			}
		} else {
			v.rows = append(v.rows, docRow{line: i})
		}
		if v.folded[i] {
			i = v.lines[i].close
		}
	}
	v.to(v.row(line))
}

// hanging breaks a line into pieces of at most w cells. All but the first stand
// a little further in than the line does.
func hanging(s string, w int) []string {
	pieces := text.Hard(s, w)
	if len(pieces) == 1 || !strings.HasPrefix(s, pieces[0]) {
		return pieces
	}
	in := min(len(s)-len(strings.TrimLeft(s, " "))+2, w/2)
	out := pieces[:1:1]
	for _, rest := range text.Hard(s[len(pieces[0]):], w-in) {
		out = append(out, strings.Repeat(" ", in)+rest)
	}
	return out
}

// whole reports whether a line is broken where it is too long, and not cut.
func (v *docView) whole(i int) bool {
	return !v.folded[i] && (v.flow || v.wide[i] || v.wrap && text.Width(v.lines[i].text) <= docString)
}

// row is the first one of a line, or of what it is folded into.
func (v *docView) row(line int) int {
	i, _ := slices.BinarySearchFunc(v.rows, line+1, func(r docRow, want int) int { return cmp.Compare(r.line, want) })
	for i--; i > 0 && v.rows[i].rest; i-- {
	}
	return max(i, 0)
}

func (v *docView) to(i int) {
	v.at = max(min(i, len(v.rows)-1), 0)
	h := max(v.h, 1)
	if v.at < v.top {
		v.top = v.at
	}
	if v.at >= v.top+h {
		v.top = v.at - h + 1
	}
	v.top = max(min(v.top, len(v.rows)-h), 0)
}

func (v *docView) size(w, h int) {
	v.h = max(h, 0)
	if w != v.w {
		v.w = w
		v.layout()
		return
	}
	v.to(v.at)
}

// act moves, folds and searches; false when the action is not for a text.
func (v *docView) act(a action) bool {
	switch a {
	case actUp:
		v.to(v.at - 1)
	case actDown:
		v.to(v.at + 1)
	case actPageUp:
		v.to(v.at - max(v.h-1, 1))
	case actPageDown:
		v.to(v.at + max(v.h-1, 1))
	case actHalfUp:
		v.to(v.at - max(v.h/2, 1))
	case actHalfDown:
		v.to(v.at + max(v.h/2, 1))
	case actTop:
		v.to(0)
	case actBottom:
		v.to(len(v.rows) - 1)
	case actOpen:
		return v.toggle()
	case actLeft:
		return v.fold(true)
	case actRight:
		return v.fold(false)
	case actNext:
		return v.search(1)
	case actPrev:
		return v.search(-1)
	default:
		return false
	}
	return true
}

func (v *docView) line() int {
	if v.at >= len(v.rows) {
		return 0
	}
	return v.rows[v.at].line
}

// folds reports whether the line under the cursor can be folded or unfolded.
func (v *docView) folds() bool {
	if len(v.lines) == 0 {
		return false
	}
	i := v.line()
	return v.lines[i].close > i || v.wide[i] || !v.whole(i) && text.Width(v.lines[i].text) > min(v.w-2, docString)
}

func (v *docView) toggle() bool {
	if !v.folds() {
		return false
	}
	if i := v.line(); v.lines[i].close > i {
		v.folded[i] = !v.folded[i]
	} else {
		v.wide[i] = !v.wide[i]
	}
	v.layout()
	return true
}

func (v *docView) fold(on bool) bool {
	i := v.line()
	if len(v.lines) == 0 || v.lines[i].close <= i || v.folded[i] == on {
		return false
	}
	v.folded[i] = on
	v.layout()
	return true
}

// search goes to the next line with what is sought, also inside folds.
func (v *docView) search(step int) bool {
	if v.find == "" || len(v.lines) == 0 {
		return false
	}
	n := len(v.lines)
	for k := 1; k <= n; k++ {
		i := ((v.line()+step*k)%n + n) % n
		if strings.Contains(strings.ToLower(v.lines[i].text), v.find) {
			v.reveal(i)
			return true
		}
	}
	return false
}

// reveal opens the folds around a line and goes there.
func (v *docView) reveal(i int) {
	for j := range v.folded {
		if v.folded[j] && j < i && i <= v.lines[j].close {
			v.folded[j] = false
		}
	}
	v.layout()
	v.to(v.row(i))
}

// draw makes the lines of the window. A marker stands in front of each.
func (v *docView) draw(th *theme, w int, focused bool) []string {
	var out []string
	for k := v.top; k < min(v.top+v.h, len(v.rows)); k++ {
		s, mark := v.cell(v.rows[k])
		line := text.Fit(mark+" "+s, w)
		switch {
		case focused && k == v.at:
			line = th.selected(line)
		case v.find != "" && strings.Contains(strings.ToLower(s), v.find):
			line = th.paint(tokInfo, line)
		case v.lines[v.rows[k].line].odd:
			line = th.paint(tokWarn, line)
		}
		out = append(out, line)
	}
	if v.cut > 0 && v.top+v.h >= len(v.rows) && len(out) > 0 {
		note := th.paint(tokWarn, text.Fit(fmt.Sprintf("  … %d more bytes are not shown here", v.cut), w))
		if len(out) == v.h {
			out[len(out)-1] = note
		} else {
			out = append(out, note)
		}
	}
	return out
}

// cell is the text of a row and the mark in front of it.
func (v *docView) cell(r docRow) (s, mark string) {
	l := v.lines[r.line]
	mark = " "
	if l.odd {
		mark = "!"
	}
	switch {
	case v.folded[r.line]:
		return fmt.Sprintf("%s … %d items %s", l.text, l.items, strings.TrimSpace(v.lines[l.close].text)), "+"
	case r.rest:
		return r.text, " "
	case r.text != "":
		return r.text, mark
	}
	return text.Cut(l.text, docString), mark
}

// flat are all lines of a text in w cells, nothing folded and nothing cut but
// what the size limit cuts: for what is decided on.
func (d doc) flat(w int) []string {
	var out []string
	for _, l := range d.lines {
		mark := "  "
		if l.odd {
			mark = "! "
		}
		for i, piece := range text.Hard(l.text, max(w-2, 1)) {
			if i > 0 {
				mark = "  "
			}
			out = append(out, mark+piece)
		}
	}
	return out
}

// current is the text of the line under the cursor.
func (v *docView) current() string {
	if len(v.lines) == 0 {
		return ""
	}
	return v.lines[v.line()].text
}
