package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// job is the input of the agent of the scripts: what it does, and how it ends.
type job struct {
	Do     []task `json:"do"`
	Output any    `json:"output"`
	Fail   string `json:"fail"`
}

// task is one of: a tool call, which may publish live output or hold until the
// test ends; a wait for a signal; a call of which a refusal is not the end.
type task struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	Say  []string        `json:"say"`
	Hold bool            `json:"hold"`
	Wait string          `json:"wait"`
	Try  bool            `json:"try"`
}

func work(ctx context.Context, run *agent.Run) (any, error) {
	var j job
	if err := run.Input(ctx, &j); err != nil {
		return nil, err
	}
	for _, t := range j.Do {
		if err := do(ctx, run, t); err != nil {
			var denied *agent.DeniedError
			if t.Try && errors.As(err, &denied) {
				continue
			}
			return nil, err
		}
	}
	if j.Fail != "" {
		return nil, errors.New(j.Fail)
	}
	return j.Output, nil
}

func do(ctx context.Context, run *agent.Run, t task) error {
	if t.Wait != "" {
		_, err := agent.WaitSignal[json.RawMessage](ctx, run, t.Wait, 0)
		return err
	}
	_, err := agent.Tool(ctx, run, t.Tool, t.Args, func(ctx context.Context) (string, error) {
		for _, text := range t.Say {
			agent.Publish(ctx, text)
		}
		if t.Hold {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "did " + t.Tool, nil
	})
	return err
}

// cmdAgent registers an agent that lives as long as the script.
func cmdAgent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: agent [-broken] ID")
	}
	id := args[len(args)-1]
	secret := wire.Secret("secret-of-" + id)
	base := ts.Getenv("KERNELCTL_SERVER")
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "broken", http.StatusInternalServerError)
	}))
	if args[0] != "-broken" {
		a, err := agent.New(agent.Options{BaseURL: base, AgentID: id, Secret: string(secret), Logger: slog.New(slog.DiscardHandler)})
		ts.Check(err)
		handler = a.Handler(work)
		ts.Defer(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // what holds is let go at once
			_ = a.Shutdown(ctx)
		})
	}
	web := httptest.NewServer(handler)
	ts.Defer(web.Close)
	c, err := client.New(base, client.Options{Token: ts.Getenv("KERNELCTL_TOKEN")})
	ts.Check(err)
	_, err = c.RegisterAgent(context.Background(), wire.RegisterAgent{ID: id, WebhookURL: strings.TrimSuffix(web.URL, "/") + "/hook", Secret: secret})
	ts.Check(err)
	ts.Logf("agent %s at %s", id, fmt.Sprint(web.URL))
}
