package demo

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
)

// ID is the name that the demo agent is registered under.
const ID = "demo"

// Model is the name of the model that the demo agent asks.
const Model = "demo-small"

//go:embed policies/demo.yaml
var policyText string

// Input is what the demo agent works on.
type Input struct {
	Topic string `json:"topic"`
	To    string `json:"to"`
}

// Report is what it returns.
type Report struct {
	Topic   string   `json:"topic"`
	Sources []string `json:"sources"`
	Summary string   `json:"summary"`
	Mail    string   `json:"mail_id"`
}

// assistant is the logic of the demo agent. Whatever acts on the world goes
// through a step; everything else must come out the same in every run.
type assistant struct {
	models  http.RoundTripper // reaches the model provider
	pace    time.Duration
	effects *effects
}

// effects writes one line for each effect that really ran, which is how the
// tour counts them.
type effects struct {
	mu sync.Mutex
	w  io.Writer
}

func (e *effects) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = fmt.Fprintf(e.w, "effect %s\n", what) // for people; losing a line harms nothing
}

func (a *assistant) run(ctx context.Context, run *agent.Run) (any, error) {
	in := Input{Topic: "durable execution", To: "team@example.com"}
	if err := run.Input(ctx, &in); err != nil {
		return nil, err
	}
	// Random choices are steps, too: the next run must make the same ones.
	sources, err := agent.Step(ctx, run, "pick_sources", func(context.Context) ([]string, error) {
		a.effects.note("pick_sources")
		all := []string{"handbook", "incident-log", "wiki", "tickets"}
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:2], nil
	})
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, source := range sources {
		query := map[string]string{"query": in.Topic, "source": source}
		hit, err := agent.Tool(ctx, run, "search_web", query, func(ctx context.Context) (string, error) {
			if err := a.act(ctx, "search_web "+source); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s: three notes on %s", source, in.Topic), nil
		})
		if err != nil {
			return nil, err
		}
		notes = append(notes, hit)
	}
	summary, err := a.summarize(ctx, run, in.Topic, notes)
	if err != nil {
		return nil, err
	}
	mail := map[string]any{"to": in.To, "subject": "On " + in.Topic, "body": summary}
	id, err := agent.Tool(ctx, run, "send_email", mail, func(ctx context.Context) (string, error) {
		if err := a.act(ctx, "send_email"); err != nil {
			return "", err
		}
		return fmt.Sprintf("mail-%08x", rand.Uint32()), nil //nolint:gosec // a made-up id
	}, agent.AtMostOnce())
	if err != nil {
		return nil, err
	}
	return Report{Topic: in.Topic, Sources: sources, Summary: summary, Mail: id}, nil
}

// act takes its time, so that it can be watched, and then does the deed: an
// agent that dies before has not done it.
func (a *assistant) act(ctx context.Context, effect string) error {
	if client.Sleep(ctx, a.pace) != nil {
		return ctx.Err()
	}
	a.effects.note(effect)
	return nil
}

// summarize asks the model.
func (a *assistant) summarize(ctx context.Context, run *agent.Run, topic string, notes []string) (string, error) {
	return ask(ctx, run, a.models, question{Model: Model, Messages: []message{
		{Role: "user", Content: fmt.Sprintf("Summarize what is known of %s: %q", topic, notes)},
	}})
}

// reply is what the assistant's model always says.
func (a *assistant) reply(question) answer {
	a.effects.note("llm_call")
	const text = "A run that is recorded step by step can be stopped anywhere and goes on where it was. "
	return answer{text: text, took: a.pace, out: len(strings.Fields(text))}
}
