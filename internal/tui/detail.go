package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// pane is a part of the screen of an execution.
type pane int

// The panes, in the order of tab.
const (
	paneEvents pane = iota
	paneCard        // the selected event or step
	paneSteps
	paneStream
	paneIO
)

// eventRow is an event with what its row shows.
type eventRow struct {
	wire.Event
	detail string // clean
	step   string
	hay    string
}

func newEventRow(e wire.Event) eventRow {
	r := eventRow{Event: e}
	r.detail, r.step = describe(e)
	r.hay = strings.ToLower(string(e.Type) + " " + r.detail + " " + r.step)
	return r
}

// The limits of what is kept of one execution.
const (
	maxEvents = 20000
	maxOutput = 64 << 10 // bytes of live output
)

// detailScreen is one execution: its events as they come, its steps, its live
// output, its input and output.
type detailScreen struct {
	id     string
	tail   *source
	stream *source

	x       wire.Execution
	loaded  bool
	problem string

	events  []eventRow
	first   int64 // seq of events[0]
	dropped int64
	evs     list
	filter  string
	parsed  filter

	steps      []wire.Step
	sts        list
	stepsAsked bool
	stepsAgain bool
	execAsked  bool
	execAgain  bool

	output   []byte // live, not stored
	outSeq   map[string]int64
	outOf    string
	heardOut int // batches of it

	card, out, io docView
	focus, base   pane
	zoom, follow  bool
}

// detailMsg is an answer for the screen of an execution.
type detailMsg struct {
	of    *detailScreen
	x     *wire.Execution
	steps []wire.Step
	err   error
}

type (
	eventsMsg []eventRow
	deltasMsg []wire.StreamDelta
)

// endedMsg tells that a tail ended, and why.
type endedMsg struct{ err error }

// startDetail opens the screen of an execution.
func (m *Model) startDetail(id string) tea.Cmd {
	s := &detailScreen{id: id, follow: true, outSeq: map[string]int64{}}
	m.de = s
	s.tail = m.life.open(runTail(m.life, m.place.Client, id, 0))
	s.stream = m.life.open(runStream(m.life, m.place.Client, id))
	return tea.Batch(s.tail.listen(), s.stream.listen(), s.ask(m))
}

func (s *detailScreen) owns(f *source) bool { return f == s.tail || f == s.stream }

func (s *detailScreen) close() {
	if s != nil {
		s.tail.close()
		s.stream.close()
	}
}

// again opens the tails anew where they were: connections do not survive a
// sleep of the machine, and do not always know it.
func (s *detailScreen) again(m *Model) tea.Cmd {
	s.close()
	after := s.first + int64(len(s.events)) - 1
	if len(s.events) == 0 {
		after = 0
	}
	s.tail = m.life.open(runTail(m.life, m.place.Client, s.id, after))
	s.stream = m.life.open(runStream(m.life, m.place.Client, s.id))
	return tea.Batch(s.tail.listen(), s.stream.listen(), s.ask(m))
}

func runTail(l *life, c Client, id string, after int64) func(context.Context, *source) {
	return func(ctx context.Context, s *source) {
		in := make(chan eventRow, batchLimit)
		l.safely(s, func() { batch(ctx, in, func(rows []eventRow) { s.send(eventsMsg(rows)) }) })
		err := c.TailEvents(ctx, id, client.TailOptions{AfterSeq: after}, func(e wire.Event) error {
			return put(ctx, in, newEventRow(e))
		})
		s.send(endedMsg{err})
	}
}

func runStream(l *life, c Client, id string) func(context.Context, *source) {
	return func(ctx context.Context, s *source) {
		in := make(chan wire.StreamDelta, batchLimit)
		l.safely(s, func() { batch(ctx, in, func(ds []wire.StreamDelta) { s.send(deltasMsg(ds)) }) })
		// Its errors are those of the tail as well, which shows them.
		_, _ = c.Stream(ctx, id, nil, func(d wire.StreamDelta) error { return put(ctx, in, d) })
	}
}

// ask reads the execution and its steps.
func (s *detailScreen) ask(m *Model) tea.Cmd { return tea.Batch(s.askExecution(m), s.askSteps(m)) }

func (s *detailScreen) askExecution(m *Model) tea.Cmd {
	if s.execAsked {
		s.execAgain = true
		return nil
	}
	s.execAsked, s.execAgain = true, false
	c := m.place.Client
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		x, err := c.GetExecution(ctx, s.id)
		return detailMsg{of: s, x: &x, err: err}
	})
}

func (s *detailScreen) askSteps(m *Model) tea.Cmd {
	if s.stepsAsked {
		s.stepsAgain = true
		return nil
	}
	s.stepsAsked, s.stepsAgain = true, false
	c := m.place.Client
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		steps, err := c.ListSteps(ctx, s.id, "")
		if steps == nil {
			steps = []wire.Step{}
		}
		return detailMsg{of: s, steps: steps, err: err}
	})
}

// got takes an answer.
func (s *detailScreen) got(m *Model, msg detailMsg) tea.Cmd {
	var again tea.Cmd
	if msg.x != nil {
		s.execAsked = false
		if s.execAgain {
			again = s.askExecution(m)
		}
	} else {
		s.stepsAsked = false
		if s.stepsAgain {
			again = s.askSteps(m)
		}
	}
	if msg.err != nil {
		if client.StatusOf(msg.err) == 404 {
			s.problem = "there is no such execution"
			return nil
		}
		m.good(msg.err)
		return again
	}
	m.good(nil)
	if msg.x != nil {
		s.x, s.loaded = *msg.x, true
		m.st.putExecution(*msg.x)
		return again
	}
	s.steps = msg.steps
	ids := make([]string, len(s.steps))
	for i, st := range s.steps {
		ids[i] = st.StepID
	}
	last := s.follow && s.sts.at >= len(s.sts.ids)-1
	s.sts.set(ids)
	if last && s.focus != paneSteps {
		s.sts.to(len(ids) - 1)
	}
	return again
}

// heard takes what the tails tell.
func (s *detailScreen) heard(m *Model, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case eventsMsg:
		m.conn.good(m.now())
		return s.add(m, msg)
	case deltasMsg:
		s.hear(msg)
	case endedMsg:
		if client.StatusOf(msg.err) == 404 {
			s.problem = "there is no such execution"
		}
	}
	return nil
}

// add takes new events.
func (s *detailScreen) add(m *Model, rows []eventRow) tea.Cmd {
	steps, exec := false, false
	for _, r := range rows {
		switch family(r.Type) {
		case "step", "approval":
			steps = true
		case "execution":
			exec = true
		}
	}
	if len(s.events) == 0 && len(rows) > 0 {
		s.first = rows[0].EventSeq
	}
	s.events = append(s.events, rows...)
	if n := len(s.events) - maxEvents; n > maxEvents/10 {
		s.events = slices.Clone(s.events[n:])
		s.first, s.dropped = s.events[0].EventSeq, s.dropped+int64(n)
		s.list()
	} else {
		ids := s.evs.ids
		for i := range rows {
			if s.parsed.empty() || s.matches(&rows[i]) {
				ids = append(ids, strconv.FormatInt(rows[i].EventSeq, 10))
			}
		}
		s.evs.set(ids)
	}
	if s.follow {
		s.evs.to(len(s.evs.ids) - 1)
	}
	var cmds []tea.Cmd
	if steps {
		cmds = append(cmds, s.askSteps(m))
	}
	if exec {
		cmds = append(cmds, s.askExecution(m))
	}
	return tea.Batch(cmds...)
}

func (s *detailScreen) matches(r *eventRow) bool {
	return s.parsed.match(row{hay: r.hay, status: string(r.Type), target: r.detail, rule: r.detail})
}

func (s *detailScreen) setFilter(f string) {
	s.filter, s.parsed = f, parseFilter(f)
	s.list()
}

// list makes the rows of the events anew.
func (s *detailScreen) list() {
	ids := make([]string, 0, len(s.events))
	for i := range s.events {
		if s.parsed.empty() || s.matches(&s.events[i]) {
			ids = append(ids, strconv.FormatInt(s.events[i].EventSeq, 10))
		}
	}
	s.evs.set(ids)
}

// event is the one with a seq.
func (s *detailScreen) event(id string) *eventRow {
	seq, err := strconv.ParseInt(id, 10, 64)
	if i := seq - s.first; err == nil && i >= 0 && i < int64(len(s.events)) {
		return &s.events[i]
	}
	return nil
}

func (s *detailScreen) step(id string) *wire.Step {
	for i := range s.steps {
		if s.steps[i].StepID == id {
			return &s.steps[i]
		}
	}
	return nil
}

// hear takes live output.
func (s *detailScreen) hear(ds []wire.StreamDelta) {
	s.heardOut++
	for _, d := range ds {
		if d.StepID != s.outOf {
			if len(s.output) > 0 {
				s.output = append(s.output, '\n')
			}
			s.output = append(s.output, "--- step "+short(d.StepID)+" ---\n"...)
			s.outOf = d.StepID
		}
		if last, ok := s.outSeq[d.StepID]; ok && d.Seq > last+1 {
			s.output = append(s.output, "\n[lost "+strconv.FormatInt(d.Seq-last-1, 10)+"]\n"...)
		}
		s.outSeq[d.StepID] = d.Seq
		s.output = append(s.output, d.Data...)
	}
	if n := len(s.output) - maxOutput; n > 0 {
		s.output = append([]byte("[earlier output left out]\n"), s.output[n:]...)
	}
}

// act does what a key means in the pane that has the focus.
func (s *detailScreen) act(a action) {
	switch a {
	case actEvents:
		s.turn(paneEvents)
	case actSteps:
		s.turn(paneSteps)
	case actStream:
		s.turn(paneStream)
	case actInput:
		s.turn(paneIO)
	case actPane:
		s.turn((s.focus + 1) % (paneIO + 1))
	case actPaneBack:
		s.turn((s.focus + paneIO) % (paneIO + 1))
	case actZoom:
		s.zoom = !s.zoom
	case actFollow:
		if s.follow = !s.follow; s.follow {
			s.evs.to(len(s.evs.ids) - 1)
		}
	case actJump:
		s.jump()
	default:
		s.move(a)
	}
}

// turn gives a pane the focus.
func (s *detailScreen) turn(p pane) {
	s.focus = p
	if p != paneCard {
		s.base = p
	} else if s.base != paneSteps {
		s.base = paneEvents
	}
}

// stepOut leaves the card; false when the focus was not there.
func (s *detailScreen) stepOut() bool {
	if s.focus != paneCard {
		return false
	}
	s.turn(s.base)
	return true
}

func (s *detailScreen) move(a action) {
	if v := s.text(); v != nil {
		if !v.act(a) && (a == actLeft || a == actRight) {
			s.sideways(a)
		}
		return
	}
	l := &s.evs
	if s.focus == paneSteps {
		l = &s.sts
	}
	switch {
	case a == actOpen:
		s.turn(paneCard)
	case a == actLeft || a == actRight:
		s.sideways(a)
	case l.act(a) && l == &s.evs:
		s.follow = l.at == len(l.ids)-1
	}
}

func (s *detailScreen) sideways(a action) {
	if a == actRight {
		s.turn((s.focus + 1) % (paneIO + 1))
	} else {
		s.turn((s.focus + paneIO) % (paneIO + 1))
	}
}

// text is the text of the pane that has the focus; nil when that is a list.
func (s *detailScreen) text() *docView {
	switch s.focus {
	case paneCard:
		return &s.card
	case paneStream:
		return &s.out
	case paneIO:
		return &s.io
	case paneEvents, paneSteps:
	}
	return nil
}

// jumps reports whether there is somewhere to jump to.
func (s *detailScreen) jumps() bool {
	if s.base == paneSteps {
		return s.sts.cur != "" && slices.ContainsFunc(s.events, func(e eventRow) bool { return e.step == s.sts.cur })
	}
	e := s.event(s.evs.cur)
	return s.base == paneEvents && e != nil && s.step(e.step) != nil
}

// jump goes from a step to its first event, and from an event to its step.
func (s *detailScreen) jump() {
	if s.base == paneSteps {
		for i := range s.events {
			if s.events[i].step == s.sts.cur && s.evs.pick(strconv.FormatInt(s.events[i].EventSeq, 10)) {
				s.follow = false
				s.turn(paneEvents)
				return
			}
		}
		return
	}
	if e := s.event(s.evs.cur); e != nil && s.sts.pick(e.step) {
		s.turn(paneSteps)
	}
}

func (s *detailScreen) copyText(what string) string {
	if s.base == paneSteps {
		if st := s.step(s.sts.cur); st != nil {
			return pick(what, st.StepID, s.id, st.StepID, st.Args, *st)
		}
	}
	if e := s.event(s.evs.cur); e != nil && s.base == paneEvents {
		var args []byte
		if st := s.step(e.step); st != nil {
			args = st.Args
		}
		return pick(what, e.ID, s.id, e.step, args, e.Event)
	}
	return pick(what, s.id, s.id, "", s.x.Input, s.x)
}
