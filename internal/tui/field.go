package tui

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// field is one line of text that a person edits.
type field struct {
	runes []rune
	at    int
	limit int // of runes; 0: 500
}

func newField(s string) field {
	r := []rune(s)
	return field{runes: r, at: len(r)}
}

func (f *field) value() string { return strings.TrimSpace(string(f.runes)) }

func (f *field) set(s string) { f.runes = []rune(s); f.at = len(f.runes) }

// key edits; false when the key is none of its own.
func (f *field) key(k tea.KeyMsg) bool {
	switch k.String() {
	case "left", "ctrl+b":
		f.at = max(f.at-1, 0)
	case "right", "ctrl+f":
		f.at = min(f.at+1, len(f.runes))
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.runes)
	case "backspace", "ctrl+h":
		f.cut(f.at-1, f.at)
	case "delete", "ctrl+d":
		f.cut(f.at, f.at+1)
	case "ctrl+u":
		f.cut(0, f.at)
	case "ctrl+k":
		f.cut(f.at, len(f.runes))
	case "ctrl+w":
		i := f.at
		for i > 0 && f.runes[i-1] == ' ' {
			i--
		}
		for i > 0 && f.runes[i-1] != ' ' {
			i--
		}
		f.cut(i, f.at)
	default:
		if (k.Type != tea.KeyRunes && k.Type != tea.KeySpace) || k.Alt {
			return false
		}
		f.insert(k.Runes)
	}
	return true
}

func (f *field) cut(from, to int) {
	from, to = max(from, 0), min(to, len(f.runes))
	if from >= to {
		return
	}
	f.runes = append(f.runes[:from:from], f.runes[to:]...)
	f.at = from
}

func (f *field) insert(rs []rune) {
	limit := f.limit
	if limit == 0 {
		limit = 500
	}
	var in []rune
	for _, r := range rs {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if !unicode.IsControl(r) {
			in = append(in, r)
		}
	}
	if room := limit - len(f.runes); len(in) > room {
		in = in[:max(room, 0)]
	}
	rest := append([]rune{}, f.runes[f.at:]...)
	f.runes = append(append(f.runes[:f.at:f.at], in...), rest...)
	f.at += len(in)
}

// view shows the part around the cursor in w cells; the cursor only when it is
// focused.
func (f *field) view(th *theme, w int, focused bool) string {
	if !focused {
		return text.Fit(text.Clean(string(f.runes)), w)
	}
	before, under, after := text.Clean(string(f.runes[:f.at])), " ", ""
	if f.at < len(f.runes) {
		under, after = text.Clean(string(f.runes[f.at:f.at+1])), text.Clean(string(f.runes[f.at+1:]))
	}
	if text.Width(under) == 0 {
		under = " "
	}
	for text.Width(before)+text.Width(under) > w && before != "" {
		before = string([]rune(before)[1:])
	}
	cursor := th.paint(tokSel, under)
	if th.sgr[tokSel] == "" {
		cursor = "_"
	}
	used := text.Width(before) + text.Width(under)
	return before + cursor + text.Fit(after, max(w-used, 0))
}
