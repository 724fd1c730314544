package tui

import "slices"

// list is a window on rows that are named by ids. The selection is an id: what
// comes and goes around it never moves it, and never moves its line on the
// screen but for the first row.
type list struct {
	ids []string
	cur string
	at  int // index of cur
	top int // index of the first line of the window
	h   int // lines of the window
}

// set replaces the rows.
func (l *list) set(ids []string) {
	line := l.at - l.top
	l.ids = ids
	i := l.at
	if i >= len(ids) || ids[i] != l.cur {
		i = slices.Index(ids, l.cur)
	}
	if i < 0 { // gone: the one in its place
		i = min(l.at, max(len(ids)-1, 0))
	}
	l.at = i
	l.cur = ""
	if i < len(ids) {
		l.cur = ids[i]
	}
	l.top = l.at - line
	l.clamp()
}

// size sets the height of the window.
func (l *list) size(h int) {
	l.h = max(h, 0)
	l.clamp()
}

func (l *list) clamp() {
	h := max(l.h, 1)
	if l.at < l.top {
		l.top = l.at
	}
	if l.at >= l.top+h {
		l.top = l.at - h + 1
	}
	l.top = max(min(l.top, len(l.ids)-h), 0)
}

// to selects the row at an index.
func (l *list) to(i int) {
	if len(l.ids) == 0 {
		return
	}
	l.at = min(max(i, 0), len(l.ids)-1)
	l.cur = l.ids[l.at]
	l.clamp()
}

// pick selects the row with an id.
func (l *list) pick(id string) bool {
	i := slices.Index(l.ids, id)
	if i >= 0 {
		l.to(i)
	}
	return i >= 0
}

// act moves the cursor; false when the action is no move.
func (l *list) act(a action) bool {
	switch a {
	case actUp:
		l.to(l.at - 1)
	case actDown:
		l.to(l.at + 1)
	case actPageUp:
		l.to(l.at - max(l.h-1, 1))
	case actPageDown:
		l.to(l.at + max(l.h-1, 1))
	case actHalfUp:
		l.to(l.at - max(l.h/2, 1))
	case actHalfDown:
		l.to(l.at + max(l.h/2, 1))
	case actTop:
		l.to(0)
	case actBottom:
		l.to(len(l.ids) - 1)
	default:
		return false
	}
	return true
}

// window is the part of the rows that is drawn.
func (l *list) window() []string {
	return l.ids[min(l.top, len(l.ids)):min(l.top+l.h, len(l.ids))]
}
