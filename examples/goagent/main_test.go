package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kernel allows every step and tells what it was asked.
type kernel struct {
	targets chan string
	outcome chan string
}

func (k kernel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/v0/executions/x")
	switch {
	case path == "":
		_, _ = io.WriteString(w, `{"status":"running","input":{"customer":"ada","question":"Why is it dark?"}}`)
	case path == "/steps":
		var in struct{ Kind, Target, Idempotency string }
		_ = json.Unmarshal(body, &in)
		k.targets <- strings.TrimSpace(in.Kind + " " + in.Target + " " + in.Idempotency)
		_, _ = io.WriteString(w, `{"decision":"proceed","step_id":"s"}`)
	case path == "/complete" || path == "/fail":
		k.outcome <- path + " " + string(body)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(path, "/stream"):
		w.WriteHeader(http.StatusNoContent)
	default:
		_, _ = io.WriteString(w, `{"decision":"recorded","step_id":"s"}`)
	}
}

func TestAgentAnswersWithAMail(t *testing.T) {
	t.Parallel()
	k := kernel{targets: make(chan string, 9), outcome: make(chan string, 1)}
	server := httptest.NewServer(k)
	defer server.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"-kernel", server.URL, "-listen", "127.0.0.1:0", "-secret-file", secret}, func(string) string { return "" }, stdout)
		_ = stdout.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	until := func(prefix string) string {
		for lines.Scan() {
			if line := lines.Text(); strings.HasPrefix(line, prefix) {
				return line
			}
		}
		t.Fatalf("no line %q: %v", prefix, <-ended)
		return ""
	}
	line := until("agent support listens on ")
	post(t, line[strings.LastIndex(line, " ")+1:])

	mail := until("MAIL to ada@example.com [")
	if !strings.HasSuffix(mail, "]: Have you tried turning it off and on again?") {
		t.Errorf("got %q", mail)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if got := <-k.outcome; !strings.HasPrefix(got, `/complete {"output":{"to":"ada@example.com","reference":"`) {
		t.Errorf("got %s", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"tool_call lookup_customer", "llm_call stub-1", "local make_reference", "tool_call send_email at_most_once"} {
		if got := <-k.targets; got != want {
			t.Errorf("step %q, want %q", got, want)
		}
	}
}

func post(t *testing.T, url string) {
	t.Helper()
	body := []byte(`{"execution_id":"x","dispatch_id":"d","dispatch_attempt":1,"lease_timeout_seconds":30}`)
	mac := hmac.New(sha256.New, []byte("hush"))
	mac.Write(body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Service-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("webhook: %s", resp.Status)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for name, args := range map[string][]string{
		"no secret":      nil,
		"no secret file": {"-secret-file", filepath.Join(t.TempDir(), "none")},
		"unknown flag":   {"-secret", "hush"},
	} {
		if err := run(t.Context(), args, none, io.Discard); err == nil {
			t.Errorf("%s: started", name)
		}
	}
}
