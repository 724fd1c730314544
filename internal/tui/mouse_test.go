package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

func (r *rig) click(x, y int) {
	r.send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
}

func (r *rig) wheel(x, y int, b tea.MouseButton) {
	r.send(tea.MouseMsg{X: x, Y: y, Button: b, Action: tea.MouseActionPress})
}

// TestThePagerGetsTheSelected: also where there is no preview.
func TestThePagerGetsTheSelected(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("p", "j")
	if v := r.m.text(); v == nil || v.key != id(1, 2) || !strings.Contains(v.lines[1].text, "users_old") {
		t.Errorf("the text is %+v, want that of the second row", v)
	}
}

func mouseRig(t *testing.T, w, h int) *rig {
	t.Helper()
	return newRig(t, longArgs(), w, h, func(_ *Place, o *Options) { o.Mouse = true }).online()
}

func TestTheMouseSelects(t *testing.T) {
	t.Parallel()
	r := mouseRig(t, 140, 40)
	r.click(5, 5) // header, rule, names, rows 0, 1, 2
	if r.m.ap.cur != id(1, 3) {
		t.Errorf("selected %s, want %s", r.m.ap.cur, id(1, 3))
	}
	r.click(100, 25)
	if !r.m.ap.onText {
		t.Error("a click into the arguments gives them no focus")
	}
	top := r.m.ap.args.at
	r.wheel(100, 25, tea.MouseButtonWheelDown)
	if r.m.ap.args.at != min(top+mouseStep, len(r.m.ap.args.rows)-1) || r.m.ap.cur != id(1, 3) {
		t.Errorf("the wheel went from %d to %d, on %s", top, r.m.ap.args.at, r.m.ap.cur)
	}
	r.click(5, 39) // the footer
	r.click(5, 0)  // the tabs
	if r.m.screen != scrApprovals || r.m.modal != nil {
		t.Error("a click does more than select")
	}
	r.resize(80, 24)
	r.click(5, 3)
	if r.m.ap.cur != id(1, 1) || r.m.ap.onText {
		t.Errorf("selected %s with focus on the text %v, want the first row", r.m.ap.cur, r.m.ap.onText)
	}
	r.press("2")
	r.click(5, 4)
	if want := r.m.ex.ids[1]; r.m.ex.cur != want {
		t.Errorf("selected %s, want %s", r.m.ex.cur, want)
	}
	r.press("3")
	r.click(5, 4)
	if r.m.ag.cur != "ops" || r.m.ag.asked != "ops" || r.m.ag.known != "ops" {
		t.Errorf("selected %s, asked for the policy of %s", r.m.ag.cur, r.m.ag.asked)
	}
	r.click(70, 8)
	if !r.m.ag.onText || r.m.ag.policy.at != 4 {
		t.Errorf("the cursor of the policy is at %d, want 4", r.m.ag.policy.at)
	}
}

func TestTheMouseInAnExecution(t *testing.T) {
	t.Parallel()
	r := mouseRig(t, 140, 40)
	r.openTypical()
	r.click(5, 4) // title, names, row 0
	if r.m.de.evs.cur != "1" || r.m.de.follow {
		t.Errorf("event %s, following %v", r.m.de.evs.cur, r.m.de.follow)
	}
	r.click(100, 5)
	if r.m.de.focus != paneSteps || r.m.de.sts.at != 1 {
		t.Errorf("pane %d, step %d", r.m.de.focus, r.m.de.sts.at)
	}
	for y := 2; y < 38; y++ { // every place leads somewhere or nowhere, without a panic
		for _, x := range []int{3, 100} {
			r.click(x, y)
			r.wheel(x, y, tea.MouseButtonWheelUp)
		}
	}
	r.resize(80, 24)
	r.press("t")
	r.click(5, 4)
	if r.m.de.focus != paneSteps || r.m.de.sts.at != 0 {
		t.Errorf("narrow: pane %d, step %d", r.m.de.focus, r.m.de.sts.at)
	}
	r.click(5, 20)
	if r.m.de.focus != paneCard {
		t.Errorf("narrow: pane %d, want the card", r.m.de.focus)
	}
}

// TestTheMouseNeverDecides clicks everywhere in an open question.
func TestTheMouseNeverDecides(t *testing.T) {
	t.Parallel()
	r := mouseRig(t, 80, 24)
	r.press("g", "enter")
	for y := range 24 {
		for x := 0; x < 80; x += 3 {
			r.click(x, y)
		}
	}
	r.posts()
	r.want("GRANT")
	off := newRig(t, typical(), 80, 24).online()
	off.click(5, 5)
	if off.m.ap.cur != id(1, 1) {
		t.Error("the mouse selects although it is off")
	}
}
