//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
)

// stage is a terminal on which a command runs.
type stage struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	tty  *os.File
	had  *term.State
	out  syncBuffer
	more chan struct{} // holds one token after something came
	end  chan struct{} // closed when the command has ended
}

// onStage runs a command on a terminal of 100 columns, in a home of its own.
func onStage(t *testing.T, home string, args ...string) *stage {
	t.Helper()
	s := &stage{t: t, cmd: exec.Command("kernelctl", args...), more: make(chan struct{}, 1), end: make(chan struct{})}
	var err error
	if s.pty, s.tty, err = pty.Open(); err != nil {
		t.Skip("no pseudo-terminal here:", err)
	}
	if err := pty.Setsize(s.pty, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	if s.had, err = term.GetState(s.tty.Fd()); err != nil {
		t.Fatal(err)
	}
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "KERNELCTL_BY=", "CI=", "NO_COLOR=", "ACCESSIBLE=")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(s, s.pty) }() // ends with the terminal
	go func() {
		defer close(s.end)
		_ = s.cmd.Wait() // the exit code is in ProcessState
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.end
		_, _ = s.pty.Close(), s.tty.Close()
	})
	return s
}

// Write takes what the command shows.
func (s *stage) Write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return n, err
}

// shows waits for a text, and returns all that came so far.
func (s *stage) shows(what string) string {
	s.t.Helper()
	late := time.After(30 * time.Second)
	for {
		if out := s.out.String(); strings.Contains(out, what) {
			return out
		}
		select {
		case <-s.more:
		case <-late:
			s.t.Fatalf("no %q in:\n%q", what, s.out.String())
		}
	}
}

func (s *stage) exits(code int) {
	s.t.Helper()
	select {
	case <-s.end:
	case <-time.After(30 * time.Second):
		s.t.Fatalf("it does not end; it showed:\n%q", s.out.String())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d; it showed:\n%q", got, code, s.out.String())
	}
}

// restored checks that the terminal is as it was.
func (s *stage) restored() {
	s.t.Helper()
	out := s.out.String()
	for name, seq := range map[string]string{"the main screen": "\x1b[?1049l", "the cursor": "\x1b[?25h", "pastes as they are": "\x1b[?2004l", "no reports of focus": "\x1b[?1004l"} {
		if !strings.Contains(out, seq) {
			s.t.Errorf("the terminal did not get back %s", name)
		}
	}
	now, err := term.GetState(s.tty.Fd())
	if err != nil {
		s.t.Fatal(err)
	}
	if d := cmp.Diff(fmt.Sprint(s.had), fmt.Sprint(now)); d != "" {
		s.t.Errorf("modes of the terminal (-before +after):\n%s", d)
	}
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// TestDevUI: server, agents and dashboard run in one terminal; its screen has no
// line of the log; and however it ends, it ends whole.
func TestDevUI(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(s *stage)
		code int
	}{
		"quit":   {func(s *stage) { _, _ = s.pty.WriteString("q") }, 0},
		"ctrl+c": {func(s *stage) { _, _ = s.pty.WriteString("\x03") }, 0},
		"term":   {func(s *stage) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		"hangup": {func(s *stage) { _ = s.cmd.Process.Signal(syscall.SIGHUP) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			s := onStage(t, home, "dev", "--ui", "--listen", "127.0.0.1:0")
			s.shows("transfer_money") // an approval of the company
			addr := address.FindString(s.shows("alice"))
			if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); err != nil {
				t.Errorf("the server of the dashboard: %v", err)
			} else {
				_ = c.Close()
			}
			tt.end(s)
			s.exits(tt.code)
			log := filepath.Join(home, ".local", "state", "kernelctl", "dev.log")
			shown := s.shows("the log of the server is in " + log)
			s.restored()
			if strings.Contains(shown, "level=") {
				t.Errorf("there are lines of the log on the screen:\n%q", shown)
			}
			text, err := os.ReadFile(log)
			if err != nil || !strings.Contains(string(text), "msg=stopping") {
				t.Errorf("the log of the server: %v\n%s", err, text)
			}
			if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("the server is still there: %v %v", c, err)
			}
		})
	}
}

// TestDevUIWithoutLog: a home that cannot be written to costs the log, and
// nothing else.
func TestDevUIWithoutLog(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".local"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := onStage(t, home, "dev", "--ui", "--listen", "127.0.0.1:0")
	s.shows("transfer_money")
	_, _ = s.pty.WriteString("q")
	s.exits(0)
	s.shows("there is no log of the server: ")
	s.restored()
}
