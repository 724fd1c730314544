package main

import (
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// The measures of a drawing, in its own units. The width of a cell is that of
// most monospaced fonts at this size; every piece of text says its length, so
// columns stand where they are whatever the font of the reader.
const (
	fontSize   = 15
	cellWidth  = 9
	lineHeight = 18
	baseline   = 14 // from the top of a line
	margin     = 14
	titleBar   = 30
	captionBar = 34
)

// palette is the colours of a terminal: default text and background, then the
// sixteen.
type palette struct {
	text, ground, bar, edge string
	colours                 [16]string
}

var dark = palette{
	text: "#d1d7e0", ground: "#0d1117", bar: "#161b22", edge: "#30363d",
	colours: [16]string{
		"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
		"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
	},
}

var light = palette{
	text: "#1f2328", ground: "#ffffff", bar: "#f6f8fa", edge: "#d1d9e0",
	colours: [16]string{
		"#24292f", "#cf222e", "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83", "#6e7781",
		"#57606a", "#a40e26", "#1a7f37", "#633c01", "#218bff", "#a475f9", "#3192aa", "#8c959f",
	},
}

// caption says what is seen: a key or a command, and what it does.
type caption struct{ key, said string }

// shot is a frame with its caption, shown for a while.
type shot struct {
	frame
	caption
	hold time.Duration
}

// drawing writes one SVG. Lines that look the same are written once.
type drawing struct {
	pal           palette
	columns, rows int
	title         string
	captions      bool // there is a bar for them
	ids           map[string]string
	defs          strings.Builder
}

func newDrawing(pal palette, columns, rows int, title string) *drawing {
	return &drawing{pal: pal, columns: columns, rows: rows, title: title, ids: map[string]string{}}
}

func (d *drawing) width() float64 { return float64(d.columns)*cellWidth + 2*margin }

func (d *drawing) height() int {
	h := titleBar + d.rows*lineHeight + margin
	if d.captions {
		h += captionBar
	}
	return h
}

// still writes one frame.
func (d *drawing) still(w io.Writer, f frame) error {
	body := d.frame(f)
	return d.write(w, "", body)
}

// film writes shots that follow each other, again and again. The frames stand
// side by side, and the strip of them moves behind a window.
func (d *drawing) film(w io.Writer, shots []shot) error {
	d.captions = true
	var all time.Duration
	for _, s := range shots {
		all += s.hold
	}
	var css, body strings.Builder
	fmt.Fprintf(&css, "#s{animation:f %ss step-end infinite}@keyframes f{", number(all.Seconds()))
	at := time.Duration(0)
	for i, s := range shots {
		fmt.Fprintf(&css, "%s%%{transform:translateX(-%spx)}", number(100*at.Seconds()/all.Seconds()), number(float64(i)*d.width()))
		fmt.Fprintf(&body, `<g transform="translate(%s)">%s%s</g>`, number(float64(i)*d.width()), d.frame(s.frame), d.caption(s.caption))
		at += s.hold
	}
	css.WriteString("}")
	return d.write(w, css.String(), `<g id="s">`+body.String()+"</g>")
}

func (d *drawing) write(w io.Writer, css, body string) error {
	width, height := number(d.width()), d.height()
	p := &d.pal
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %d" width="%s" height="%d" role="img">`, width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>", html.EscapeString(d.title))
	fmt.Fprintf(&b, "text{font:%dpx ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono','Liberation Mono',Consolas,monospace;fill:%s;white-space:pre}", fontSize, p.text)
	b.WriteString(".b{font-weight:700}.d{opacity:.62}.u{text-decoration:underline}.n{fill:" + p.ground + "}.r{fill:none;stroke:" + p.text + "}")
	for i, c := range p.colours {
		fmt.Fprintf(&b, ".c%d{fill:%s}.s%d{stroke:%s}", i+1, c, i+1, c)
	}
	b.WriteString(css + "</style>\n<defs>" + d.defs.String() + "</defs>\n")
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%s" height="%d" rx="8" fill="%s" stroke="%s"/>`, number(d.width()-1), height-1, p.ground, p.edge)
	fmt.Fprintf(&b, `<path d="M1 %dV9a8 8 0 0 1 8-8H%sa8 8 0 0 1 8 8V%dz" fill="%s"/>`, titleBar, number(d.width()-9), titleBar, p.bar)
	for i, c := range []int{1, 3, 2} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="15" r="5.5" fill="%s"/>`, 18+18*i, p.colours[c])
	}
	fmt.Fprintf(&b, `<text x="50%%" y="20" text-anchor="middle" class="d">%s</text>`, html.EscapeString(d.title))
	fmt.Fprintf(&b, "\n<svg width=\"%s\" height=\"%d\">%s</svg>\n</svg>\n", width, height, body)
	_, err := io.WriteString(w, b.String())
	return err
}

// block is how many lines are written once together when they look the same.
const block = 4

// frame refers to its blocks, and they to their lines.
func (d *drawing) frame(f frame) string {
	var b strings.Builder
	for from := 0; from < len(f); from += block {
		var lines strings.Builder
		for y, l := range f[from:min(from+block, len(f))] {
			for _, body := range d.line(l.trimmed()) {
				lines.WriteString(use(d.define(body), y*lineHeight))
			}
		}
		if lines.Len() > 0 {
			b.WriteString(use(d.define(lines.String()), titleBar+baseline+from*lineHeight))
		}
	}
	return b.String()
}

func use(id string, y int) string {
	if y == 0 {
		return fmt.Sprintf(`<use href="#%s"/>`, id)
	}
	return fmt.Sprintf(`<use href="#%s" y="%d"/>`, id, y)
}

// define gives the id of a piece of a line, which is written once.
func (d *drawing) define(body string) string {
	id, ok := d.ids[body]
	if !ok {
		id = "l" + strconv.FormatInt(int64(len(d.ids)), 36)
		d.ids[body] = id
		fmt.Fprintf(&d.defs, "<g id=\"%s\">%s</g>\n", id, body)
	}
	return id
}

func (d *drawing) caption(c caption) string {
	y := titleBar + d.rows*lineHeight + margin
	x := float64(margin)
	var b strings.Builder
	fmt.Fprintf(&b, `<rect x="1" y="%d" width="%s" height="%d" fill="%s"/>`, y, number(d.width()-2), captionBar-1, d.pal.bar)
	if c.key != "" {
		w := float64(text.Width(c.key))*cellWidth + 14
		fmt.Fprintf(&b, `<rect x="%s" y="%d" width="%s" height="22" rx="4" fill="%s" stroke="%s"/>`, number(x), y+6, number(w), d.pal.ground, d.pal.edge)
		fmt.Fprintf(&b, `<text x="%s" y="%d" class="b">%s</text>`, number(x+7), y+22, html.EscapeString(c.key))
		x += w + 12
	}
	fmt.Fprintf(&b, `<text x="%s" y="%d">%s</text>`, number(x), y+22, html.EscapeString(c.said))
	return b.String()
}

// line draws a line, with the baseline of its text at 0. It comes in pieces: what
// stands between vertical rules changes at times of its own.
func (d *drawing) line(l line) []string {
	p := pencil{drawing: d}
	for _, r := range l {
		cells := text.Width(r.text)
		p.fill(cells, d.ground(r.style))
		for _, part := range split(r.text) {
			p.draw(part, r.style)
		}
	}
	p.flush()
	p.cut()
	return p.done
}

// pencil draws a line from left to right.
type pencil struct {
	*drawing
	column int // of what comes next

	// The text that is laid out in one go, and where it begins.
	spans string
	from  int

	behind, over string // of the piece that is being drawn: grounds; texts and rules
	done         []string
}

func (p *pencil) x(column int) string { return number(margin + float64(column)*cellWidth) }

// fill draws what is behind the next cells.
func (p *pencil) fill(cells int, colour string) {
	if colour != "" {
		p.behind += fmt.Sprintf(`<rect x="%s" y="-%d" width="%s" height="%d" fill="%s"/>`, p.x(p.column), baseline, number(float64(cells)*cellWidth), lineHeight, colour)
	}
}

// draw draws text of one kind, as split gives it.
func (p *pencil) draw(s string, st style) {
	cells := text.Width(s)
	first, _ := utf8.DecodeRuneInString(s)
	switch _, rule := rules[first]; {
	case rule:
		p.flush()
		if first == '│' {
			p.cut()
		}
		p.rule(first, cells, st)
		p.column += cells
	case !st.underline && (long(s) || p.spans == "" && strings.TrimSpace(s) == ""):
		p.flush()
		p.column += cells
	default:
		if p.spans == "" {
			p.from = p.column
		}
		if !ascii(s) {
			p.flush() // it may come from another font, with another width
			p.from = p.column
		}
		p.spans += span(s, st)
		p.column += cells
		if !ascii(s) {
			p.flush()
		}
	}
}

// flush writes the text that was collected. It says its length, so that it ends
// where it is to end in every font.
func (p *pencil) flush() {
	if strings.TrimSpace(p.spans) != "" {
		p.over += fmt.Sprintf(`<text x="%s" textLength="%s">%s</text>`, p.x(p.from), number(float64(p.column-p.from)*cellWidth), p.spans)
	}
	p.spans = ""
}

// cut ends a piece.
func (p *pencil) cut() {
	if body := p.behind + p.over; body != "" {
		p.done = append(p.done, body)
	}
	p.behind, p.over = "", ""
}

// rules are the characters that are drawn as lines, so that they meet: the ways
// that each goes from the middle of its cell.
var rules = map[rune]string{
	'─': "lr", '│': "ud", '┌': "rd", '┐': "ld", '└': "ru", '┘': "lu", '├': "urd", '┤': "uld", '┬': "lrd", '┴': "lru", '┼': "lrud",
	'╭': "rd", '╮': "ld", '╰': "ru", '╯': "lu", '═': "LR",
}

// rule draws cells of the same rule.
func (p *pencil) rule(r rune, cells int, st style) {
	const up, down, middle = -baseline, lineHeight - baseline, -4.5 // a line of one unit, in the middle of a unit
	left, right := margin+float64(p.column)*cellWidth, margin+float64(p.column+cells)*cellWidth
	center := (left + right) / 2
	var path strings.Builder
	stroke := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&path, "M%s %sL%s %s", number(x1), number(y1), number(x2), number(y2))
	}
	switch ways := rules[r]; ways {
	case "lr":
		stroke(left, middle, right, middle)
	case "ud":
		stroke(center, up, center, down)
	case "LR":
		stroke(left, middle-2, right, middle-2)
		stroke(left, middle+1, right, middle+1)
	default:
		for _, way := range ways {
			switch way {
			case 'l':
				stroke(left, middle, center, middle)
			case 'r':
				stroke(center, middle, right, middle)
			case 'u':
				stroke(center, up, center, middle)
			case 'd':
				stroke(center, middle, center, down)
			}
		}
	}
	class := "r"
	if st.fg > 0 {
		class += " s" + strconv.Itoa(st.fg)
	}
	p.over += fmt.Sprintf(`<path class="%s" d="%s"/>`, class, path.String())
}

// split cuts a text where its kind changes: blanks that are long, ASCII, each
// rule by itself, and all else.
func split(s string) []string {
	var parts []string
	start, before := 0, rune(0)
	for i, r := range s {
		k := kindOf(s[i:], r, before)
		if i > start && (k != before || k == '│') {
			parts = append(parts, s[start:i])
			start = i
		}
		before = k
	}
	return append(parts, s[start:])
}

const longBlank = "       "

// kindOf is what a character is laid out with: ' ' in long blanks, a rule, 'a'
// for ASCII, and 'u' for all else.
func kindOf(rest string, r, before rune) rune {
	_, rule := rules[r]
	switch {
	case r == ' ' && (before == ' ' || strings.HasPrefix(rest, longBlank)):
		return ' '
	case rule:
		return r
	case r > '~':
		return 'u'
	}
	return 'a'
}

func long(s string) bool { return strings.HasPrefix(s, longBlank) }

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' }) < 0
}

func span(s string, st style) string {
	s = html.EscapeString(s)
	if c := classes(st); c != "" {
		return `<tspan class="` + c + `">` + s + "</tspan>"
	}
	return s
}

func classes(s style) string {
	var c []string
	switch {
	case s.invert:
		c = append(c, "n")
	case s.fg > 0:
		c = append(c, "c"+strconv.Itoa(s.fg))
	}
	if s.bold {
		c = append(c, "b")
	}
	if s.dim {
		c = append(c, "d")
	}
	if s.underline {
		c = append(c, "u")
	}
	return strings.Join(c, " ")
}

// ground is the colour behind a style; empty: that of the window.
func (d *drawing) ground(s style) string {
	switch {
	case s.invert && s.fg > 0:
		return d.pal.colours[s.fg-1]
	case s.invert:
		return d.pal.text
	case s.bg > 0:
		return d.pal.colours[s.bg-1]
	}
	return ""
}

// number is a number with as many decimals as it needs, two at most.
func number(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}
