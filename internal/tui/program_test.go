package tui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// TestProgram runs the real loop: start, data, a key, a resize, the end.
func TestProgram(t *testing.T) {
	t.Parallel()
	m, err := NewModel(t.Context(), Place{Client: eager{typical()}, By: "alice"}, Options{Theme: "mono", Now: func() time.Time { return noon }}, true)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, m, 80, 24)
	r.shows("send_email", nil)
	r.p.Send(tea.WindowSizeMsg{Width: 140, Height: 40})
	r.typed("2")
	r.shows("STATUS", nil)
	r.typed("q")
	if final := r.quits(); final.screen != scrExecutions || final.w != 140 {
		t.Errorf("the model at the end: screen %d, %d columns", final.screen, final.w)
	}
	m.life.wg.Wait()
}
