package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childVar names what this binary does instead of its tests when a test starts
// it again, as a process that can be killed, limited or deprived of its rights.
const childVar = "SQLITE_TEST_CHILD"

var children = map[string]func(args []string) error{
	"open":   childOpen,
	"serve":  childServe,
	"backup": childBackup,
}

func TestMain(m *testing.M) {
	name, ok := os.LookupEnv(childVar)
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	if err := children[name](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is this binary started again.
func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), childVar+"="+name)
	return cmd
}

// lines starts a child and gives what it writes, a line at a time.
func lines(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(out)
}
