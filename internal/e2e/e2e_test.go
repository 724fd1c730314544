package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/freeport"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(envAgent) != "" {
		fmt.Fprintln(os.Stderr, "agent:", agentMain())
		os.Exit(1)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "kernelctl-e2e-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		binary = filepath.Join(dir, "kernelctl")
		build := exec.Command("go", "build", "-o", binary, "github.com/agentkernel/kernelctl/cmd/kernelctl")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

const (
	token  = "e2e-token-e2e-token"
	secret = "e2e-secret"
	rules  = `
default_action: deny
rules:
  - {id: tools, when: {target: charge_card}, then: {decision: allow}}
  - {id: models, when: {step_kind: llm_call}, then: {decision: allow}}
  - {id: mail, when: {target: send_email}, then: {decision: require_approval, reason: a person reads it first}}
`
)

// process is a program that can be killed.
type process struct {
	cmd *exec.Cmd
	log *bytes.Buffer
}

func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), log: &bytes.Buffer{}}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s:\n%s", filepath.Base(name), strings.Join(args, " "), p.log)
		}
	})
	return p
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Loopback(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// world is a server, an agent and a model provider.
type world struct {
	t                    *testing.T
	api                  *client.Client
	server, agent        string // addresses
	db, effects          string
	provider             *httptest.Server
	asked                atomic.Int64
	serverProc, agentPro *process
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: freeAddress(t), agent: freeAddress(t), db: filepath.Join(t.TempDir(), "k.db"), effects: t.TempDir()}
	w.provider = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.asked.Add(1)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"choices":[{"message":{"role":"assistant","content":"good morning"}}],"usage":{"prompt_tokens":11,"completion_tokens":2}}`)
	}))
	t.Cleanup(w.provider.Close)
	var err error
	if w.api, err = client.New("http://"+w.server, client.Options{Token: token}); err != nil {
		t.Fatal(err)
	}
	return w
}

// startServer starts the server and waits until it answers.
func (w *world) startServer(ctx context.Context) {
	w.t.Helper()
	w.serverProc = start(w.t, []string{"SERVICE_BEARER_TOKEN=" + token}, binary, "serve", "--listen", w.server, "--db", w.db)
	for {
		if _, err := w.api.Ready(ctx); err == nil {
			return
		}
		if ctx.Err() != nil {
			w.t.Fatalf("the server did not come up: %v", context.Cause(ctx))
		}
	}
}

// startAgent starts the agent and waits until it listens: a webhook that comes
// before would be a failed delivery, and stand in the log.
func (w *world) startAgent(ctx context.Context, hold bool) {
	w.t.Helper()
	env := []string{
		envAgent + "=" + w.agent, envAPI + "=http://" + w.server, envSecret + "=" + secret,
		envEffects + "=" + w.effects, envProvider + "=" + w.provider.URL,
	}
	if hold {
		env = append(env, envHold+"=1")
	}
	w.agentPro = start(w.t, env, os.Args[0])
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.agent)
		if err == nil {
			_ = c.Close()
			return
		}
		if ctx.Err() != nil {
			w.t.Fatalf("the agent did not come up: %v", context.Cause(ctx))
		}
	}
}

var errSeen = errors.New("seen")

// await follows the log until an event satisfies want.
func (w *world) await(ctx context.Context, id string, want func(wire.Event) bool) {
	w.t.Helper()
	err := w.api.TailEvents(ctx, id, client.TailOptions{}, func(e wire.Event) error {
		if want(e) {
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		w.t.Fatalf("waiting for an event of %s: %v", id, err)
	}
}

func (w *world) count(effect string) int {
	b, err := os.ReadFile(filepath.Join(w.effects, effect))
	if err != nil {
		return 0
	}
	return bytes.Count(b, []byte("\n"))
}

// TestMainJob kills the agent after its second effect and the server while the
// execution waits for a person, and then counts: every effect ran exactly once.
func TestMainJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w := newWorld(t)
	w.startServer(ctx)
	lease := int64(10)
	if _, err := w.api.RegisterAgent(ctx, wire.RegisterAgent{ID: agentID, WebhookURL: "http://" + w.agent + "/hook", Secret: secret, LeaseTimeoutSeconds: &lease}); err != nil {
		t.Fatal(err)
	}
	if err := w.api.LoadPolicy(ctx, agentID, rules); err != nil {
		t.Fatal(err)
	}
	w.startAgent(ctx, true)
	x, _, err := w.api.CreateExecution(ctx, wire.CreateExecution{AgentID: agentID, Input: json.RawMessage(`{"amount":42}`)}, "")
	if err != nil {
		t.Fatal(err)
	}

	done := 0
	w.await(ctx, x.ID, func(e wire.Event) bool {
		if e.Type == wire.EventStepSucceeded {
			done++
		}
		return done == 2
	})
	w.agentPro.kill()
	w.startAgent(ctx, false)

	w.await(ctx, x.ID, func(e wire.Event) bool { return e.Type == wire.EventExecutionBlocked })
	w.serverProc.kill()
	w.startServer(ctx)
	approvals, err := w.api.ListApprovals(ctx, client.ApprovalFilter{})
	if err != nil || len(approvals) != 1 {
		t.Fatalf("approvals after the restart: %v, %v; want one", approvals, err)
	}
	if err := w.api.GrantApproval(ctx, approvals[0].ID, wire.DecideApproval{DecidedBy: "alice"}); err != nil {
		t.Fatal(err)
	}
	w.await(ctx, x.ID, func(e wire.Event) bool { return e.Type.EndsExecution() })

	x, err = w.api.GetExecution(ctx, x.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"mail":"sent","receipt":"receipt for 42","text":"good morning"}`; x.Status != wire.ExecutionCompleted || string(x.Output) != want {
		t.Errorf("execution is %s with output %s (%s), want completed with %s", x.Status, x.Output, x.FailureReason, want)
	}
	got := map[string]int{"model": int(w.asked.Load())}
	want := map[string]int{"model": 1}
	for _, name := range []string{"charge_card", "pick_token", "send_email"} {
		got[name], want[name] = w.count(name), 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	w.checkLog(ctx, x.ID)
	w.checkSteps(ctx, x.ID)
}

// checkLog holds the whole log against what the tables of docs/events.md say.
func (w *world) checkLog(ctx context.Context, id string) {
	w.t.Helper()
	events, err := w.api.ListEvents(ctx, id, 0, wire.MaxEventsLimit)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for i, e := range events {
		if e.EventSeq != int64(i+1) {
			w.t.Errorf("event %d has event_seq %d", i+1, e.EventSeq)
		}
		var p struct{ Target, Reason, Error any }
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			w.t.Fatal(err)
		}
		line := string(e.Type)
		for _, v := range []any{p.Target, p.Reason, p.Error} {
			if text, ok := v.(string); ok {
				line += " " + text
			}
		}
		got = append(got, line)
	}
	want := strings.Split(strings.TrimSpace(`
execution.created
dispatch.queued created
dispatch.acked
execution.started
step.proposed charge_card
step.allowed charge_card
step.executing charge_card
step.succeeded charge_card
step.proposed fake-1
step.allowed fake-1
step.executing fake-1
step.succeeded fake-1
dispatch.failed lease_lapsed
dispatch.queued lease_lapsed
dispatch.acked
step.proposed pick_token
step.allowed pick_token
step.executing pick_token
step.succeeded pick_token
step.proposed send_email
step.awaiting_approval send_email
approval.requested a person reads it first
execution.blocked approval
approval.granted
step.allowed send_email
execution.resumed approval_granted
dispatch.queued approval_granted
dispatch.acked
step.executing send_email
step.succeeded send_email
execution.completed`), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("event log (-want +got):\n%s", diff)
	}
}

func (w *world) checkSteps(ctx context.Context, id string) {
	w.t.Helper()
	steps, err := w.api.ListSteps(ctx, id, "")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range steps {
		if s.Status != wire.StepSucceeded {
			w.t.Errorf("step %s is %s, want succeeded", s.Target, s.Status)
		}
		if strings.Contains(string(s.Args), "must-not-be-recorded") {
			w.t.Errorf("step %s recorded a credential: %s", s.Target, s.Args)
		}
		if s.Kind == wire.KindLLMCall && (s.Usage == nil || *s.Usage != wire.Usage{InputTokens: 11, OutputTokens: 2}) {
			w.t.Errorf("usage of the model call is %+v, want 11 in, 2 out", s.Usage)
		}
	}
}
