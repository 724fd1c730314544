package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/freeport"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

// quickExit keeps the race detector from sleeping for a second at the end of
// every process.
const quickExit = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if err := os.Setenv("GORACE", quickExit); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"kernelctl": main})
}

// TestScripts runs the real program against real servers. Beside the commands of
// testscript a script has:
//
//	server [start|stop|kill]   a server of its own in development mode; it keeps
//	                           its port and its database over stop and kill
//	agent ID                   an agent that does what the input says; see agent_test.go
//	agent -broken ID           one whose webhook answers 500
//	rc N command...            run a command that must exit with N
//	norm FILE                  copies FILE (or stdout, stderr) to the file out, with
//	                           placeholders for ids, times and durations
//	id NAME                    the first id of stdout becomes $NAME, its end $NAME8
//	pty [-in FILE] OUT command...  run a command on a terminal of 100 columns
//	start NAME TEXT command...  run a command beside the script, and go on when TEXT
//	                           is in what it writes
//	finish NAME N [INT|TERM]   wait until it ends with exit code N, after a signal;
//	                           what it wrote is in the files NAME.out and NAME.err
//	schema [-l] NAME FILE      validate FILE (or stdout, stderr) against docs/schemas
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": cmdServer, "agent": cmdAgent, "rc": cmdRC, "norm": cmdNorm, "id": cmdID, "pty": cmdPty, "schema": cmdSchema,
			"start": cmdStart, "finish": cmdFinish,
		},
	})
}

type serverKey struct{}

func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for _, v := range []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/.config", "XDG_CACHE_HOME=" + home + "/.cache",
		"TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC", "GORACE=" + quickExit,
	} {
		name, value, _ := strings.Cut(v, "=")
		env.Setenv(name, value)
	}
	env.Values[besideKey{}] = map[string]*beside{}
	env.Values[serverKey{}] = &server{dir: env.WorkDir, vars: func() []string { return env.Vars }, cleanup: env.Defer}
	return nil
}

// server is the server of a test.
type server struct {
	dir     string
	vars    func() []string
	cleanup func(func())
	addr    string
	cmd     *exec.Cmd
	log     *syncBuffer
}

func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: server start|stop|kill [flags]")
	}
	s := ts.Value(serverKey{}).(*server)
	switch args[0] {
	case "start":
		ts.Check(s.start(args[1:]...))
		ts.Setenv("KERNELCTL_SERVER", "http://"+s.addr)
		ts.Setenv("ADDR", s.addr)
	case "stop":
		ts.Check(s.end(syscall.SIGTERM))
	case "kill":
		ts.Check(s.end(syscall.SIGKILL))
	default:
		ts.Fatalf("server %s", args[0])
	}
}

// start runs the server until it answers, on the port that it had before.
func (s *server) start(flags ...string) error {
	if s.addr == "" {
		var err error
		if s.addr, err = freeport.Loopback(context.Background()); err != nil {
			return err
		}
		s.cleanup(func() { _ = s.end(syscall.SIGKILL) })
	}
	args := append([]string{"serve", "--listen", s.addr, "--db", filepath.Join(s.dir, "kernel.db"), "--shutdown-grace", "5s"}, flags...)
	if !strings.Contains(strings.Join(flags, " "), "--bearer-token") {
		args = append(args, "--dev")
	}
	s.cmd, s.log = exec.Command("kernelctl", args...), &syncBuffer{}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = s.dir, s.vars(), s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.awaitReady()
}

func (s *server) awaitReady() error {
	c, err := client.New("http://"+s.addr, client.Options{RequestTimeout: time.Second, Tries: 1})
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.After(20 * time.Second)
	for {
		_, err := c.Ready(context.Background())
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-giveUp:
			return fmt.Errorf("the server does not become ready: %w\n%s", err, s.log)
		}
	}
}

func (s *server) end(sig os.Signal) error {
	if s.cmd == nil {
		return nil
	}
	cmd := s.cmd
	s.cmd = nil
	if err := cmd.Process.Signal(sig); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil && sig != syscall.SIGKILL {
		return fmt.Errorf("the server: %w\n%s", err, s.log)
	}
	return nil
}

// syncBuffer is written by a process while a test may read it.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func cmdRC(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rc N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// placeholders stand for what is different in each run.
var placeholders = []struct {
	re *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\x1b\[(\d+)m`), "{$1}"}, // colours
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<sha256>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "<clock>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<addr>"},
	{regexp.MustCompile(`\b([0-9a-f]{8})\b`), "<short>"},
	{regexp.MustCompile(`\b\d+m\d+s\b|\b\d+(\.\d+)?m?s\b|\b\d+m\b`), "<dur>"},
	{regexp.MustCompile(`\b\d+\.\d [KMG]iB\b`), "<size>"},
	{regexp.MustCompile(`request [0-9a-f]{16}`), "request <id>"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "}, // the widths of columns depend on what is in them
	{regexp.MustCompile(` +(\n|$)`), "$1"},
}

func normalize(text string) string {
	for _, p := range placeholders {
		text = p.re.ReplaceAllString(text, p.as)
	}
	return text
}

func cmdNorm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: norm FILE|stdout|stderr")
	}
	text := normalize(strings.ReplaceAll(ts.ReadFile(args[0]), "\r\n", "\n"))
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(text), 0o600))
}

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{64}\b`)

func cmdID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: id NAME")
	}
	id := uuidPattern.FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("there is no id in stdout")
	}
	ts.Setenv(args[0], id)
	ts.Setenv(args[0]+"8", id[len(id)-8:])
}
