//go:build linux || darwin

package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// helperEnv makes the test binary play a command on a terminal.
const helperEnv = "KERNELCTL_TUI_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		os.Exit(m.Run())
	case "version", "ui":
		stdio := cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		os.Exit(cli.Run(context.Background(), []string{os.Getenv(helperEnv)}, stdio, cli.Options{Commands: Commands()}))
	default:
		os.Exit(helper())
	}
}

// bomb is a clipboard that lets the next look at the clock panic, which is in
// the middle of Update.
type bomb struct {
	mu    sync.Mutex
	armed bool
}

func (b *bomb) Copy(context.Context, string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = true
	return "test", nil
}

func (b *bomb) Bell(string) {}

func (b *bomb) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.armed {
		panic("boom")
	}
	return time.Now()
}

func helper() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o, p := Options{}, Place{Client: eager{typical()}, By: "alice"}
	switch os.Getenv(helperEnv) {
	case "panic":
		b := &bomb{}
		o.Terminal, o.Now = b, b.now
	case "flood":
		o.Screen, p.Client = "executions", flood{typical()}
	}
	err := Run(ctx, p, o, os.Stdin, os.Stdout, true)
	fmt.Println("END", err)
	return 0
}

// console is the test binary on a terminal of its own.
type console struct {
	*transcript
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File
	tty *os.File
	had *term.State
}

func openConsole(t *testing.T, mode string, env ...string) *console {
	t.Helper()
	c := &console{t: t, transcript: newTranscript()}
	var err error
	if c.pty, c.tty, err = pty.Open(); err != nil {
		t.Skip("no pseudo-terminal here:", err)
	}
	if err := pty.Setsize(c.pty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	if c.had, err = term.GetState(c.tty.Fd()); err != nil {
		t.Fatal(err)
	}
	c.pty = pollable(t, c.pty)
	c.cmd = exec.CommandContext(t.Context(), os.Args[0])
	c.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "CI=", "NO_COLOR=", helperEnv+"="+mode), env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.tty, c.tty, c.tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(c.transcript, c.pty) }() // until the terminal is closed
	t.Cleanup(func() { _ = c.pty.Close(); _ = c.tty.Close() })
	return c
}

// pollable is a file whose Close ends the reads that are under way; asking for
// the descriptor of the old one has made it a file whose Close waits for them.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	if err := errors.Join(syscall.SetNonblock(fd, true), f.Close()); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// until waits for a text on the terminal.
func (c *console) until(want string) {
	c.t.Helper()
	c.transcript.until(c.t, 0, want, nil)
}

// keysUntil presses keys again and again until a text comes: a question takes
// none at first.
func (c *console) keysUntil(keys, want string) {
	c.t.Helper()
	c.keys(keys)
	c.transcript.until(c.t, 0, want, func() { c.keys(keys) })
}

func (c *console) keys(s string) {
	c.t.Helper()
	if _, err := c.pty.WriteString(s); err != nil {
		c.t.Fatal(err)
	}
}

// restored checks that the terminal is as it was.
func (c *console) restored() {
	c.t.Helper()
	c.until("END")
	out := c.text()
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("%v after it wrote:\n%s", err, out[max(0, len(out)-8000):])
	}
	for name, seq := range map[string]string{"the main screen": "\x1b[?1049l", "the cursor": "\x1b[?25h", "pastes as they are": "\x1b[?2004l", "no reports of focus": "\x1b[?1004l"} {
		if !strings.Contains(out, seq) {
			c.t.Errorf("the terminal did not get back %s", name)
		}
	}
	now, err := term.GetState(c.tty.Fd())
	if err != nil {
		c.t.Fatal(err)
	}
	if d := cmp.Diff(fmt.Sprint(c.had), fmt.Sprint(now)); d != "" {
		c.t.Errorf("modes of the terminal (-before +after):\n%s", d)
	}
}

func TestTheTerminalIsRestored(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *console){
		"quit":   func(c *console) { c.keys("q") },
		"ctrl+c": func(c *console) { c.keys("\x03") },
		"term":   func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGTERM) },
		"panic":  func(c *console) { c.keys("y"); c.until("copy:"); c.keys("i") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openConsole(t, name)
			c.until("send_email")
			end(c)
			c.restored()
		})
	}
}

// TestABurst: 5,000 events a second are at most ten frames a second, keys are
// answered meanwhile, and what does not change is not written again.
func TestABurst(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "flood")
	c.until("[2 Executions]")
	began, from := time.Now(), len(c.text())
	c.until("last_of_all")
	out, took := c.text()[from:], time.Since(began)
	frames := strings.Count(out, "\x1b[24;H")
	if most := int(took/framePause) + int(took/time.Second) + 4; frames > most || frames < 3 {
		t.Errorf("%d frames in %s, want at most %d", frames, took, most)
	}
	for _, still := range []string{"[2 Executions]", "UPDATED", "space mark"} {
		if n := strings.Count(out, still); n > 1 { // once where the footer or the header really changed
			t.Errorf("%q was written %d times", still, n)
		}
	}
	c.keys("q")
	c.restored()
}

func TestABurstLeavesKeysAlone(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "flood")
	c.until("tool_") // it is under way
	c.keys("?")
	c.until("Keys of executions")
	if strings.Contains(c.text(), "last_of_all") {
		t.Error("the key had to wait for the end of the burst")
	}
	c.keys("\x03")
	c.restored()
}

// realUI is the command ui on a terminal, against a real service with an agent
// that has a policy.
func realUI(t *testing.T, env ...string) (*console, *daemontest.Service) {
	t.Helper()
	s := daemontest.New(t, daemon.Options{Dev: true})
	s.Agent("writer").Policy("default_action: allow\nrules: []\n")
	return openConsole(t, "ui", append(env, "KERNELCTL_SERVER="+s.Base, "KERNELCTL_CONFIG=", "KERNELCTL_BY=alice",
		"XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())...), s
}

// ended waits for the end of the process.
func (c *console) ended() error {
	c.t.Helper()
	end := make(chan error, 1)
	go func() { end <- c.cmd.Wait() }()
	select {
	case err := <-end:
		return err
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		c.t.Fatalf("the dashboard is still running; it wrote\n%q", c.text())
		return nil
	}
}

// TestALostTerminalEndsIt: nothing is left running when the connection to the
// terminal is gone, also while another program has it.
func TestALostTerminalEndsIt(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *console){
		"hangup": func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGHUP) },
		"closed": func(c *console) { _ = c.pty.Close() },
		"paging": func(c *console) {
			c.keys("3")
			c.until("default_action")
			c.keys("v")
			c.until("PAGER ")
			_ = c.pty.Close()
		},
		"deciding": func(c *console) { c.keys(":"); c.until("palette"); _ = c.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := realUI(t, "PAGER=cat; test -t 1 && echo PAGER $$; sleep 600")
			c.until("Nothing waits for you")
			lose(c)
			_ = c.ended()
			if _, after, ok := strings.Cut(c.text(), "PAGER "); ok {
				var pid int
				if _, err := fmt.Sscan(after, &pid); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(pid, 0); err == nil {
					t.Errorf("the pager %d is still running", pid)
				}
			}
		})
	}
}

// TestWhereNothingIsRedrawn: it is the inbox line by line.
func TestWhereNothingIsRedrawn(t *testing.T) {
	t.Parallel()
	c, s := realUI(t, "ACCESSIBLE=1")
	c.until("this is kernelctl approvals watch")
	mailer := s.Agent("mailer")
	mailer.Policy("default_action: deny\nrules:\n  - id: ask\n    when: {target: \"*\"}\n    then: {decision: require_approval}\n")
	mailer.Start(`"input":{}`).Submit(wire.KindToolCall, "send_email", `{}`)
	c.until("send_email")
	if strings.Contains(c.text(), "\x1b[?1049h") {
		t.Errorf("it draws: %q", c.text())
	}
	_ = c.cmd.Process.Signal(os.Interrupt)
	_ = c.ended()
}

// TestOtherProgramsOnTheTerminal edits a policy and pages it with programs that
// are really run.
func TestOtherProgramsOnTheTerminal(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "my editor")
	script := "#!/bin/sh\ntest -t 0 && test -t 1 && echo '# by me' >> \"$1\"\n"
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	c, s := realUI(t, "VISUAL=", "EDITOR='"+editor+"'", "PAGER=test -t 1 && sed s/^/PAGED:/; read -r answer </dev/tty")
	c.until("Nothing waits for you")
	c.keys("3")
	c.until("default_action")
	c.keys("E")
	c.until("+# by me")
	c.keysUntil("\t", "\x1b[7m[ Load ]")
	c.keysUntil("\r", "is loaded, in force")
	var policy wire.Policy
	s.Admin("GET", "/v0/policies/writer", "", 200, &policy)
	if !strings.HasSuffix(policy.Bundle, "# by me\n") {
		t.Errorf("the policy is %q", policy.Bundle)
	}
	c.until("3  # by me")
	c.keys("v")
	c.until("PAGED:   3  # by me")
	c.keys("\r")
	c.keysUntil("?", "Keys of agents")
	c.keys("\x03")
	if err := c.ended(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	now, err := term.GetState(c.tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fmt.Sprint(c.had), fmt.Sprint(now)); d != "" {
		t.Errorf("modes of the terminal (-before +after):\n%s", d)
	}
}

// TestOtherCommandsLeaveTheTerminalAlone holds the reason for package guard.
func TestOtherCommandsLeaveTheTerminalAlone(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"TERM=xterm-256color", "TERM=dumb", "NO_COLOR=1"} {
		c := openConsole(t, "version", env)
		began := time.Now()
		c.until("\n")
		if err := c.cmd.Wait(); err != nil {
			t.Fatal(err, c.text())
		}
		if d := time.Since(began); d > 2*time.Second { // it was 5 s; alone it takes a hundredth of that
			t.Errorf("%s: version took %s", env, d)
		}
		if out := c.text(); strings.Contains(out, "\x1b]") || strings.Contains(out, "\x1b[6n") || strings.ContainsRune(out, 0x1b) {
			t.Errorf("%s: version wrote %q", env, out)
		}
	}
}
