package tui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// allKeys are all that a key map or a modal answers to, and some that nothing
// does.
func allKeys() []string {
	keys := []string{"enter", "enter", "enter", "tab", "shift+tab", "esc", "backspace", "up", "down", "left", "right", "2", "3", "w", "ä", "承"}
	for _, b := range defaultKeys() {
		for _, k := range b.key.Keys() {
			if k != "ctrl+c" && k != "q" {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// FuzzKeysAndData presses random keys while random things happen. Nothing may
// panic; frames keep their size; the selection stays on its id; and nothing is
// decided but by two enters, apart from each other, in a modal that was opened
// for that very id.
func FuzzKeysAndData(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { playRandomly(t, rand.New(rand.NewPCG(a, b)), 600) }) //nolint:gosec // to be repeated
}

// TestKeysAndData plays enough to be sure that decisions are among it.
func TestKeysAndData(t *testing.T) {
	t.Parallel()
	posts := 0
	for seed := range uint64(10) {
		posts += playRandomly(t, rand.New(rand.NewPCG(seed, 7)), 600) //nolint:gosec // to be repeated
	}
	if t.Logf("%d decisions", posts); posts < 10 {
		t.Errorf("%d decisions in all that was played: too few to say anything", posts)
	}
}

// playRandomly returns how many decisions were posted.
func playRandomly(t *testing.T, rng *rand.Rand, steps int) int {
	t.Helper()
	service := []func() *fake{typical, longArgs, wideText}[rng.IntN(3)]()
	r := newRig(t, service, 60+rng.IntN(100), 15+rng.IntN(40), func(_ *Place, o *Options) { o.Mouse, o.StateDir = true, t.TempDir() }).online()
	keys := allKeys()
	var modal *decide
	enters := 0 // in the modal
	posts := 0
	for i := range steps {
		if rng.IntN(4) == 0 {
			sel, shown := r.m.ap.cur, slices.Contains(r.m.ap.ids, r.m.ap.cur)
			screen := r.m.screen
			r.happen(rng, i)
			if shown && r.m.screen == screen && screen == scrApprovals && r.m.ap.filter == "" && r.m.ap.cur != sel {
				t.Fatalf("step %d: the selection went from %s to %s by itself", i, sel, r.m.ap.cur)
			}
		} else {
			k := keys[rng.IntN(len(keys))]
			switch { // or too little would come to a decision
			case r.m.modal != nil && rng.IntN(2) == 0:
				k = "enter"
			case r.m.modal == nil && rng.IntN(12) == 0:
				k = []string{"1", "A", "g", "g"}[rng.IntN(4)]
			}
			msg := r.input(rng, k)
			pause := time.Duration(rng.IntN(500)) * time.Millisecond
			r.now = r.now.Add(pause)
			if d, ok := r.m.modal.(*decide); ok {
				if d != modal {
					modal, enters = d, 0
				}
				if key, ok := msg.(tea.KeyMsg); ok && key.Type == tea.KeyEnter {
					enters++
				}
			}
			r.send(msg)
		}
		for _, p := range r.f.posts[posts:] {
			ids := []string{}
			if modal != nil {
				for _, a := range modal.items {
					ids = append(ids, a.ID)
				}
			}
			if enters < 2 || !slices.Contains(ids, p.id) {
				t.Fatalf("step %d: %s of %s after %d enters in a modal of %v", i, p.verb, p.id, enters, ids)
			}
		}
		posts = len(r.f.posts)
		r.frame()
	}
	return posts
}

// input is a key, or now and then the mouse, a paste, or keys that come at once.
// Enters in a paste do not count as enters.
func (r *rig) input(rng *rand.Rand, k string) tea.Msg {
	switch rng.IntN(20) {
	case 0:
		b := []tea.MouseButton{tea.MouseButtonLeft, tea.MouseButtonWheelUp, tea.MouseButtonWheelDown}[rng.IntN(3)]
		return tea.MouseMsg{X: rng.IntN(r.m.w + 2), Y: rng.IntN(r.m.h + 2), Button: b, Action: tea.MouseActionPress}
	case 1:
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("g\n\nd \u202eab\x1b[2J\n" + strings.Repeat("x", rng.IntN(300))), Paste: rng.IntN(2) == 0}
	}
	return keyMsg(k)
}

// happen lets one random thing happen.
func (r *rig) happen(rng *rand.Rand, i int) {
	n := 1 + rng.IntN(6)
	switch rng.IntN(12) {
	case 0:
		a := r.f.approvals[rng.IntN(4)]
		a.ID, a.Status, a.TimeoutAt = id(6, i), wire.ApprovalPending, wire.At(r.now.Add(time.Duration(rng.IntN(900))*time.Second))
		r.f.approvals = append(r.f.approvals, a)
		r.feed(change{exec: a.ExecutionID, approval: a.ID, approvals: wire.ApprovalPending})
	case 1:
		k := rng.IntN(len(r.f.approvals))
		r.f.approvals[k].Status = wire.ApprovalDenied
		r.feed(change{exec: r.f.approvals[k].ExecutionID, approval: r.f.approvals[k].ID, approvals: wire.ApprovalDenied, by: "bob", at: wire.At(r.now)})
	case 2:
		r.feed(change{exec: id(7, i), seq: 1, typ: wire.EventExecutionCreated, status: wire.ExecutionPending, agent: fmt.Sprint("agent", n), at: wire.At(r.now)})
	case 3:
		r.feed(change{exec: id(2, n), seq: int64(100 + i), typ: wire.EventStepProposed, step: "t", at: wire.At(r.now)})
	case 4:
		r.resize(50+rng.IntN(150), 12+rng.IntN(50))
	case 5:
		r.send(sourceMsg{r.m.feed, linkMsg(client.Link{Retry: time.Second})})
	case 6:
		r.online()
	case 7:
		r.now = r.now.Add(time.Second)
		r.send(tickMsg(r.now))
	case 8:
		r.feed(change{lost: true})
		r.send(tea.BlurMsg{})
	case 9:
		r.openTypical()
	case 10:
		r.f.refuse = [2]error{nil, errors.New("the service is out of order")}[rng.IntN(2)]
	case 11:
		r.send(checkedMsg{draft: draft{gen: r.m.gen, agent: "ops", path: "/no/such", text: "a: b"}, problems: []string{"1:1: no"}[:rng.IntN(2)]})
	}
}
