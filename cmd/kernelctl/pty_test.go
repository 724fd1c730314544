package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPty runs a command with the three streams on a terminal of 100 columns and
// 40 lines, and writes all that it showed to a file.
func cmdPty(ts *testscript.TestScript, neg bool, args []string) {
	var input string
	if len(args) > 1 && args[0] == "-in" {
		input, args = ts.ReadFile(args[1]), args[2:]
	}
	if len(args) < 2 {
		ts.Fatalf("usage: pty [-in FILE] OUT command...")
	}
	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = environ(ts)
	shown, err := onTerminal(cmd, input)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(shown, "\r\n", "\n")), 0o600))
	exited := (*exec.ExitError)(nil)
	switch {
	case err != nil && !errors.As(err, &exited):
		ts.Fatalf("%v\n%s", err, shown)
	case err == nil && neg:
		ts.Fatalf("exit code 0 is not what was expected\n%s", shown)
	case err != nil && !neg:
		ts.Fatalf("%v\n%s", err, shown)
	}
}

func lookPath(ts *testscript.TestScript, name string) string {
	return filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], name)
}

func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"HOME", "PATH", "TERM", "LANG", "TZ", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "KERNELCTL_SERVER", "KERNELCTL_BY", "KERNELCTL_TOKEN", "NO_COLOR", "USER", "CI", "KERNELCTL_PAGER", "WORK", "TMPDIR", "GORACE"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// onTerminal runs a command on a terminal and types the input, the end of it
// included.
func onTerminal(cmd *exec.Cmd, input string) (shown string, err error) {
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if _, err := io.WriteString(f, input); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, f); err != nil && !errors.Is(err, syscall.EIO) { // EIO: the other side has closed it
		return b.String(), err
	}
	return b.String(), cmd.Wait()
}
