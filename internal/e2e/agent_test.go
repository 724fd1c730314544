package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/agent"
)

// The environment of the agent process, which is this test binary run again.
const (
	envAgent    = "KERNELCTL_E2E_AGENT" // address to listen on
	envAPI      = "KERNELCTL_E2E_API"
	envSecret   = "KERNELCTL_E2E_SECRET"
	envEffects  = "KERNELCTL_E2E_EFFECTS"  // folder; each effect appends a line to the file of its name
	envProvider = "KERNELCTL_E2E_PROVIDER" // base URL of the model
	envHold     = "KERNELCTL_E2E_HOLD"     // stop for ever after the second effect
)

const agentID = "e2e"

// agentMain is the agent process.
func agentMain() error {
	a, err := agent.New(agent.Options{BaseURL: os.Getenv(envAPI), AgentID: agentID, Secret: os.Getenv(envSecret)})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: os.Getenv(envAgent), Handler: a.Handler(work), ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// effect is what must happen exactly once.
func effect(name string) error {
	f, err := os.OpenFile(filepath.Join(os.Getenv(envEffects), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, "done"); err != nil {
		return err
	}
	return f.Close()
}

type order struct {
	Amount int `json:"amount"`
}

// work does four effects: a tool, a model, a local step, and a tool that a
// person has to allow.
func work(ctx context.Context, run *agent.Run) (any, error) {
	var in order
	if err := run.Input(ctx, &in); err != nil {
		return nil, err
	}
	receipt, err := agent.Tool(ctx, run, "charge_card", in, func(context.Context) (string, error) {
		return fmt.Sprintf("receipt for %d", in.Amount), effect("charge_card")
	}, agent.AtMostOnce())
	if err != nil {
		return nil, err
	}
	text, err := ask(ctx, run)
	if err != nil {
		return nil, err
	}
	if os.Getenv(envHold) != "" {
		<-ctx.Done() // until the process is killed
		return nil, ctx.Err()
	}
	token, err := agent.Step(ctx, run, "pick_token", func(context.Context) (int64, error) {
		return time.Now().UnixNano(), effect("pick_token")
	})
	if err != nil {
		return nil, err
	}
	mail := map[string]any{"to": "team@example.com", "body": text, "token": fmt.Sprint(token)}
	sent, err := agent.Tool(ctx, run, "send_email", mail, func(context.Context) (string, error) {
		return "sent", effect("send_email")
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{"receipt": receipt, "text": text, "mail": sent}, nil
}

// ask calls the model through the recording transport, as a provider's library would.
func ask(ctx context.Context, run *agent.Run) (string, error) {
	body := `{"model":"fake-1","messages":[{"role":"user","content":"hello"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(envProvider)+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer a-key-that-must-not-be-recorded")
	resp, err := (&http.Client{Transport: run.Transport(http.DefaultTransport)}).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}
