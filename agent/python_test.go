package agent_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPythonExample runs examples/pythonagent, which speaks the protocol without
// this package, against the same kernel.
func TestPythonExample(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	k := newKernel(t)
	k.rule = func(s step) string {
		if s.Target == "send_email" {
			return "approve"
		}
		return "proceed"
	}
	ended := make(chan struct{}, 8)
	k.after = func(r *http.Request) {
		if r.PathValue("step") == "" && r.Method == http.MethodPost && trail(r) == "complete" {
			ended <- struct{}{}
		}
	}
	server := httptest.NewServer(k)
	defer server.Close()

	cmd := exec.CommandContext(t.Context(), python, "../examples/pythonagent/agent.py")
	cmd.Env = append(cmd.Environ(), "KERNEL_URL="+server.URL, "AGENT_ID="+testAgent, "AGENT_SECRET="+testSecret, "AGENT_LISTEN=127.0.0.1:0")
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(stdout)
	next := func() string {
		if !lines.Scan() {
			t.Fatalf("the agent ended: %v", lines.Err())
		}
		return lines.Text()
	}
	url := next()
	url = url[strings.LastIndex(url, " ")+1:]
	post := func(body []byte, signature string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Service-Signature", signature)
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}

	e := k.create(`{"city":"Oslo"}`)
	body := k.webhook(e, 30)
	if got := fmt.Sprint(post(body, "sha256=00"), post(body, sign(body)), post(body, sign(body))); got != "401 200 200" {
		t.Errorf("unsigned, signed, repeated: %s", got)
	}
	if got, want := next(), e.id+": left (blocked)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	k.grant(e)
	body = k.webhook(e, 30)
	post(body, sign(body))
	if got := next(); !strings.HasPrefix(got, "MAIL to team@example.com: Oslo, ") || !strings.HasSuffix(got, ": clear, 15 °C") {
		t.Errorf("got %q", got)
	}
	<-ended
	r := &rig{t: t, kernel: k}
	want := []string{"tool_call get_weather succeeded", "local now succeeded", "tool_call send_email succeeded"}
	if diff := cmp.Diff(want, r.steps(e)); diff != "" {
		t.Error(diff)
	}
	if got := r.outcome(e); !strings.HasPrefix(got, `completed {"sent": "m-`) {
		t.Errorf("got %q", got)
	}
}
