package tui

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// maxCopy is the longest text that terminals take by OSC 52.
const maxCopy = 74994

// screen is the terminal's output. Frames and what goes past them are each
// written in one piece.
type screen struct {
	*os.File
	mu   sync.Mutex
	env  func(name string) string                   // os.Getenv
	find func(name string) (path string, err error) // exec.LookPath
}

func newScreen(out *os.File) *screen {
	return &screen{File: out, env: os.Getenv, find: exec.LookPath}
}

// Write writes a piece.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.File.Write(p)
}

// Copy puts a text on the clipboard of the terminal, which may be far away, and
// on that of this machine when somebody sits at it. How names what was done.
func (s *screen) Copy(ctx context.Context, text string) (how string, err error) {
	var done []string
	if len(text) <= maxCopy {
		seq, name := s.osc52(text)
		if _, err := s.Write([]byte(seq)); err != nil {
			return "", fmt.Errorf("write to the terminal: %w", err)
		}
		done = append(done, name)
	}
	if path, argv := s.tool(); path != "" {
		switch err := give(ctx, path, argv, text); {
		case err == nil:
			done = append(done, argv[0])
		case len(done) == 0:
			return "", err
		}
	}
	if len(done) == 0 {
		return "", fmt.Errorf("%d bytes are too many for a terminal's clipboard, which takes %d, and there is no program for another one", len(text), maxCopy)
	}
	return strings.Join(done, " and "), nil
}

// osc52 is the sequence for the terminal. In tmux it is said twice: to tmux, and
// through it to the terminal outside; screen passes it on in short pieces.
func (s *screen) osc52(text string) (seq, name string) {
	seq = "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	switch {
	case s.env("TMUX") != "":
		return seq + "\x1bPtmux;\x1b" + seq + "\x1b\\", "OSC 52 through tmux"
	case s.env("STY") != "":
		var b strings.Builder
		for piece := range slices.Chunk([]byte(seq), 250) {
			b.WriteString("\x1bP" + string(piece) + "\x1b\\")
		}
		return b.String(), "OSC 52 through screen"
	}
	return seq, "OSC 52"
}

// tool is a program for the clipboard of this machine, and its command line; an
// empty path when there is none, or nobody sits here.
func (s *screen) tool() (path string, argv []string) {
	if s.env("SSH_CONNECTION") != "" || s.env("SSH_TTY") != "" {
		return "", nil
	}
	for _, t := range []struct {
		needs string // a variable that says that there is a desktop
		argv  []string
	}{
		{"WAYLAND_DISPLAY", []string{"wl-copy"}},
		{"DISPLAY", []string{"xclip", "-selection", "clipboard"}},
		{"DISPLAY", []string{"xsel", "--input", "--clipboard"}},
		{"", []string{"pbcopy"}},
		{"", []string{"clip.exe"}}, // Windows, also seen from the Linux in it
	} {
		if t.needs != "" && s.env(t.needs) == "" {
			continue
		}
		if path, err := s.find(t.argv[0]); err == nil {
			return path, t.argv
		}
	}
	return "", nil
}

// toolLimit is how long a program may take for a text.
const toolLimit = 3 * time.Second

func give(ctx context.Context, path string, argv []string, text string) error {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Stdin = strings.NewReader(text)
	if argv[0] == "clip.exe" { // it takes text for that of an old code page, unless it is marked
		cmd.Stdin = bytes.NewReader(utf16le("\ufeff" + text))
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return nil
}

func utf16le(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return b
}

// Bell rings, or shows a notification where the terminal knows how.
func (s *screen) Bell(kind string) {
	seq := "\a"
	if kind == "osc9" {
		seq = "\x1b]9;kernelctl: an approval waits\a"
	}
	_, _ = s.Write([]byte(seq)) // nobody is left to tell
}
