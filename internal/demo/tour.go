package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// TourOptions say what the tour works with.
type TourOptions struct {
	Server string
	Token  string
	// Agent starts the demo agent in a process of its own, which prints a line
	// for each effect on its standard output.
	Agent func(ctx context.Context) *exec.Cmd
	Out   io.Writer
	By    string // who grants the approval
}

// tour is one guided run.
type tour struct {
	TourOptions
	api   *client.Client
	began time.Time

	mu      sync.Mutex
	effects []string // those that really ran, of both processes
}

// Tour runs the main job and shows it: an agent works, is killed half way, is
// started again, repeats nothing, waits for a person, and finishes. It fails
// when anything happened twice.
func Tour(ctx context.Context, o TourOptions) error {
	api, err := client.New(o.Server, client.Options{Token: o.Token})
	if err != nil {
		return err
	}
	t := &tour{TourOptions: o, api: api, began: time.Now()}
	first, err := t.start(ctx)
	if err != nil {
		return err
	}
	defer first.stop()
	in, err := json.Marshal(Input{Topic: "durable execution", To: "team@example.com"})
	if err != nil {
		return err
	}
	x, _, err := api.CreateExecution(ctx, wire.CreateExecution{AgentID: ID, Input: in, Labels: map[string]string{"demo": "tour"}}, "")
	if err != nil {
		return err
	}
	t.say("execution %s is created: a research assistant that searches, asks a model and mails", x.ID)
	go t.follow(first)
	const before = 2 // steps before the crash
	if err := t.await(ctx, x.ID, before); err != nil {
		return err
	}
	first.kill()
	t.say("the agent is killed (SIGKILL) in the middle of its work")
	second, err := t.start(ctx)
	if err != nil {
		return err
	}
	defer second.stop()
	t.say("a new agent process is up; the run comes back when the lease of the dead one lapses (10s)")
	go t.follow(second)
	if err := t.grant(ctx, x.ID); err != nil {
		return err
	}
	return t.finish(ctx, x.ID)
}

func (t *tour) say(format string, args ...any) {
	_, _ = fmt.Fprintf(t.Out, "%6.1fs  %s\n", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// process is an agent in a process of its own.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	done  chan struct{}
}

func (t *tour) start(ctx context.Context) (*process, error) {
	cmd := t.Agent(ctx)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the demo agent: %w", err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 64), done: make(chan struct{})}
	go func() {
		defer close(p.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			p.lines <- scan.Text()
		}
	}()
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // it is killed, sooner or later
	}()
	for line := range p.lines {
		if line == ready {
			return p, nil
		}
	}
	return nil, errors.New("the demo agent did not start")
}

// ready is what the agent process prints once it takes webhooks.
const ready = "ready"

// Ready prints the line that the tour waits for.
func Ready(w io.Writer) { _, _ = fmt.Fprintln(w, ready) }

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.done
}

func (p *process) stop() {
	select {
	case <-p.done:
	default:
		p.kill()
	}
}

// await follows the log until so many steps have succeeded.
func (t *tour) await(ctx context.Context, id string, steps int) error {
	err := t.api.TailEvents(ctx, id, client.TailOptions{}, func(e wire.Event) error {
		if e.Type == wire.EventStepSucceeded {
			if steps--; steps == 0 {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return errors.Join(err, errors.New("the execution ended too early"))
}

// follow counts the effects of a process until it ends.
func (t *tour) follow(p *process) {
	for line := range p.lines {
		t.effect(line)
	}
}

func (t *tour) effect(line string) {
	if name, ok := strings.CutPrefix(line, "effect "); ok {
		t.mu.Lock()
		t.effects = append(t.effects, name)
		t.mu.Unlock()
		t.say("effect: %s", name)
	}
}

// grant waits for the execution to ask, and says yes.
func (t *tour) grant(ctx context.Context, id string) error {
	var approval string
	err := t.api.TailEvents(ctx, id, client.TailOptions{}, func(e wire.Event) error {
		switch e.Type {
		case wire.EventDispatchFailed:
			t.say("the lease lapsed: attempt 2 starts from the top, and every recorded step is replayed")
		case wire.EventApprovalRequested:
			var p wire.ApprovalPayload
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				return err
			}
			approval = p.ApprovalID
			return errFound
		case wire.EventExecutionFailed, wire.EventExecutionCancelled:
			return fmt.Errorf("the execution ended: %s", e.Payload)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	a, err := t.api.GetApproval(ctx, approval)
	if err != nil {
		return err
	}
	t.say("the policy's rule %s wants a person to see %s %s", a.RuleID, a.Target, a.Args)
	if err := t.api.GrantApproval(ctx, a.ID, wire.DecideApproval{DecidedBy: t.By, Rationale: "the tour says yes"}); err != nil {
		return err
	}
	t.say("%s grants it: the agent runs again from the top", t.By)
	return nil
}

var errFound = errors.New("found")

// finish waits for the end and checks that nothing was done twice.
func (t *tour) finish(ctx context.Context, id string) error {
	events := 0
	if err := t.api.TailEvents(ctx, id, client.TailOptions{}, func(wire.Event) error { events++; return nil }); err != nil {
		return err
	}
	x, err := t.api.GetExecution(ctx, id)
	if err != nil {
		return err
	}
	steps, err := t.api.ListSteps(ctx, id, "")
	if err != nil {
		return err
	}
	t.say("%s after %d events: %s", x.Status, events, x.Output)
	if x.Status != wire.ExecutionCompleted {
		return fmt.Errorf("the execution is %s (%s), want completed", x.Status, x.FailureReason)
	}
	return t.check(steps)
}

// check holds the effects that really ran against the recorded steps.
func (t *tour) check(steps []wire.Step) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := make(map[string]int)
	for _, e := range t.effects {
		counts[e]++
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	var twice []string
	for _, name := range names {
		if counts[name] != 1 {
			twice = append(twice, fmt.Sprintf("%s ran %d times", name, counts[name]))
		}
	}
	if len(twice) > 0 || len(names) != len(steps) {
		return fmt.Errorf("%d effects for %d steps: %s", len(t.effects), len(steps), strings.Join(twice, ", "))
	}
	_, _ = fmt.Fprintf(t.Out, "%d steps, %d effects, each exactly once: %s\n", len(steps), len(t.effects), strings.Join(names, ", "))
	return nil
}
