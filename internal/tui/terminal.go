package tui

import (
	"encoding/base64"
	"fmt"
	"os"
	"sync"
)

// maxCopy is the longest text that terminals take by OSC 52.
const maxCopy = 74994

// screen is the terminal's output. Frames and what goes past them are each
// written in one piece.
type screen struct {
	*os.File
	mu   sync.Mutex
	tmux bool
}

// Write writes a piece.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.File.Write(p)
}

// Copy puts a text on the clipboard of the terminal, which may be far away. In
// tmux it is said twice: to tmux, and through it to the terminal outside.
func (s *screen) Copy(text string) (string, error) {
	if len(text) > maxCopy {
		return "", fmt.Errorf("%d bytes are too many for a terminal's clipboard, which takes %d", len(text), maxCopy)
	}
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	how := "OSC 52"
	if s.tmux {
		seq += "\x1bPtmux;\x1b" + seq + "\x1b\\"
		how = "OSC 52 through tmux"
	}
	if _, err := s.Write([]byte(seq)); err != nil {
		return "", fmt.Errorf("write to the terminal: %w", err)
	}
	return how, nil
}

// Bell rings, or shows a notification where the terminal knows how.
func (s *screen) Bell(kind string) {
	seq := "\a"
	if kind == "osc9" {
		seq = "\x1b]9;kernelctl: an approval waits\a"
	}
	_, _ = s.Write([]byte(seq)) // nobody is left to tell
}
