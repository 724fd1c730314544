package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// example says how an example of the help is run, when not as most are: with y
// typed to what it asks, and exit code 0.
type example struct {
	input string
	code  int
	ended bool   // the execution that it names must have ended, so that following it ends
	skip  string // why it is not run here
}

// examples are by how a line begins.
var examples = []struct {
	begins string
	example
}{
	{"kernelctl ap grant --by alice", example{input: "1\ny\n"}},
	{"kernelctl ap ls --mine", example{}},
	{"kernelctl approvals watch", example{code: 8}},
	{"kernelctl ap watch", example{code: 8}},
	{"kernelctl ex ls -w", example{code: 8}},
	{"kernelctl events tail --agent", example{code: 8}},
	{"kernelctl events tail 9", example{ended: true}},
	{"kernelctl ex watch 9", example{ended: true}},
	{"kernelctl executions watch 9", example{ended: true}},
	{"kernelctl executions wait 9", example{ended: true}},
	{"kernelctl ex wait 9", example{ended: true}},
	{"kernelctl stream ", example{ended: true}},
	{"kernelctl agents delete", example{ended: true}},
	{"kernelctl ag rm", example{ended: true}},
	{"kernelctl pol test demo -f p.yaml --since", example{code: 20}}, // the fixture's bundle is another one
	{"kernelctl ex view x.jsonl", example{ended: true}},
	{"kernelctl ui", example{skip: "a dashboard"}},
	{"kernelctl dev", example{skip: "a server; follow.txtar runs one"}},
	{"kernelctl serve", example{skip: "a server; follow.txtar runs one"}},
	{"SERVICE_BEARER_TOKEN=", example{skip: "a server; follow.txtar runs one"}},
	{"kernelctl bench", example{skip: "it takes minutes"}},
}

func exampleOf(line string) example {
	for _, e := range examples {
		if strings.HasPrefix(line, e.begins) {
			return e.example
		}
	}
	return example{}
}

// TestExamplesWork runs every example of the help as it stands there, on a
// terminal, against a server that has what they name.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if runtime.GOOS == "windows" || err != nil {
		t.Skip("examples are for a shell")
	}
	p := newPlace(t)
	run := map[string]bool{} // a line may stand in the help of a group and of its command
	for _, c := range commands(tree()) {
		if c.Hidden || c.HasParent() && c.Parent().Hidden {
			continue
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			line = strings.TrimSpace(line)
			e := exampleOf(line)
			if line == "" || e.skip != "" || run[line] {
				continue
			}
			run[line] = true
			t.Run(c.CommandPath(), func(t *testing.T) {
				w := &place{t: t, server: p.server, client: p.client, agent: p.agent}
				w.example(bash, line, e)
			})
		}
	}
}

func (p *place) example(bash, line string, e example) {
	p.t.Helper()
	named := p.named(e.ended)
	dir := p.fixtures(line, named)
	for of, id := range named {
		line = strings.ReplaceAll(line, of, id)
	}
	line = strings.ReplaceAll(line, "/var/lib/kernelctl/", p.server.dir+"/")
	line = strings.ReplaceAll(line, "/backups/", dir+"/")
	cmd := exec.Command(bash, "-ec", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir, "TERM=xterm", "LANG=C.UTF-8", "CI=", "EDITOR=cat", "SERVICE_DB="+filepath.Join(p.server.dir, "kernel.db"),
		"MAIL_SECRET=s3cr3t-of-mail", "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	if e.code == 8 {
		cmd.Env = append(cmd.Env, "KERNELCTL_TIMEOUT=300ms")
	}
	input := e.input
	if input == "" {
		input = "y\n"
	}
	shown, err := onTerminal(cmd, input)
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != e.code {
		p.t.Errorf("%s: exit code %d, want %d\n%s", line, got, e.code, shown)
	}
}

// named makes what the examples name: two executions that wait for approval
// behind a step, or that have ended, and a third that runs. The agent is
// registered anew, because an example may have changed or deleted it.
func (p *place) named(ended bool) map[string]string {
	p.t.Helper()
	ctx := p.t.Context()
	live, err := p.client.ListExecutions(ctx, client.ExecutionFilter{Limit: wire.MaxExecutionsLimit})
	p.must(err)
	for _, x := range live.Executions {
		if !x.Status.Terminal() {
			_ = p.client.CancelExecution(ctx, x.ID) // it may have ended meanwhile
		}
	}
	_, err = p.client.RegisterAgent(ctx, p.agent)
	p.must(err)
	p.must(p.client.LoadPolicy(ctx, "demo", mailPolicy))
	call := `{"tool":"send_email","args":{"to":"ceo@x.com"}}`
	if ended {
		call = `{"tool":"look"}`
	}
	first := p.create(`{"do":[{"tool":"look"},` + call + `]}`)
	second := p.create(`{"do":[{"tool":"look"},` + call + `]}`)
	names := map[string]string{"9f3a71c2": first.ID[len(first.ID)-8:], "c2d0e911": second.ID[len(second.ID)-8:]}
	for _, x := range []wire.Execution{first, second} {
		p.settled(x.ID)
	}
	if !ended {
		p.create(`{"do":[{"tool":"dig","hold":true}]}`)
	}
	for name, x := range map[string]wire.Execution{"51c09ab4": first, "0aa1d377": second} {
		approvals, err := p.client.ListApprovals(ctx, client.ApprovalFilter{ExecutionID: x.ID})
		p.must(err)
		if len(approvals) == 1 {
			names[name] = approvals[0].ID[len(approvals[0].ID)-8:]
		}
	}
	steps, err := p.client.ListSteps(ctx, first.ID, "")
	p.must(err)
	names["7be10c44"] = steps[0].StepID[len(steps[0].StepID)-8:]
	return names
}

// settled follows an execution until it is blocked or has ended.
func (p *place) settled(id string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	settled := errors.New("settled")
	err := p.client.TailEvents(ctx, id, client.TailOptions{}, func(e wire.Event) error {
		if e.Type == wire.EventExecutionBlocked || e.Type.EndsExecution() {
			return settled
		}
		return nil
	})
	if err != nil && !errors.Is(err, settled) {
		p.t.Fatal(err)
	}
}

// fixtures is a folder with the files that an example reads, and stand-ins for
// the programs of others that it calls.
func (p *place) fixtures(line string, named map[string]string) string {
	p.t.Helper()
	dir := p.t.TempDir()
	pass := "#!/bin/sh\ncat\n"
	for name, text := range map[string]string{
		"kernelctl/config.yaml": "current_context: dev\ncontexts:\n  - {name: dev, server: " + p.client.Server() + ", user: alice}\n  - {name: prod, server: " + p.client.Server() + ", user: alice}\n",
		"in.json":               "{}\n", "payment.json": "{\"amount\":12}\n", "reason.txt": "wrong table\n",
		"p.yaml": "default_action: deny\nrules: []\n", "shell.yaml": mailPolicy, "policies/a.yaml": mailPolicy,
		"p.policytest.yaml": "- {target: rm, expect: deny}\n",
		"agents.yaml":       "agents:\n  - {id: mail, webhook_url: 'http://127.0.0.1:9/', secret: '${MAIL_SECRET}'}\n",
		"shell.secret":      "s3cr3t-of-shell\n", "new.secret": "s3cr3t-of-demo\n",
		"bin/jq": pass, "bin/notify-send": pass,
	} {
		path := filepath.Join(dir, name)
		p.must(os.MkdirAll(filepath.Dir(path), 0o700))
		p.must(os.WriteFile(path, []byte(text), 0o600))
	}
	for _, name := range []string{"jq", "notify-send"} {
		p.must(os.Chmod(filepath.Join(dir, "bin", name), 0o700))
	}
	makes := strings.Contains(line, "export") && !strings.Contains(line, "--resume")
	for name, args := range map[string][]string{
		"run.jsonl": {"export", named["9f3a71c2"], "--file"},
		"x.jsonl":   {"export", "--status", "completed", "--limit", "20", "--file"},
		"backup.db": {"backup"},
	} {
		if makes || !strings.Contains(line, name) {
			continue
		}
		cmd := exec.Command("kernelctl", append(args, name)...)
		cmd.Dir, cmd.Env = dir, append(p.server.vars(), "KERNELCTL_SERVER="+p.client.Server(), "SERVICE_DB="+filepath.Join(p.server.dir, "kernel.db"))
		if out, err := cmd.CombinedOutput(); err != nil {
			p.t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}
