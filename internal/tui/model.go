package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// screenID names a screen.
type screenID int

// The screens. The first four have a tab.
const (
	scrApprovals screenID = iota
	scrExecutions
	scrAgents
	scrMetrics
	scrDetail
	scrDiverge
)

var screenNames = [...]string{"approvals", "executions", "agents", "metrics", "detail", "diverge"}

// Model is the whole dashboard. It implements tea.Model.
type Model struct {
	opt    Options
	place  Place
	gen    int // of the place: answers of another one are dropped
	life   *life
	keys   keymap
	th     theme
	color  bool
	now    func() time.Time
	offset time.Duration // of the service's clock
	w, h   int

	st   *store
	feed *source
	conn conn

	screen screenID
	ap     approvalsScreen
	ex     executionsScreen
	de     *detailScreen
	ag     agentsScreen
	me     metricsScreen
	dv     *divergeScreen
	hist   history

	modal    modal
	prompt   *prompt
	chord    bool // y was pressed
	toast    toast
	log      []string // of the last errors
	file     *journal // keeps them; nil: nowhere
	titled   string   // of the window
	recalled string   // the screen of last time
	tty      struct { // for programs that the dashboard starts; nil: what the framework gives them
		in, out *os.File
	}

	approvalsAsked, approvalsAgain bool
	blurred                        bool
	belled                         time.Time
	ticked, started                time.Time
	mouse                          bool
	quitting                       bool
}

// modal takes all keys while it is there.
type modal interface {
	key(m *Model, k tea.KeyMsg) tea.Cmd
	view(m *Model, w, h int) []string
}

// toast is a line that goes away by itself.
type toast struct {
	line  string
	bad   bool
	until time.Time
}

// tickMsg moves the clock.
type tickMsg time.Time

// NewModel is a dashboard that has heard nothing yet. What it starts ends with
// ctx.
func NewModel(ctx context.Context, p Place, o Options, color bool) (*Model, error) {
	keys, err := newKeymap(o.Keys)
	if err != nil {
		return nil, err
	}
	th, err := newTheme(o.Theme, o.Borders, color)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Model{
		opt: o, place: p, keys: keys, th: th, color: color, now: o.Now, mouse: o.Mouse,
		life: &life{ctx: ctx}, st: newStore(),
	}
	m.started = m.now()
	m.conn.since = m.started
	m.ap.marks, m.ex.marks = map[string]bool{}, map[string]bool{}
	m.ap.preview, m.ex.preview = true, true
	for i, name := range screenNames[:scrDetail] {
		if o.Screen == name {
			m.screen = screenID(i)
		}
	}
	if o.Screen != "" && screenNames[m.screen] != o.Screen {
		return nil, fmt.Errorf("screen %q: want one of %s", o.Screen, strings.Join(screenNames[:scrDetail], ", "))
	}
	m.hist.note(m.spot())
	return m, nil
}

// Init starts to listen.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(m.connect(), m.life.tick(), m.entitle(), m.enter())
}

// tick comes once a second.
func (l *life) tick() tea.Cmd {
	if l.still {
		return nil
	}
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// connect opens the feed anew, and asks for everything.
func (m *Model) connect() tea.Cmd {
	m.feed.close()
	m.approvalsAsked = false
	m.feed = m.life.open(runFeed(m.life, m.place.Client))
	return tea.Batch(m.feed.listen(), m.askHealth())
}

// Update takes one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmds := []tea.Cmd{m.take(msg), m.ap.want(m), m.entitle()}
	return m, tea.Batch(cmds...)
}

func (m *Model) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		m.arrange()
		return nil
	case tea.KeyMsg:
		return m.typed(msg)
	case tea.MouseMsg:
		cmd := m.mouseAt(msg)
		m.arrange()
		return cmd
	case tea.FocusMsg:
		m.blurred = false
		return nil
	case tea.BlurMsg:
		m.blurred = true
		return nil
	case tickMsg:
		return tea.Batch(m.life.tick(), m.second())
	case sourceMsg:
		return m.heard(msg)
	case failMsg:
		m.fail(msg.err)
		return nil
	}
	cmd := m.answer(msg)
	m.arrange()
	return cmd
}

// maxTyped is how many letters that arrive at once are still taken for keys:
// more are a paste of a terminal that does not say so.
const maxTyped = 32

// typed takes a message of the keyboard. Letters that arrived together, as they
// do over a slow line, are keys of their own.
func (m *Model) typed(k tea.KeyMsg) tea.Cmd {
	if k.Type != tea.KeyRunes || k.Paste || len(k.Runes) < 2 {
		cmd := m.press(k)
		m.arrange()
		return cmd
	}
	if len(k.Runes) > maxTyped {
		k.Paste = true
		return m.typed(k)
	}
	var cmds []tea.Cmd
	for _, r := range k.Runes {
		one := k
		one.Runes = []rune{r}
		if r == ' ' {
			one.Type = tea.KeySpace
		}
		cmds = append(cmds, m.press(one))
		m.arrange()
	}
	return tea.Batch(cmds...)
}

// heard takes a message of a source and asks for the next one.
func (m *Model) heard(msg sourceMsg) tea.Cmd {
	if msg.from != m.feed && (m.de == nil || !m.de.owns(msg.from)) {
		return nil
	}
	next := msg.from.listen()
	var cmd tea.Cmd
	switch inner := msg.msg.(type) {
	case changesMsg:
		cmd = m.apply(inner)
	case linkMsg:
		cmd = m.link(client.Link(inner))
	case refusedMsg:
		cmd = m.refused(inner.err)
		next = nil
	case failMsg:
		m.fail(inner.err)
	default:
		if m.de != nil {
			cmd = m.de.heard(m, inner)
		}
	}
	m.arrange()
	return tea.Batch(cmd, next)
}

// apply takes what the feed told.
func (m *Model) apply(cs changesMsg) tea.Cmd {
	m.conn.good(m.now())
	ask, lost := false, false
	rev := m.st.apRev
	for _, c := range cs {
		a, l := m.st.apply(c)
		ask, lost = ask || a, lost || l
		m.me.count(c)
	}
	if m.st.apRev != rev {
		m.st.count()
	}
	m.st.prune()
	switch {
	case lost:
		return m.askAll()
	case ask:
		return m.askApprovals()
	}
	return nil
}

// answer takes the answer to a question.
func (m *Model) answer(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case approvalsMsg:
		return m.gotApprovals(msg)
	case executionsMsg:
		return m.gotExecutions(msg)
	case agentsMsg:
		if msg.gen == m.gen {
			if m.good(msg.err) {
				m.st.agents, m.st.agLoaded = msg.list, true
				if m.ag.rows(m.st); m.screen == scrAgents && m.ag.cur != m.ag.asked {
					return m.ag.ask(m)
				}
			}
		}
	case healthMsg:
		if msg.gen == m.gen {
			m.checked(msg)
		}
	case decidedMsg:
		return m.decided(msg)
	case cancelledMsg:
		return m.cancelled(msg)
	case detailMsg:
		if m.de != nil && msg.of == m.de {
			return m.de.got(m, msg)
		}
	case restedMsg:
		return m.ap.rested(m, msg.approval)
	case aboutMsg:
		m.ap.about = msg
	case divergeMsg:
		if m.dv != nil && msg.of == m.dv {
			m.dv.got(m, msg)
		}
	case policyMsg:
		if msg.gen == m.gen {
			m.ag.got(m, msg)
		}
	case policyTestMsg:
		if msg.gen == m.gen {
			m.ag.gotTest(m, msg)
		}
	case draftMsg:
		if msg.err != nil {
			m.fail(fmt.Errorf("edit the policy of %s: %w", msg.agent, msg.err))
			return nil
		}
		return m.edit(msg.draft)
	case editedMsg:
		return m.edited(msg)
	case checkedMsg:
		return m.draftChecked(msg)
	case loadedMsg:
		return m.draftLoaded(msg)
	case pagedMsg:
		return m.paged(msg)
	case metricsMsg:
		if msg.gen == m.gen {
			m.me.got(m, msg)
		}
	case dialedMsg:
		return m.dialed(msg)
	case copiedMsg:
		m.copied(msg)
	}
	return nil
}

func (m *Model) gotApprovals(msg approvalsMsg) tea.Cmd {
	if msg.gen != m.gen {
		return nil
	}
	m.approvalsAsked = false
	if m.good(msg.err) {
		m.st.putApprovals(msg.list, m.now())
		m.me.pending = m.st.pending
	}
	cmds := []tea.Cmd{m.notify()}
	if m.approvalsAgain && msg.err == nil {
		cmds = append(cmds, m.askApprovals())
	}
	return tea.Batch(cmds...)
}

// entitle writes how many approvals wait on the window, when that has changed.
func (m *Model) entitle() tea.Cmd {
	title := "kernelctl"
	if m.st.pending > 0 {
		title = fmt.Sprintf("(%d) kernelctl", m.st.pending)
	}
	if title == m.titled {
		return nil
	}
	m.titled = title
	return tea.SetWindowTitle(title)
}

func (m *Model) gotExecutions(msg executionsMsg) tea.Cmd {
	if msg.gen != m.gen || !m.good(msg.err) {
		return nil
	}
	for _, x := range msg.page.Executions {
		m.st.putExecution(x)
	}
	m.st.exLoaded = true
	m.st.exRev++
	if msg.page.NextCursor == "" || msg.loaded >= maxExecutions {
		m.st.exAll = msg.page.NextCursor == ""
		return nil
	}
	return m.askExecutions(msg.page.NextCursor, msg.loaded)
}

// second is what happens once a second.
func (m *Model) second() tea.Cmd {
	now := m.now()
	slept := !m.ticked.IsZero() && now.Round(0).Sub(m.ticked.Round(0)) > 8*time.Second
	m.ticked = now
	m.me.second()
	m.arrange()
	var cmds []tea.Cmd
	if slept || m.conn.due(now) {
		cmds = append(cmds, m.connect())
	}
	if slept && m.de != nil {
		cmds = append(cmds, m.de.again(m))
	}
	if s := now.Unix(); s%2 == 0 && !m.conn.denied {
		cmds = append(cmds, m.askHealth())
		if m.screen == scrMetrics {
			cmds = append(cmds, m.askMetrics())
		}
		if m.conn.noFeed {
			cmds = append(cmds, m.askApprovals(), m.askExecutions("", maxExecutions))
		}
	}
	return tea.Batch(cmds...)
}

// serverNow is the service's clock. The offset is known to the second, so a
// small one is none.
func (m *Model) serverNow() time.Time {
	if m.offset.Abs() > 2*time.Second {
		return m.now().Add(m.offset)
	}
	return m.now()
}

// good notes an answer, or the error of one.
func (m *Model) good(err error) bool {
	if err == nil {
		m.conn.good(m.now())
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	if client.StatusOf(err) == 401 {
		m.conn.denied = true
		return false
	}
	if !errors.As(err, new(*client.ConnectionError)) {
		m.fail(err)
	}
	return false
}

// say shows a line for a while.
func (m *Model) say(format string, args ...any) {
	m.toast = toast{line: fmt.Sprintf(format, args...), until: m.now().Add(5 * time.Second)}
}

// maxLog is how many errors are kept for the log.
const maxLog = 200

// fail shows an error for a while and keeps it for the log.
func (m *Model) fail(err error) {
	first, _, _ := strings.Cut(err.Error(), "\n")
	m.toast = toast{line: text.Clean(first) + "  (" + m.keys.name(actErrors) + " all errors)", bad: true, until: m.now().Add(5 * time.Second)}
	m.file.note(m.now(), err.Error())
	m.log = append(m.log, m.now().Format("15:04:05 ")+err.Error())
	if len(m.log) > maxLog {
		m.log = m.log[1:]
	}
}
