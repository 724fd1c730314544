package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// command is a line of the palette.
type command struct {
	names []string // the first one is shown
	args  string
	help  string
	run   func(m *Model, arg string) tea.Cmd
	words func(m *Model) []string // what arg may be
}

// commands are those of the palette: the nouns of the command line, and what
// has no key.
func commands() []command {
	list := func(s screenID) func(*Model, string) tea.Cmd {
		return func(m *Model, arg string) tea.Cmd {
			cmd := m.visit(s)
			if arg != "" {
				if slices.Contains(statuses(), arg) {
					arg = "status:" + arg
				}
				m.setFilter(arg)
			}
			return cmd
		}
	}
	return []command{
		{[]string{"approvals", "ap"}, "[filter]", "the inbox", list(scrApprovals), nil},
		{[]string{"executions", "execution", "exec", "ex"}, "[status or filter]", "all executions", list(scrExecutions), func(*Model) []string { return statuses() }},
		{[]string{"agents", "agent", "ag", "policies", "policy", "pol"}, "[agent]", "agents and policies", runAgents, func(m *Model) []string { return m.agentIDs() }},
		{[]string{"metrics", "top"}, "", "metrics", list(scrMetrics), nil},
		{[]string{"open"}, "ID", "an execution by its id, or the end of it", runOpen, nil},
		{[]string{"ctx", "context"}, "NAME", "another context", runContext, func(m *Model) []string { return m.opt.Contexts }},
		{[]string{"by"}, "NAME", "who decides", runBy, nil},
		{[]string{"theme"}, "NAME", strings.Join(themes(), ", "), runTheme, func(*Model) []string { return themes() }},
		{[]string{"mouse"}, "", "the mouse on or off: wheel and selection only", runMouse, nil},
		{[]string{"errors", "log"}, "", "the last errors", func(m *Model, _ string) tea.Cmd { m.modal = m.errorLog(); return nil }, nil},
		{[]string{"help"}, "", "the keys", func(m *Model, _ string) tea.Cmd { m.modal = &help{}; return nil }, nil},
		{[]string{"quit", "q"}, "", "the end", func(m *Model, _ string) tea.Cmd { return m.quit() }, nil},
	}
}

func statuses() []string {
	return []string{"pending", "running", "blocked", "completed", "failed", "cancelled"}
}

func newPalette() *prompt {
	return &prompt{sign: ":", done: runCommand, help: paletteHelp, expand: paletteExpand}
}

func runCommand(m *Model, line string) tea.Cmd {
	name, arg, _ := strings.Cut(line, " ")
	if name == "" {
		return nil
	}
	for _, c := range commands() {
		if slices.Contains(c.names, name) {
			return c.run(m, strings.TrimSpace(arg))
		}
	}
	if found := matching(name); len(found) == 1 {
		return found[0].run(m, strings.TrimSpace(arg))
	}
	m.say("there is no command %s", text.Clean(name))
	return nil
}

// matching are the commands whose name begins so.
func matching(prefix string) []command {
	var out []command
	for _, c := range commands() {
		if slices.ContainsFunc(c.names, func(n string) bool { return strings.HasPrefix(n, prefix) }) {
			out = append(out, c)
		}
	}
	return out
}

func paletteHelp(_ *Model, line string) string {
	name, _, typed := strings.Cut(line, " ")
	found := matching(name)
	if typed || len(found) == 1 {
		for _, c := range found {
			if slices.Contains(c.names, name) || len(found) == 1 {
				return strings.TrimSpace(c.names[0]+" "+c.args) + ": " + c.help
			}
		}
	}
	var names []string
	for _, c := range found {
		names = append(names, c.names[0])
	}
	return strings.Join(names, " ")
}

// paletteExpand completes the word that is typed, as far as it is clear.
func paletteExpand(m *Model, line string) string {
	name, arg, typed := strings.Cut(line, " ")
	var words []string
	head := ""
	if typed {
		for _, c := range matching(name) {
			if slices.Contains(c.names, name) && c.words != nil {
				words = c.words(m)
			}
		}
		head, name = name+" ", arg
	} else {
		for _, c := range commands() {
			words = append(words, c.names[0])
		}
	}
	common := ""
	for _, w := range words {
		switch {
		case !strings.HasPrefix(w, name):
		case common == "":
			common = w
		default:
			n := 0
			for n < min(len(common), len(w)) && common[n] == w[n] {
				n++
			}
			common = common[:n]
		}
	}
	if len(common) < len(name) {
		return line
	}
	if slices.Contains(words, common) && !typed {
		common += " "
	}
	return head + common
}

func runAgents(m *Model, arg string) tea.Cmd {
	cmd := m.visit(scrAgents)
	if arg != "" {
		m.ag.rows(m.st)
		if !m.ag.pick(arg) {
			m.say("there is no agent %s", text.Clean(arg))
		}
	}
	return tea.Batch(cmd, m.ag.ask(m))
}

func runOpen(m *Model, arg string) tea.Cmd {
	arg = strings.TrimPrefix(arg, "execution/")
	if len(arg) < 4 {
		m.say("open needs an id, or at least four characters of one")
		return nil
	}
	found := m.st.like(arg)
	switch {
	case len(found) == 1:
		return m.openDetail(found[0])
	case len(found) > 1:
		m.say("%d executions match %s", len(found), text.Clean(arg))
		return nil
	case len(arg) == 36:
		return m.openDetail(arg)
	}
	m.say("no execution that is loaded matches %s", text.Clean(arg))
	return nil
}

func runBy(m *Model, arg string) tea.Cmd {
	if arg == "" {
		m.say("by needs a name")
		return nil
	}
	m.place.By = arg
	m.say("you are %s now", text.Clean(arg))
	return nil
}

func runTheme(m *Model, arg string) tea.Cmd {
	th, err := newTheme(arg, m.opt.Borders, m.color)
	if err != nil {
		m.say("%s", text.Clean(err.Error()))
		return nil
	}
	m.th = th
	m.say("theme %s", th.name)
	return nil
}

func runMouse(m *Model, _ string) tea.Cmd {
	if m.mouse = !m.mouse; m.mouse {
		m.say("mouse on: wheel and click select")
		return tea.EnableMouseCellMotion
	}
	m.say("mouse off: the terminal selects text")
	return tea.DisableMouse
}

// dialedMsg is the place of another context.
type dialedMsg struct {
	name  string
	place Place
	err   error
}

func runContext(m *Model, name string) tea.Cmd {
	dial := m.opt.Dial
	if dial == nil || name == "" {
		m.say("contexts: %s", text.Clean(strings.Join(m.opt.Contexts, ", ")))
		return nil
	}
	m.say("switching to %s", text.Clean(name))
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		p, err := dial(ctx, name)
		return dialedMsg{name, p, err}
	})
}

// dialed goes to another place: nothing of the old one stays.
func (m *Model) dialed(d dialedMsg) tea.Cmd {
	if d.err != nil {
		m.fail(fmt.Errorf("context %s: %w", d.name, d.err))
		return nil
	}
	if d.place.By == "" {
		d.place.By = m.place.By
	}
	m.gen++
	m.place, m.st, m.conn = d.place, newStore(), conn{since: m.now()}
	m.modal, m.offset = nil, 0
	clear(m.ap.marks)
	clear(m.ex.marks)
	m.ap.set(nil)
	m.ap.about, m.ap.wanted = aboutMsg{}, ""
	m.ex.set(nil)
	m.ag, m.me, m.hist = agentsScreen{}, metricsScreen{}, history{}
	cmd := m.visit(scrApprovals)
	m.say("at %s now", text.Clean(d.name))
	return tea.Batch(cmd, m.connect())
}
