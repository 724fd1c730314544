package main

import (
	"slices"
	"strconv"
	"strings"
)

// style is how a cell looks. Colours are those of a palette: 0 is the default,
// n+1 the terminal's colour n.
type style struct {
	fg, bg                       int
	bold, dim, underline, invert bool
}

// run is a piece of a line in one style.
type run struct {
	text string
	style
}

// line is a line of the screen.
type line []run

// frame is what a screen shows at one time.
type frame []line

// parse reads what tmux captured: text with SGR sequences. Styles go on from
// line to line, as tmux writes them.
func parse(capture string) frame {
	var f frame
	var s style
	for text := range strings.SplitSeq(strings.TrimSuffix(capture, "\n"), "\n") {
		var l line
		l, s = parseLine(text, s)
		f = append(f, l)
	}
	return f
}

func parseLine(text string, s style) (line, style) {
	var l line
	for text != "" {
		plain, rest, found := strings.Cut(text, "\x1b[")
		if plain != "" {
			l = append(l, run{plain, s})
		}
		if !found {
			break
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			break
		}
		if rest[end] == 'm' {
			s = s.sgr(rest[:end])
		}
		text = rest[end+1:]
	}
	return merge(l), s
}

// merge joins neighbours of the same style.
func merge(l line) line {
	var out line
	for _, r := range l {
		if n := len(out); n > 0 && out[n-1].style == r.style {
			out[n-1].text += r.text
			continue
		}
		out = append(out, r)
	}
	return out
}

// sgr is the style after the parameters of one SGR sequence (ECMA-48). Colours
// beyond the sixteen are not used by the dashboard, and are the default here.
func (s style) sgr(params string) style {
	ps := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(ps) == 0 {
		return style{}
	}
	for i := 0; i < len(ps); i++ {
		n, err := strconv.Atoi(ps[i])
		switch {
		case err != nil:
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.invert = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 24:
			s.underline = false
		case n == 27:
			s.invert = false
		case n >= 30 && n <= 37:
			s.fg = n - 30 + 1
		case n >= 90 && n <= 97:
			s.fg = n - 90 + 9
		case n == 39:
			s.fg = 0
		case n >= 40 && n <= 47:
			s.bg = n - 40 + 1
		case n >= 100 && n <= 107:
			s.bg = n - 100 + 9
		case n == 49:
			s.bg = 0
		case n == 38 || n == 48: // 5;n or 2;r;g;b
			i += skipColour(ps[i+1:])
		}
	}
	return s
}

func skipColour(ps []string) int {
	switch {
	case len(ps) > 0 && ps[0] == "5":
		return 2
	case len(ps) > 0 && ps[0] == "2":
		return 4
	}
	return 0
}

// trimmed is a line without blanks at its end that show nothing.
func (l line) trimmed() line {
	l = slices.Clone(l)
	for n := len(l); n > 0; n = len(l) {
		last := &l[n-1]
		if last.bg != 0 || last.invert || last.underline {
			break
		}
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		l = l[:n-1]
	}
	return l
}

// ansi writes a line as a terminal takes it.
func (l line) ansi() string {
	var b strings.Builder
	for _, r := range l.trimmed() {
		if r.style == (style{}) {
			b.WriteString(r.text)
			continue
		}
		b.WriteString("\x1b[" + r.params() + "m" + r.text + "\x1b[0m")
	}
	return b.String()
}

func (s style) params() string {
	var ps []string
	for _, p := range []struct {
		on   bool
		code string
	}{{s.bold, "1"}, {s.dim, "2"}, {s.underline, "4"}, {s.invert, "7"}, {s.fg > 0, colourCode(s.fg, 30)}, {s.bg > 0, colourCode(s.bg, 40)}} {
		if p.on {
			ps = append(ps, p.code)
		}
	}
	return strings.Join(ps, ";")
}

func colourCode(n, base int) string {
	if n > 8 {
		return strconv.Itoa(base + 60 + n - 9)
	}
	return strconv.Itoa(base + n - 1)
}
