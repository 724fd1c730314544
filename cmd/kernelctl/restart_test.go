package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// patience bounds every wait: what takes longer has not happened.
const patience = 30 * time.Second

// place is a server, an agent of it, and how to call both.
type place struct {
	t      *testing.T
	server *server
	client *client.Client
	agent  wire.RegisterAgent
}

func newPlace(t *testing.T) *place {
	t.Helper()
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "KERNELCTL_CONFIG=", "KERNELCTL_SERVER=", "CI=")
	p := &place{t: t, server: &server{dir: home, vars: func() []string { return env }, cleanup: t.Cleanup}}
	p.must(p.server.start())
	c, err := client.New("http://"+p.server.addr, client.Options{})
	p.must(err)
	p.client = c
	a, err := agent.New(agent.Options{BaseURL: c.Server(), AgentID: "demo", Secret: "secret", Logger: slog.New(slog.DiscardHandler)})
	p.must(err)
	web := httptest.NewServer(a.Handler(work))
	t.Cleanup(web.Close)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.Shutdown(ctx)
	})
	p.agent = wire.RegisterAgent{ID: "demo", WebhookURL: web.URL, Secret: "secret"}
	_, err = c.RegisterAgent(t.Context(), p.agent)
	p.must(err)
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) create(input string) wire.Execution {
	p.t.Helper()
	x, _, err := p.client.CreateExecution(p.t.Context(), wire.CreateExecution{AgentID: "demo", Input: []byte(input)}, "")
	p.must(err)
	return x
}

// watched is a command that runs and whose lines are read as they come.
type watched struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string
	stderr *syncBuffer
}

func (p *place) watch(args ...string) *watched {
	p.t.Helper()
	w := &watched{t: p.t, cmd: exec.Command("kernelctl", args...), lines: make(chan string, 10000), stderr: &syncBuffer{}}
	w.cmd.Env = append(p.server.vars(), "KERNELCTL_SERVER="+p.client.Server())
	w.cmd.Stderr = w.stderr
	out, err := w.cmd.StdoutPipe()
	p.must(err)
	p.must(w.cmd.Start())
	p.t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		defer close(w.lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			w.lines <- s.Text()
		}
	}()
	return w
}

// next waits for a line; false at the end.
func (w *watched) next() (string, bool) {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		return line, ok
	case <-time.After(patience):
		w.t.Fatalf("no line came; stderr:\n%s", w.stderr)
		return "", false
	}
}

// said waits until something is on stderr.
func (w *watched) said(text string) {
	w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.After(patience)
	for !strings.Contains(w.stderr.String(), text) {
		select {
		case <-tick.C:
		case <-giveUp:
			w.t.Fatalf("%q is not on stderr:\n%s", text, w.stderr)
		}
	}
}

// exit waits for the end of the command.
func (w *watched) exit() int {
	w.t.Helper()
	err := w.cmd.Wait()
	e := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &e) {
		w.t.Fatal(err)
	}
	return w.cmd.ProcessState.ExitCode()
}

// The server is killed in the middle of a log that is being followed, and comes
// back: no event is lost, none comes twice.
func TestFollowOverRestart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		exit int
	}{
		{[]string{"events", "tail"}, 0},
		{[]string{"executions", "watch"}, 11},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			x := p.create(`{"do":[{"tool":"a"},{"tool":"b","hold":true}]}`)
			w := p.watch(append(tt.args, x.ID, "-o", "jsonl")...)
			var seqs []int64
			for ended := false; !ended; {
				line, ok := w.next()
				if !ok {
					t.Fatalf("the command ended early; stderr:\n%s", w.stderr)
				}
				var e wire.Event
				p.must(json.Unmarshal([]byte(line), &e))
				seqs = append(seqs, e.EventSeq)
				ended = e.Type.EndsExecution()
				if e.Type == wire.EventStepExecuting && len(seqs) > 7 && w.cmd.ProcessState == nil && !strings.Contains(w.stderr.String(), "lost") {
					p.must(p.server.end(syscall.SIGKILL))
					w.said("lost connection")
					p.must(p.server.start())
					p.must(p.client.CancelExecution(t.Context(), x.ID))
				}
			}
			if got := w.exit(); got != tt.exit {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got, tt.exit, w.stderr)
			}
			want := make([]int64, len(seqs))
			for i := range want {
				want[i] = int64(i) + 1
			}
			if diff := cmp.Diff(want, seqs); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if !strings.Contains(w.stderr.String(), "resumed at seq") {
				t.Errorf("stderr does not say that it resumed:\n%s", w.stderr)
			}
		})
	}
}

const mailPolicy = `default_action: allow
rules:
  - id: mail-out
    when: {target: send_email}
    then: {decision: require_approval}
`

// What happens to approvals while the server is away from their watcher is shown
// when it is back, each change once.
func TestApprovalsWatchOverRestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(p.client.LoadPolicy(t.Context(), "demo", mailPolicy))
	p.create(`{"do":[{"tool":"send_email","args":1}]}`)
	w := p.watch("approvals", "watch", "-o", "jsonl")
	first := w.approval()
	if first.Status != wire.ApprovalPending {
		t.Fatalf("the first line is %s", first.Status)
	}
	p.must(p.server.end(syscall.SIGKILL))
	w.said("lost connection")
	p.must(p.server.start())
	p.must(p.client.GrantApproval(t.Context(), first.ID, wire.DecideApproval{DecidedBy: "alice"}))
	x := p.create(`{"do":[{"tool":"send_email","args":2}]}`)
	got := []string{}
	for len(got) < 2 {
		a := w.approval()
		got = append(got, string(a.Status))
		if a.ExecutionID != x.ID && a.ID != first.ID {
			t.Errorf("a line about approval %s", a.ID)
		}
	}
	if (got[0] == "granted") == (got[1] == "granted") {
		t.Errorf("lines %v, want one granted and one pending", got)
	}
	// An approval that is cancelled with its execution has no event of its own.
	p.must(p.client.CancelExecution(t.Context(), x.ID))
	if a := w.approval(); a.Status != wire.ApprovalCancelled {
		t.Errorf("line %s, want cancelled", a.Status)
	}
	p.must(w.cmd.Process.Signal(os.Interrupt))
	if line, ok := w.next(); ok {
		t.Errorf("one more line: %s", line)
	}
	if got := w.exit(); got != 130 || !strings.Contains(w.stderr.String(), "kernelctl ap watch") {
		t.Errorf("exit code %d, want 130 with a hint; stderr:\n%s", got, w.stderr)
	}
}

func (w *watched) approval() (a wire.Approval) {
	w.t.Helper()
	line, ok := w.next()
	if !ok {
		w.t.Fatalf("the command ended; stderr:\n%s", w.stderr)
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// A signal stops the watching, not what is watched, and the hint says how to go
// on.
func TestSignals(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.create(`{"do":[{"tool":"a","hold":true}]}`)
	tests := []struct {
		args   []string
		signal os.Signal
		exit   int
		hint   string
	}{
		{[]string{"ex", "watch", x.ID}, os.Interrupt, 130, "kernelctl ex watch " + x.ID[len(x.ID)-8:]},
		{[]string{"ex", "watch", x.ID}, syscall.SIGTERM, 143, "kernelctl ex watch"},
		{[]string{"events", "tail", x.ID}, os.Interrupt, 130, "--since-seq"},
		{[]string{"ex", "ls", "-w"}, os.Interrupt, 130, "stopped watching"},
		{[]string{"ex", "get", "-w", x.ID}, os.Interrupt, 130, " goes on"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args[:2], " ")+" "+tt.signal.String(), func(t *testing.T) {
			w := (&place{t: t, server: p.server, client: p.client}).watch(tt.args...)
			if _, ok := w.next(); !ok {
				t.Fatalf("it ended; stderr:\n%s", w.stderr)
			}
			p.must(w.cmd.Process.Signal(tt.signal))
			if got := w.exit(); got != tt.exit || !strings.Contains(w.stderr.String(), tt.hint) {
				t.Errorf("exit code %d, want %d and %q; stderr:\n%s", got, tt.exit, tt.hint, w.stderr)
			}
		})
	}
	now, err := p.client.GetExecution(t.Context(), x.ID)
	p.must(err)
	if now.Status != wire.ExecutionRunning {
		t.Errorf("the execution is %s", now.Status)
	}
}

// Live output reaches a watcher, raw in a pipe.
func TestStream(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	// The first step holds the agent until the watcher is there.
	x := p.create(`{"do":[{"wait":"go"},{"tool":"talk","say":["hello ","wor\u001bld\n"]}]}`)
	w := p.watch("stream", x.ID, "-v")
	w.said("text/event-stream")
	if _, err := p.client.SendSignal(t.Context(), x.ID, wire.Signal{SignalType: "go"}, ""); err != nil {
		t.Fatal(err)
	}
	if line, _ := w.next(); line != "hello wor\x1bld" {
		t.Errorf("live output %q", line)
	}
	if got := w.exit(); got != 0 || !strings.Contains(w.stderr.String(), "is completed") {
		t.Errorf("exit code %d; stderr:\n%s", got, w.stderr)
	}
}
