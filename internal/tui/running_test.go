package tui

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// transcript is all that was written to a terminal.
type transcript struct {
	mu   sync.Mutex
	out  bytes.Buffer
	more chan struct{} // something came
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{}, 1)} }

// Write takes what is written.
func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.out.Write(p)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *transcript) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// until waits for a text beyond what was there before from. Try, unless it is
// nil, is called again and again meanwhile: some keys are dropped at first, and
// live output is not stored.
func (s *transcript) until(t *testing.T, from int, want string, try func()) {
	t.Helper()
	again := time.NewTicker(deaf + alone)
	defer again.Stop()
	late := time.After(patience)
	for !strings.Contains(s.text()[from:], want) {
		select {
		case <-s.more:
		case <-again.C:
			if try != nil {
				try()
			}
		case <-late:
			t.Fatalf("no %q in:\n%q", want, s.text()[from:])
		}
	}
}

// running is a dashboard in its real loop, without a terminal.
type running struct {
	*transcript
	t    *testing.T
	p    *tea.Program
	end  chan struct{}
	last tea.Model // at the end
	from int
}

func start(t *testing.T, m *Model, w, h int) *running {
	t.Helper()
	r := &running{transcript: newTranscript(), t: t, end: make(chan struct{})}
	r.p = tea.NewProgram(m, tea.WithInput(strings.NewReader("")), tea.WithOutput(io.Writer(r.transcript)), tea.WithAltScreen(), tea.WithoutSignals())
	go func() {
		defer close(r.end)
		var err error
		if r.last, err = r.p.Run(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	}()
	t.Cleanup(func() { r.p.Kill(); <-r.end })
	r.p.Send(tea.WindowSizeMsg{Width: w, Height: h})
	return r
}

// typed sends keys.
func (r *running) typed(keys ...string) {
	for _, k := range keys {
		r.p.Send(keyMsg(k))
	}
}

// shows waits for what was not there at the last call.
func (r *running) shows(want string, try func()) {
	r.t.Helper()
	r.until(r.t, r.from, want, try)
	r.from = len(r.text())
}

// quits waits for the end.
func (r *running) quits() *Model {
	r.t.Helper()
	select {
	case <-r.end:
	case <-time.After(patience):
		r.t.Fatal("the program does not end")
	}
	m, ok := r.last.(*Model)
	if !ok {
		r.t.Fatalf("the model at the end is %T", r.last)
	}
	return m
}
