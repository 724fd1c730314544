package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// beside is a command that runs beside a script.
type beside struct {
	cmd      *exec.Cmd
	out, err *syncBuffer
}

type besideKey struct{}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: start NAME TEXT command...")
	}
	b := &beside{cmd: exec.Command(lookPath(ts, args[2]), args[3:]...), out: &syncBuffer{}, err: &syncBuffer{}}
	b.cmd.Dir, b.cmd.Env, b.cmd.Stdout, b.cmd.Stderr = ts.Getenv("WORK"), environ(ts), b.out, b.err
	ts.Check(b.cmd.Start())
	ts.Defer(func() { _ = b.cmd.Process.Kill() })
	running(ts)[args[0]] = b
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.After(patience)
	for !strings.Contains(b.out.String(), args[1]) && !strings.Contains(b.err.String(), args[1]) {
		select {
		case <-tick.C:
		case <-giveUp:
			ts.Fatalf("%s does not write %q\n%s\n%s", args[0], args[1], b.out, b.err)
		}
	}
}

func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || running(ts)[args[0]] == nil {
		ts.Fatalf("usage: finish NAME N [INT|TERM]")
	}
	b := running(ts)[args[0]]
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if len(args) > 2 {
		signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}
		ts.Check(b.cmd.Process.Signal(signals[args[2]]))
	}
	_ = b.cmd.Wait() // the exit code says it
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(b.out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(b.err.String()), 0o600))
	if got := b.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%s: exit code %d, want %d\n%s\n%s", args[0], got, want, b.out, b.err)
	}
}

func running(ts *testscript.TestScript) map[string]*beside {
	return ts.Value(besideKey{}).(map[string]*beside)
}
