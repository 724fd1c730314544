package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// draft is a policy that is being edited in a file.
type draft struct {
	gen    int
	agent  string
	path   string
	loaded string // the bundle that it began with; empty: there was none
	text   string // as it was saved
}

// The messages of an edit, in their order.
type (
	draftMsg struct { // the file is there
		draft
		err error
	}
	editedMsg struct { // the editor has ended
		draft
		err error
	}
	checkedMsg struct { // the file was read and compiled
		draft
		problems []string // why it is no policy
		err      error
	}
	loadedMsg struct { // the service has answered
		draft
		err error
	}
)

// errChanged means that somebody else loaded a policy meanwhile.
var errChanged = errors.New("the policy was changed by somebody else meanwhile")

// startEdit writes the policy of the selected agent to a file.
func (m *Model) startEdit() tea.Cmd {
	d := draft{gen: m.gen, agent: m.ag.cur, loaded: m.ag.bundle.Bundle}
	if m.ag.known != d.agent {
		m.say("the policy is not here yet")
		return nil
	}
	dir := m.opt.StateDir // it outlives a restart there, if the draft is left
	return m.life.ask(askLimit, func(context.Context) tea.Msg {
		f, err := os.CreateTemp(dir, "policy-draft-*.yaml") // readable by its owner only
		if err != nil {
			return draftMsg{d, err}
		}
		d.path = f.Name()
		_, err = f.WriteString(d.loaded)
		return draftMsg{d, errors.Join(err, f.Close())}
	})
}

// edit opens the editor on a draft.
func (m *Model) edit(d draft) tea.Cmd {
	line := m.opt.Editor
	if line == "" {
		line = "vi"
	}
	return tea.ExecProcess(m.program(line, d.path), func(err error) tea.Msg {
		if err != nil {
			err = fmt.Errorf("editor %s: %w", line, err)
		}
		return editedMsg{d, err}
	})
}

// edited reads what the editor left, and compiles it.
func (m *Model) edited(e editedMsg) tea.Cmd {
	if e.err != nil {
		m.fail(fmt.Errorf("%w; the draft is %s", e.err, e.path))
		return m.back()
	}
	d := e.draft
	return tea.Batch(m.back(), m.life.ask(askLimit, func(context.Context) tea.Msg {
		b, err := os.ReadFile(d.path)
		if err != nil {
			return checkedMsg{draft: d, err: err}
		}
		d.text = string(b)
		if d.text == d.loaded || strings.TrimSpace(d.text) == "" && d.loaded == "" {
			return checkedMsg{draft: d, err: os.Remove(d.path)}
		}
		_, err = policy.Compile(b)
		c := checkedMsg{draft: d}
		if invalid := (*policy.Invalid)(nil); errors.As(err, &invalid) {
			for _, p := range invalid.Problems {
				c.problems = append(c.problems, fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Field, p.Problem))
			}
		} else if err != nil {
			c.problems = []string{err.Error()}
		}
		return c
	}))
}

// draftChecked asks whether to load the draft, or to go on editing it.
func (m *Model) draftChecked(c checkedMsg) tea.Cmd {
	d := c.draft
	keep := func(m *Model) tea.Cmd {
		m.say("not loaded; the draft is %s", text.Clean(d.path))
		return nil
	}
	switch {
	case c.err != nil:
		m.fail(fmt.Errorf("edit the policy of %s: %w", d.agent, c.err))
	case d.gen != m.gen, m.modal != nil:
		return keep(m)
	case len(c.problems) > 0:
		lines := []string{"It cannot be loaded:"}
		for _, p := range c.problems {
			lines = append(lines, text.Clean(p))
		}
		m.modal = &confirm{
			title: "POLICY OF " + text.Clean(d.agent), yes: "Edit again", lines: lines, opened: m.now(), onYes: true,
			do: func(m *Model) tea.Cmd { return m.edit(d) }, not: keep,
		}
	case d.text == d.loaded || d.text == "":
		m.say("nothing changed")
	default:
		m.modal = &confirm{
			title: "LOAD POLICY OF " + text.Clean(d.agent), yes: "Load", lines: changes(d), opened: m.now(),
			do: func(m *Model) tea.Cmd { return m.load(d) }, not: keep,
		}
	}
	return nil
}

// changes is a draft against what was loaded, as clean lines.
func changes(d draft) []string {
	var lines []string
	for l := range strings.Lines(string(diff.Diff("loaded", []byte(d.loaded), "draft", []byte(d.text)))) {
		lines = append(lines, text.Clean(strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), "\r\n")))
	}
	return lines
}

// load gives the draft to the service, unless somebody else was faster.
func (m *Model) load(d draft) tea.Cmd {
	c := m.place.Client
	return m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		now, err := c.GetPolicy(ctx, d.agent)
		if err != nil && client.StatusOf(err) != 404 {
			return loadedMsg{d, err}
		}
		if now.Bundle != d.loaded {
			return loadedMsg{d, errChanged}
		}
		if err := c.LoadPolicy(ctx, d.agent, d.text); err != nil {
			return loadedMsg{d, err}
		}
		return loadedMsg{d, os.Remove(d.path)}
	})
}

func (m *Model) draftLoaded(l loadedMsg) tea.Cmd {
	if l.err != nil {
		m.fail(fmt.Errorf("load the policy of %s: %w; the draft is %s", l.agent, l.err, l.path))
	} else {
		m.say("the policy of %s is loaded, in force from the next step on", text.Clean(l.agent))
	}
	if l.gen != m.gen {
		return nil
	}
	return m.ag.ask(m)
}
