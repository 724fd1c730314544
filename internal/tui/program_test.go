package tui

import (
	"bytes"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"
)

// TestProgram runs the real loop: start, data, a key, a resize, the end.
func TestProgram(t *testing.T) {
	t.Parallel()
	m, err := NewModel(t.Context(), Place{Client: eager{typical()}, By: "alice"}, Options{Theme: "mono", Now: func() time.Time { return noon }}, true)
	if err != nil {
		t.Fatal(err)
	}
	tm := teatest.NewTestModel(t, m, teatest.WithInitialTermSize(80, 24))
	shows := func(s string) {
		t.Helper()
		teatest.WaitFor(t, tm.Output(), func(b []byte) bool { return bytes.Contains(b, []byte(s)) }, teatest.WithDuration(20*time.Second), teatest.WithCheckInterval(10*time.Millisecond))
	}
	shows("send_email")
	tm.Send(tea.WindowSizeMsg{Width: 140, Height: 40})
	tm.Type("2")
	shows("STATUS")
	tm.Type("q")
	final, ok := tm.FinalModel(t, teatest.WithFinalTimeout(20*time.Second)).(*Model)
	if !ok || final.screen != scrExecutions || final.w != 140 {
		t.Errorf("the model at the end: %v", final)
	}
	m.life.wg.Wait()
}
