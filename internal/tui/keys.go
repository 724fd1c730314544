package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// action is something that a key does. Its value is its name in the
// configuration.
type action string

// The actions.
const (
	actUp         action = "up"
	actDown       action = "down"
	actPageUp     action = "page_up"
	actPageDown   action = "page_down"
	actHalfUp     action = "half_up"
	actHalfDown   action = "half_down"
	actTop        action = "top"
	actBottom     action = "bottom"
	actLeft       action = "left"
	actRight      action = "right"
	actPane       action = "pane"
	actPaneBack   action = "pane_back"
	actOpen       action = "open"
	actBack       action = "back"
	actGrant      action = "grant"
	actDeny       action = "deny"
	actMark       action = "mark"
	actMarkSame   action = "mark_same"
	actUnmark     action = "unmark"
	actCancelRun  action = "cancel_run"
	actDiverge    action = "diverge"
	actFilter     action = "filter"
	actNext       action = "next"
	actPrev       action = "previous"
	actSort       action = "sort"
	actReverse    action = "reverse"
	actCopy       action = "copy"
	actPreview    action = "preview"
	actFollow     action = "follow"
	actZoom       action = "zoom"
	actJump       action = "jump"
	actEvents     action = "events"
	actSteps      action = "steps"
	actStream     action = "stream"
	actInput      action = "input"
	actTestPolicy action = "test_policy"
	actEdit       action = "edit_policy"
	actPager      action = "pager"
	actErrors     action = "errors"
	actApprovals  action = "approvals"
	actExecutions action = "executions"
	actAgents     action = "agents"
	actMetrics    action = "metrics"
	actHistBack   action = "history_back"
	actHistFwd    action = "history_forward"
	actRefresh    action = "refresh"
	actRepaint    action = "repaint"
	actPalette    action = "palette"
	actHelp       action = "help"
	actQuit       action = "quit"
	actQuitNow    action = "quit_now"
)

// binding is one line of the key map: the footer, the help, the documentation
// and the dispatch of keys all come from here.
type binding struct {
	act  action
	key  key.Binding
	on   []screenID // empty: everywhere
	foot string     // its word in the footer; empty: not there
}

// keymap is the table in force.
type keymap []binding

func bind(act action, keys, help, foot string, on ...screenID) binding {
	ks := strings.Fields(keys)
	return binding{act: act, on: on, foot: foot, key: key.NewBinding(key.WithKeys(spaced(ks)...), key.WithHelp(strings.Join(ks, " "), help))}
}

// spaced puts the space bar where its name stands.
func spaced(keys []string) []string {
	out := slices.Clone(keys)
	for i, k := range out {
		if k == "space" {
			out[i] = " "
		}
	}
	return out
}

// defaultKeys is the table as it is shipped, in the order of the footer.
func defaultKeys() keymap {
	lists := []screenID{scrApprovals, scrExecutions}
	panes := []screenID{scrApprovals, scrAgents, scrDetail}
	texts := []screenID{scrApprovals, scrAgents, scrDetail, scrDiverge}
	rows := []screenID{scrApprovals, scrExecutions, scrAgents, scrDetail, scrDiverge}
	return keymap{
		bind(actGrant, "g", "grant: the row, all marked, or what this execution waits for", "grant", scrApprovals, scrDetail),
		bind(actDeny, "d", "deny: the same", "deny", scrApprovals, scrDetail),
		bind(actMark, "space", "mark the row", "mark", lists...),
		bind(actMarkSame, "a", "mark all with the same agent, target and rule", "", scrApprovals),
		bind(actUnmark, "A", "clear all marks", "", lists...),
		bind(actDiverge, "D", "where the two marked executions diverge", "diverge", scrExecutions),
		bind(actCancelRun, "x", "cancel the execution (asks first)", "cancel run", scrExecutions, scrDetail),
		bind(actOpen, "enter", "open; fold or unfold", "open", scrApprovals, scrExecutions, scrAgents, scrDetail),
		bind(actTestPolicy, "T", "test the policy: on a file of cases, or on a past execution", "test", scrAgents),
		bind(actEdit, "E", "edit the policy in $EDITOR: it is checked, shown as a diff, and asked about", "edit", scrAgents),
		bind(actEvents, "e", "events", "events", scrDetail),
		bind(actSteps, "t", "steps", "steps", scrDetail),
		bind(actStream, "o", "live output", "output", scrDetail),
		bind(actInput, "i", "input and output", "input", scrDetail),
		bind(actJump, ".", "from a step to its first event, from an event to its step", "step/event", scrDetail),
		bind(actFollow, "f", "follow the newest", "follow", scrDetail),
		bind(actZoom, "z", "one pane on the whole screen, or all again", "zoom", scrDetail),
		bind(actFilter, "/", "filter; in a text: search. Words, status: agent: rule: target: label:key=value", "filter", rows...),
		bind(actNext, "n", "next match, rule or difference", "next", texts...),
		bind(actPrev, "N", "previous match, rule or difference", "", texts...),
		bind(actSort, "s", "sort by the next column", "sort", lists...),
		bind(actReverse, "S", "reverse the order", "", lists...),
		bind(actCopy, "y", "copy: then i id, e execution, s step, a args, j all as JSON", "copy", rows...),
		bind(actPreview, "p", "preview on and off", "preview", lists...),
		bind(actPager, "v", "the whole text in $PAGER", "pager", texts...),
		bind(actUp, "k up", "up", "", rows...),
		bind(actDown, "j down", "down", "", rows...),
		bind(actPageUp, "pgup", "a page up", "", rows...),
		bind(actPageDown, "pgdown", "a page down", "", rows...),
		bind(actHalfUp, "ctrl+u", "half a page up", "", rows...),
		bind(actHalfDown, "ctrl+d", "half a page down", "", rows...),
		bind(actTop, "home H", "to the top (there is no gg: g grants)", "", rows...),
		bind(actBottom, "end G", "to the bottom", "", rows...),
		bind(actLeft, "h left", "fold, or the pane before", "", panes...),
		bind(actRight, "l right", "unfold, or the next pane", "", panes...),
		bind(actPane, "tab", "next pane", "pane", panes...),
		bind(actPaneBack, "shift+tab", "the pane before", "", panes...),
		bind(actApprovals, "1", "approvals", ""),
		bind(actExecutions, "2", "executions", ""),
		bind(actAgents, "3", "agents and policies", ""),
		bind(actMetrics, "4", "metrics", ""),
		bind(actHistBack, "[", "where you were before", ""),
		bind(actHistFwd, "]", "forward again", ""),
		bind(actRefresh, "r", "ask the server again, at once when offline", ""),
		bind(actRepaint, "ctrl+l", "paint the screen anew", ""),
		bind(actErrors, "!", "the last errors", ""),
		bind(actPalette, ":", "palette: type a command", "palette"),
		bind(actHelp, "?", "this help", "help"),
		bind(actBack, "esc", "close, clear the filter, back", "back"),
		bind(actQuit, "q", "back, and from a first screen quit", ""),
		bind(actQuitNow, "ctrl+c", "quit at once", ""),
	}
}

// newKeymap is the table with the keys of the configuration. An unknown action
// and a key with two meanings on one screen are errors.
func newKeymap(remap map[string]string) (keymap, error) {
	m := defaultKeys()
	for name, keys := range remap {
		i := slices.IndexFunc(m, func(b binding) bool { return string(b.act) == name })
		ks := strings.Fields(keys)
		switch {
		case i < 0:
			return nil, fmt.Errorf("ui.keys: there is no action %q", name)
		case len(ks) == 0:
			return nil, fmt.Errorf("ui.keys.%s: no key", name)
		}
		m[i].key.SetKeys(spaced(ks)...)
		m[i].key.SetHelp(strings.Join(ks, " "), m[i].key.Help().Desc)
	}
	for i, a := range m {
		for _, b := range m[i+1:] {
			if k := a.clash(b); k != "" {
				return nil, fmt.Errorf("ui.keys: %q means both %s and %s", k, a.act, b.act)
			}
		}
	}
	return m, nil
}

func (b binding) clash(o binding) string {
	shared := len(b.on) == 0 || len(o.on) == 0 || slices.ContainsFunc(b.on, func(s screenID) bool { return slices.Contains(o.on, s) })
	if !shared {
		return ""
	}
	for _, k := range b.key.Keys() {
		if slices.Contains(o.key.Keys(), k) {
			return k
		}
	}
	return ""
}

func (b binding) active(s screenID) bool { return len(b.on) == 0 || slices.Contains(b.on, s) }

// find is what a key means on a screen.
func (m keymap) find(s screenID, pressed string) (action, bool) {
	for _, b := range m {
		if b.active(s) && slices.Contains(b.key.Keys(), pressed) {
			return b.act, true
		}
	}
	return "", false
}

// name is how the key of an action is called.
func (m keymap) name(a action) string {
	for _, b := range m {
		if b.act == a {
			return strings.Fields(b.key.Help().Key)[0]
		}
	}
	return ""
}
