package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// executionsScreen is the list of executions.
type executionsScreen struct {
	list
	marks   map[string]bool
	filter  string
	parsed  filter
	sort    int
	desc    bool
	preview bool
	all     []ranked // in order
	ordered made     // what all was made of
	made    made     // what the ids were made of
}

// made is what a list was made of: the same again needs no work.
type made struct {
	rev, sort int
	desc      bool
	filter    string
	st        *store
}

// exSorts are the orders of the list, each by a number or by a word; ties break
// by id, newest first.
var exSorts = []struct {
	name   string
	number func(e *execution) int64
	word   func(e *execution) string
}{
	{name: "age", number: func(e *execution) int64 { return -e.CreatedAt.UnixMicro() }},
	{name: "updated", number: func(e *execution) int64 { return -e.UpdatedAt.UnixMicro() }},
	{name: "status", number: func(e *execution) int64 { return int64(statusRank(e)) }},
	{name: "agent", word: func(e *execution) string { return e.AgentID }},
	{name: "step", word: func(e *execution) string { return e.step }},
}

// statusRank puts first what may need somebody.
func statusRank(e *execution) int {
	switch e.Status {
	case wire.ExecutionBlocked:
		return 0
	case wire.ExecutionFailed:
		return 1
	case wire.ExecutionRunning:
		return 2
	case wire.ExecutionPending:
		return 3
	case wire.ExecutionCancelled:
		return 4
	case wire.ExecutionCompleted:
	}
	return 5
}

func (s *executionsScreen) rows(st *store) {
	// By age the order changes only with what there is.
	rev := st.exRev
	if s.sort == 0 {
		rev = st.exSet
	}
	order := made{rev: rev, sort: s.sort, desc: s.desc, st: st}
	fresh := order != s.ordered
	if fresh {
		s.ordered = order
		s.order(st)
	}
	now := made{filter: s.filter}
	if s.filter != "" {
		now.rev = st.exRev
	}
	if !fresh && now == s.made {
		return
	}
	s.made = now
	ids := make([]string, 0, len(s.all))
	for _, r := range s.all {
		if e := st.executions[r.e.ID]; s.parsed.empty() || s.parsed.match(row{hay: e.words(), status: string(e.Status), agent: e.AgentID, target: e.step, labels: e.Labels}) {
			ids = append(ids, e.ID)
		}
	}
	for id := range s.marks {
		if st.executions[id] == nil {
			delete(s.marks, id)
		}
	}
	s.set(ids)
}

// ranked is an execution with what it is sorted by, so that the sort need not
// fetch it again and again.
type ranked struct {
	number int64
	word   string
	e      *execution
}

// order sorts all executions.
func (s *executionsScreen) order(st *store) {
	by := exSorts[s.sort]
	s.all = s.all[:0]
	for _, e := range st.executions {
		r := ranked{e: e}
		if by.word != nil {
			r.word = by.word(e)
		} else if r.number = by.number(e); s.desc {
			r.number = -r.number
		}
		s.all = append(s.all, r)
	}
	slices.SortFunc(s.all, func(a, b ranked) int {
		c := cmp.Compare(a.number, b.number)
		if c == 0 && by.word != nil {
			if c = cmp.Compare(a.word, b.word); s.desc {
				c = -c
			}
		}
		if c == 0 {
			c = cmp.Compare(b.e.ID, a.e.ID)
		}
		return c
	})
}

func (s *executionsScreen) act(m *Model, a action) tea.Cmd {
	switch a {
	case actMark:
		toggle(s.marks, s.cur)
		s.list.act(actDown)
	case actUnmark:
		clear(s.marks)
	case actSort:
		s.sort = (s.sort + 1) % len(exSorts)
	case actReverse:
		s.desc = !s.desc
	case actPreview:
		s.preview = !s.preview
	case actOpen:
		return m.openDetail(s.cur)
	case actDiverge:
		ids := slices.Sorted(maps.Keys(s.marks))
		return m.openDiverge([2]string{ids[0], ids[1]})
	default:
		s.list.act(a)
	}
	return nil
}

func (s *executionsScreen) side(w int) bool { return s.preview && w >= 120 && s.cur != "" }

func (s *executionsScreen) arrange(m *Model, _, h int) {
	s.rows(m.st)
	s.size(h - 1)
}

func (s *executionsScreen) about(m *Model) string {
	total := len(m.st.executions)
	loaded := "all loaded"
	switch {
	case !m.st.exLoaded:
		loaded = "loading"
	case !m.st.exAll:
		loaded = fmt.Sprintf("newest %d loaded", total)
	}
	if s.filter != "" {
		return fmt.Sprintf("filter %s: %d of %d (%s)", text.Clean(s.filter), len(s.ids), total, loaded)
	}
	return fmt.Sprintf("%s (%s)", plural(total, "execution"), loaded)
}

func (s *executionsScreen) draw(m *Model, w, h int) []string {
	if len(s.ids) == 0 {
		return s.empty(m, w)
	}
	lw := w
	if s.side(w) {
		lw = w * 60 / 100
	}
	cols := exColumns(lw, lw < w)
	left := []string{m.th.paint(tokDim, cols.header(exSorts[s.sort].name, s.desc))}
	for _, id := range s.window() {
		left = append(left, s.row(m, m.st.executions[id], cols, lw))
	}
	if lw == w {
		return left
	}
	return beside(&m.th, left, s.drawPreview(m, w-lw-3, h), lw, h)
}

func (s *executionsScreen) empty(m *Model, w int) []string {
	switch {
	case !m.st.exLoaded && !m.conn.online():
		return center(w, "Nothing was heard of the server yet.")
	case !m.st.exLoaded:
		return center(w, "Asking …")
	case s.filter != "":
		return center(w, fmt.Sprintf("0 of %d match; esc clears the filter", len(m.st.executions)))
	}
	return center(w, "No executions. Try ("+m.keys.name(actCopy)+" i copies it):", tryCreate)
}

// tryCreate is what the empty list of executions proposes.
const tryCreate = "kernelctl ex create --agent demo --input '{}'"

func exColumns(w int, side bool) columns {
	switch {
	case side && w < 110: // the preview has the labels
		return newColumns(w, col{"id", 8}, col{"agent", 14}, col{"status", 10}, col{"step", -1}, col{"age", 5}, col{"updated", 9}, col{"deadline", 9})
	case w >= 100:
		return newColumns(w, col{"id", 8}, col{"agent", 16}, col{"status", 10}, col{"step", 20}, col{"age", 5}, col{"updated", 9}, col{"deadline", 9}, col{"labels", -1})
	case w >= 84:
		return newColumns(w, col{"id", 8}, col{"agent", 16}, col{"status", 10}, col{"step", 18}, col{"age", 5}, col{"updated", 9}, col{"labels", -1})
	}
	return newColumns(w, col{"id", 8}, col{"agent", 12}, col{"status", 10}, col{"age", 5}, col{"updated", 9}, col{"step", -1})
}

func (s *executionsScreen) row(m *Model, e *execution, cols columns, w int) string {
	if e == nil {
		return ""
	}
	now := m.serverNow()
	selected := e.ID == s.cur
	line := cols.line(marker(selected, s.marks[e.ID]), func(name string) string {
		switch name {
		case "id":
			return short(e.ID)
		case "agent":
			return text.Clean(e.AgentID)
		case "status":
			if selected {
				return string(e.Status)
			}
			return m.th.paint(execToken(e.Status), string(e.Status))
		case "step":
			return m.st.doing(e)
		case "age":
			return ago(now.Sub(e.CreatedAt.Time))
		case "updated":
			return ago(now.Sub(e.UpdatedAt.Time))
		case "deadline":
			if e.DeadlineAt != nil && !e.Status.Terminal() {
				return left(e.DeadlineAt.Sub(now))
			}
		case "labels":
			return labels(e.Labels)
		}
		return ""
	})
	if line = text.Fit(line, w); selected {
		return m.th.selected(line)
	}
	return line
}

func labels(l map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(l)) {
		parts = append(parts, k+"="+l[k])
	}
	return text.Clean(strings.Join(parts, " "))
}

func (s *executionsScreen) drawPreview(m *Model, w, h int) []string {
	e := m.st.executions[s.cur]
	if e == nil {
		return nil
	}
	now := m.serverNow()
	out := []string{ruleLine(&m.th, short(e.ID), string(e.Status), w)}
	add := func(name, value string) {
		if value == "" {
			return
		}
		for i, piece := range text.Words(text.Clean(value), max(w-12, 10)) {
			if i > 0 {
				name = ""
			}
			out = append(out, " "+text.Fit(name, 10)+" "+piece)
		}
	}
	add("id", e.ID)
	add("agent", e.AgentID)
	add("status", string(e.Status)+" since "+ago(now.Sub(e.UpdatedAt.Time)))
	add("reason", e.FailureReason)
	add("step", m.st.doing(e))
	add("created", e.CreatedAt.Local().Format("2006-01-02 15:04:05"))
	if e.DeadlineAt != nil {
		add("deadline", left(e.DeadlineAt.Sub(now)))
	}
	add("labels", labels(e.Labels))
	add("events", fmt.Sprint(e.LastEventSeq))
	if a := m.st.waiting(e.ID); a != nil {
		out = append(append(out, ""), m.card(a, w)...)
	}
	return fill(out, h)
}
