package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// The guards against keys that were not meant for what they would do.
const (
	deaf  = 300 * time.Millisecond // after a modal opened, all keys are dropped
	alone = 100 * time.Millisecond // a press of a button this soon after another key is dropped
	lanes = 4                      // decisions under way at once
)

// focus is the part of the modal that keys go to.
type focus int

const (
	onWhy focus = iota
	onBy
	onGate
	onButton
	onCancel
)

// decide is the modal in which approvals are granted or denied. It holds copies
// of the approvals that it was opened with and posts to their ids, whatever the
// list behind it does.
type decide struct {
	grant   bool
	items   []approval
	need    string // which decisions need a rationale
	want    string // what must be typed; empty: nothing
	opened  time.Time
	pressed time.Time // the last key
	on      focus
	armed   bool // the button was reached with enter
	why     field
	by      field
	gate    field
	asked   bool // esc was pressed while there was text

	seen map[int]bool // lines of the arguments that were on the screen
	top  int
	wrap int      // the width that flat was made for
	tall int      // the height of the terminal then
	flat []string // the arguments of all items
	cut  int      // bytes of them that are not in flat

	queue   []string
	flight  int
	results map[string]string // by id: what was decided, once it is
	faults  map[string]string // by id: why it was not
	failed  int
	problem string
}

// decidedMsg is the answer to one decision.
type decidedMsg struct {
	of     *decide
	id     string
	by     string
	why    string
	grant  bool
	err    error
	unsure bool           // the answer was lost
	now    *wire.Approval // as it stands after an error
}

// startDecide opens the modal.
func (m *Model) startDecide(grant bool, items []approval) tea.Cmd {
	switch {
	case len(items) == 0:
		m.say("nothing is pending here")
		return nil
	case m.readOnly():
		m.say("read-only: nothing can be decided here")
		return nil
	case !m.conn.online():
		m.say("offline: nothing can be decided now")
		return nil
	}
	if grant {
		for _, a := range items[1:] {
			if !same(&items[0], &a) {
				m.say("grant is for one agent, target and rule at a time; these differ (%s marks the same)", m.keys.name(actMarkSame))
				return nil
			}
		}
	}
	d := &decide{
		grant: grant, items: items, need: m.opt.Rationale, opened: m.now(), by: newField(m.place.By),
		seen: map[int]bool{}, results: map[string]string{}, faults: map[string]string{},
	}
	if len(items) > 1 {
		d.want = strconv.Itoa(len(items))
	} else if grant && len(items[0].Args) == 0 {
		d.want = "grant"
	}
	if m.place.By == "" {
		d.on = onBy
	}
	m.modal = d
	return nil
}

// blocked says why the button is off; empty when it is on.
func (d *decide) blocked(m *Model) string {
	open := 0
	for i := range d.items {
		a := m.st.approvals[d.items[i].ID]
		switch {
		case a != nil && !a.pending():
			if len(d.items) == 1 {
				return m.fate(a)
			}
			continue
		case d.results[d.items[i].ID] == "":
			open++
		}
		if ap := d.items[i].Approvers; len(ap) > 0 && d.by.value() != "" && !slices.Contains(ap, d.by.value()) {
			return fmt.Sprintf("%s may not decide: approvers are %s (tab changes the name)", text.Clean(d.by.value()), text.Clean(strings.Join(ap, ", ")))
		}
	}
	switch {
	case d.flight > 0 || len(d.queue) > 0:
		return "sending"
	case open == 0:
		return "nothing left to decide"
	case !m.conn.online():
		return "offline"
	case len(d.items) == 1 && d.items[0].TimeoutAt.Before(m.serverNow()):
		return "expired"
	case d.by.value() == "":
		return "who decides? (tab goes to the name)"
	case d.why.value() == "" && (d.need == "always" || d.need != "never" && !d.grant):
		return "a rationale is needed"
	case d.want != "" && d.gate.value() != d.want:
		return fmt.Sprintf("type %s to go on", d.want)
	}
	return ""
}

// order is where tab goes; enter goes down the fields to the button.
func (d *decide) order() []focus {
	if d.want == "" {
		return []focus{onWhy, onBy, onCancel, onButton}
	}
	return []focus{onWhy, onBy, onGate, onCancel, onButton}
}

func (d *decide) step(n int) {
	o := d.order()
	i := slices.Index(o, d.on)
	d.on, d.armed = o[(i+n+len(o))%len(o)], false
}

// key takes a key. Nothing but enter on the button decides, and only there.
func (d *decide) key(m *Model, k tea.KeyMsg) tea.Cmd {
	now := m.now()
	early := now.Sub(d.opened) < deaf
	lone := now.Sub(d.pressed) >= alone
	d.pressed = now
	if early {
		return nil
	}
	name := k.String()
	if name != "esc" {
		d.asked = false
	}
	switch name {
	case "esc":
		return d.escape(m)
	case "tab":
		d.step(1)
	case "shift+tab":
		d.step(-1)
	case "pgdown", "pgup", "up", "down":
		d.scroll(m, name)
	case "enter":
		return d.enter(m, lone && !k.Paste)
	default:
		d.edit(k)
	}
	return nil
}

func (d *decide) edit(k tea.KeyMsg) {
	switch d.on {
	case onWhy:
		d.why.key(k)
	case onBy:
		d.by.key(k)
	case onGate:
		d.gate.key(k)
	case onButton, onCancel:
		if s := k.String(); s == "left" || s == "right" {
			d.on, d.armed = onButton+onCancel-d.on, false
		}
	}
}

func (d *decide) escape(m *Model) tea.Cmd {
	if d.why.value() != "" && !d.asked && d.flight == 0 && len(d.results) == 0 {
		d.asked = true
		return nil
	}
	if d.flight > 0 {
		m.say("%d on the way; what became of them is told here", d.flight+len(d.queue))
	}
	m.modal = nil
	return nil
}

// enter goes to the next field, and presses a button.
func (d *decide) enter(m *Model, lone bool) tea.Cmd {
	switch d.on {
	case onBy:
		d.on = onWhy
	case onWhy:
		d.on, d.armed = onButton, true
		if d.want != "" {
			d.on, d.armed = onGate, false
		}
	case onGate:
		d.on, d.armed = onButton, true
	case onCancel:
		m.modal = nil
	case onButton:
		if !lone {
			return nil
		}
		if d.blocked(m) != "" {
			return nil
		}
		if !d.armed { // who came here with tab presses twice, too
			d.armed = true
			return nil
		}
		return d.send(m)
	}
	return nil
}

// send posts the decisions, a few at a time.
func (d *decide) send(m *Model) tea.Cmd {
	d.problem, d.failed = "", 0
	clear(d.faults)
	for _, a := range d.items {
		if cur := m.st.approvals[a.ID]; d.results[a.ID] == "" && (cur == nil || cur.pending()) {
			d.queue = append(d.queue, a.ID)
		}
	}
	var cmds []tea.Cmd
	for range lanes {
		cmds = append(cmds, d.post(m))
	}
	return tea.Batch(cmds...)
}

// post sends the next decision of the queue. It is sent once: when the answer
// is lost, the approval is read to see what became of it.
func (d *decide) post(m *Model) tea.Cmd {
	if len(d.queue) == 0 {
		return nil
	}
	id := d.queue[0]
	d.queue = d.queue[1:]
	d.flight++
	c, grant := m.place.Client, d.grant
	req := wire.DecideApproval{DecidedBy: d.by.value(), Rationale: d.why.value()}
	ask := m.life.ask(askLimit, func(ctx context.Context) tea.Msg {
		post := c.DenyApproval
		if grant {
			post = c.GrantApproval
		}
		r := decidedMsg{of: d, id: id, by: req.DecidedBy, why: req.Rationale, grant: grant, err: post(ctx, id, req)}
		if e := (*client.ConnectionError)(nil); errors.As(r.err, &e) {
			r.unsure = e.Sent
		}
		if r.unsure || client.StatusOf(r.err) == 409 || client.StatusOf(r.err) == 404 {
			if a, err := c.GetApproval(ctx, id); err == nil {
				r.now = &a
			}
		}
		return r
	})
	return func() tea.Msg {
		r := ask()
		if f, ok := r.(failMsg); ok { // a panic is an answer, too
			return decidedMsg{of: d, id: id, by: req.DecidedBy, grant: grant, err: f.err}
		}
		return r
	}
}

// status is what a decision makes of an approval.
func (r decidedMsg) status() wire.ApprovalStatus {
	if r.grant {
		return wire.ApprovalGranted
	}
	return wire.ApprovalDenied
}

// decided takes the answer to a decision.
func (m *Model) decided(r decidedMsg) tea.Cmd {
	d := r.of
	d.flight--
	ours := r.now != nil && r.now.Status == r.status() && r.now.DecidedBy != nil && *r.now.DecidedBy == r.by
	if r.now != nil {
		m.st.learn(*r.now, m.now())
	}
	switch {
	case r.err == nil, r.unsure && ours:
		m.st.settle(r.id, r.status(), r.by, r.why, wire.At(m.serverNow()))
		m.st.count()
		delete(m.ap.marks, r.id)
		d.results[r.id] = string(r.status())
	default:
		d.failed++
		d.problem = m.refusal(r)
		d.faults[r.id] = d.problem
		if len(d.items) > 1 {
			d.problem = short(r.id) + ": " + d.problem
		}
		if m.modal != modal(d) {
			m.fail(errors.New(d.problem))
		}
	}
	d.tell(m)
	next := d.post(m)
	if d.flight == 0 && len(d.queue) == 0 {
		d.finish(m)
	}
	return tea.Batch(next, m.askApprovals())
}

// finish closes the modal when all went well; what failed stays in it.
func (d *decide) finish(m *Model) {
	if d.failed > 0 || len(d.results) == 0 {
		d.armed = false
		if m.modal == modal(d) && len(d.items) == 1 {
			d.on = onCancel
		}
		return
	}
	verb := "granted"
	if !d.grant {
		verb = "denied"
	}
	if len(d.items) == 1 {
		a := d.items[0]
		m.say("%s %s  %s  of execution %s", verb, short(a.ID), text.Clean(a.Target), short(a.ExecutionID))
	} else {
		m.say("%s %d", verb, len(d.results))
	}
	if m.modal == modal(d) {
		m.modal = nil
	}
}

// refusal says why a decision did not come to be.
func (m *Model) refusal(r decidedMsg) string {
	switch {
	case r.now != nil && r.now.Status != wire.ApprovalPending:
		a := newApproval(*r.now, m.now())
		return "not done: " + m.fate(a)
	case r.unsure:
		return "the answer was lost and it is not known what became of it: " + reason(r.err)
	case client.StatusOf(r.err) == 403:
		return text.Clean(r.by) + " may not decide this"
	}
	return "not done: " + reason(r.err)
}
