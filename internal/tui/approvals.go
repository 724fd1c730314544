package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// approvalsScreen is the inbox.
type approvalsScreen struct {
	list
	marks   map[string]bool
	filter  string
	parsed  filter
	sort    int
	desc    bool
	preview bool
	onText  bool    // keys go to the arguments in the preview
	args    docView // of the selected one
	argsAt  int     // the line of the preview that they begin at
	about   aboutMsg
	wanted  string // the approval that about was asked for
}

// apSorts are the orders of the inbox; ties break by id.
var apSorts = []struct {
	name string
	cmp  func(a, b *approval) int
}{
	{"left", func(a, b *approval) int { return a.TimeoutAt.Compare(b.TimeoutAt.Time) }},
	{"age", func(a, b *approval) int { return b.CreatedAt.Compare(a.CreatedAt.Time) }},
	{"agent", func(a, b *approval) int { return cmp.Compare(a.AgentID, b.AgentID) }},
	{"target", func(a, b *approval) int { return cmp.Compare(a.Target, b.Target) }},
	{"rule", func(a, b *approval) int { return cmp.Compare(a.RuleID, b.RuleID) }},
}

// rows makes the ids that are shown: what is pending, and the selected one
// until the cursor leaves it.
func (s *approvalsScreen) rows(st *store) {
	var rows []*approval
	for id, a := range st.approvals {
		if !a.pending() {
			delete(s.marks, id)
			if id != s.cur {
				continue
			}
		}
		if s.parsed.match(row{hay: a.hay, status: string(a.Status), agent: a.AgentID, rule: a.RuleID, target: a.Target}) {
			rows = append(rows, a)
		}
	}
	by := apSorts[s.sort].cmp
	slices.SortFunc(rows, func(a, b *approval) int {
		c := by(a, b)
		if s.desc {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.ID, b.ID))
	})
	for id := range s.marks {
		if st.approvals[id] == nil {
			delete(s.marks, id)
		}
	}
	ids := make([]string, len(rows))
	for i, a := range rows {
		ids[i] = a.ID
	}
	s.set(ids)
}

// selected is the row under the cursor.
func (s *approvalsScreen) selected(st *store) *approval { return st.approvals[s.cur] }

func (s *approvalsScreen) act(m *Model, a action) tea.Cmd {
	switch a {
	case actPane, actPaneBack:
		s.onText = !s.onText && s.preview
	case actRight:
		if !s.onText {
			s.onText = s.preview
		} else {
			s.args.act(a)
		}
	case actLeft:
		s.onText = s.onText && s.args.act(a)
	case actNext, actPrev:
		s.args.act(a)
	case actMark:
		if x := s.selected(m.st); x != nil && x.pending() {
			toggle(s.marks, x.ID)
			s.list.act(actDown)
		}
	case actMarkSame:
		if x := s.selected(m.st); x != nil {
			for _, id := range s.ids {
				if y := m.st.approvals[id]; y != nil && y.pending() && same(x, y) {
					s.marks[id] = true
				}
			}
		}
	case actUnmark:
		clear(s.marks)
	case actSort:
		s.sort = (s.sort + 1) % len(apSorts)
	case actReverse:
		s.desc = !s.desc
	case actPreview:
		s.preview = !s.preview
		s.onText = false
	case actOpen:
		if s.onText {
			s.args.act(a)
		} else if x := s.selected(m.st); x != nil {
			return m.openDetail(x.ExecutionID)
		}
	default:
		if s.onText {
			s.args.act(a)
		} else {
			s.list.act(a)
		}
	}
	return nil
}

// subjects are what a decision is about: all marked rows in their order, or the
// selected one.
func (s *approvalsScreen) subjects(st *store) []approval {
	var out []approval
	for _, id := range s.ids {
		if a := st.approvals[id]; s.marks[id] && a != nil && a.pending() {
			out = append(out, *a)
		}
	}
	// Marks that the filter hides count as well: they are listed in the modal.
	for id := range s.marks {
		if a := st.approvals[id]; a != nil && a.pending() && !slices.Contains(s.ids, id) {
			out = append(out, *a)
		}
	}
	if len(out) == 0 {
		if a := s.selected(st); a != nil && a.pending() {
			out = append(out, *a)
		}
	}
	return out
}

func same(a, b *approval) bool {
	return a.AgentID == b.AgentID && a.Target == b.Target && a.RuleID == b.RuleID
}

func toggle(marks map[string]bool, id string) {
	if marks[id] {
		delete(marks, id)
	} else {
		marks[id] = true
	}
}

// apLayout is how the inbox shares its room.
type apLayout struct {
	list, preview int // lines
	listW, prevW  int
	side          bool
}

func (s *approvalsScreen) layout(w, h int) apLayout {
	switch {
	case !s.preview || len(s.ids) == 0 || h < 9:
		return apLayout{list: h - 1, listW: w}
	case w >= 120:
		lw := w * 60 / 100
		return apLayout{list: h - 1, preview: h, listW: lw, prevW: w - lw - 3, side: true}
	}
	n := max(min(len(s.ids)+2, h/2), 4)
	return apLayout{list: n - 1, preview: h - n, listW: w, prevW: w}
}

// arrange sizes the parts.
func (s *approvalsScreen) arrange(m *Model, w, h int) {
	s.rows(m.st)
	l := s.layout(w, h)
	s.size(l.list)
	a := s.selected(m.st)
	if a == nil || l.preview == 0 {
		s.onText = false
	}
	if a == nil {
		return
	}
	s.args.wrap = true
	s.args.show(a.ID, func() doc { return newDoc(a.Args) })
	if l.preview == 0 {
		return
	}
	s.args.size(l.prevW, 0)
	s.argsAt = len(m.card(a, l.prevW)) + 1
	room := l.preview - s.argsAt
	if l.side && len(s.args.rows) > room/2 {
		room -= min(len(m.aboutExecution(a, l.prevW)), room/2)
	}
	s.args.size(l.prevW, min(room, len(s.args.rows)))
}

func (s *approvalsScreen) draw(m *Model, w, h int) []string {
	l := s.layout(w, h)
	if len(s.ids) == 0 {
		return s.empty(m, w)
	}
	cols := apColumns(l.listW, l.side)
	left := []string{m.th.paint(tokDim, cols.header(apSorts[s.sort].name, s.desc))}
	for _, id := range s.window() {
		left = append(left, s.row(m, m.st.approvals[id], cols, l.listW))
	}
	if l.preview == 0 {
		return left
	}
	right := s.drawPreview(m, l.prevW, l.preview)
	if l.side {
		return beside(&m.th, left, right, l.listW, h)
	}
	return append(fill(left, h-l.preview), right...)
}

func (s *approvalsScreen) empty(m *Model, w int) []string {
	n, running := len(m.st.approvals), 0
	for _, e := range m.st.executions {
		if e.Status == wire.ExecutionRunning {
			running++
		}
	}
	switch {
	case !m.st.apLoaded && !m.conn.online():
		return center(w, "Nothing was heard of the server yet.")
	case !m.st.apLoaded:
		return center(w, "Asking …")
	case s.filter != "":
		return center(w, fmt.Sprintf("0 of %d match; esc clears the filter", n))
	}
	return center(w, fmt.Sprintf("Nothing waits for you. %d running. New ones appear here.", running))
}

func apColumns(w int, side bool) columns {
	switch {
	case side: // the preview has the arguments
		return newColumns(w, col{"left", 8}, col{"target", 18}, col{"agent", 12}, col{"rule", 14}, col{"execution", 9}, col{"age", 4}, col{"approvers", -1})
	case w >= 100:
		return newColumns(w, col{"left", 8}, col{"target", 20}, col{"agent", 14}, col{"rule", 16}, col{"execution", 9}, col{"age", 4}, col{"approvers", 14}, col{"args", -1})
	case w >= 78:
		return newColumns(w, col{"left", 8}, col{"target", 14}, col{"agent", 11}, col{"rule", 12}, col{"execution", 9}, col{"args", -1})
	}
	return newColumns(w, col{"left", 8}, col{"target", 16}, col{"agent", 10}, col{"execution", 9}, col{"args", -1})
}

func (s *approvalsScreen) row(m *Model, a *approval, cols columns, w int) string {
	if a == nil {
		return ""
	}
	d := a.TimeoutAt.Sub(m.serverNow())
	lft := left(d)
	urgent := d < time.Minute
	if urgent {
		lft += "!"
	}
	if !a.pending() {
		lft = string(a.Status)
	}
	line := cols.line(marker(a.ID == s.cur, s.marks[a.ID]), func(name string) string {
		switch name {
		case "left":
			return lft
		case "target":
			return text.Clean(a.Target)
		case "agent":
			return text.Clean(a.AgentID)
		case "rule":
			return text.Clean(a.RuleID)
		case "execution":
			return short(a.ExecutionID)
		case "age":
			return ago(m.serverNow().Sub(a.CreatedAt.Time))
		case "approvers":
			return approvers(a)
		case "args":
			if a.odd {
				return "! " + a.line
			}
			return a.line
		}
		return ""
	})
	line = text.Fit(line, w)
	switch {
	case a.ID == s.cur:
		return m.th.selected(line)
	case urgent:
		return m.th.paint(tokBold, line)
	}
	return line
}

func approvers(a *approval) string {
	if len(a.Approvers) == 0 {
		return "any"
	}
	return text.Clean(strings.Join(a.Approvers, ","))
}

// marker is what stands in front of a row.
func marker(selected, marked bool) string {
	switch {
	case selected && marked:
		return ">*"
	case selected:
		return "> "
	case marked:
		return " *"
	}
	return "  "
}
