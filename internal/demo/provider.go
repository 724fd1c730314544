package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
)

// providerURL is part of what identifies a model call, so it must be the same in
// every process, whatever port the provider has.
const providerURL = "http://models.demo"

// reach is a transport to a provider at an address.
func reach(address string) http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
}

// question is a chat completion that is asked for.
type question struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// answer is what a model says.
type answer struct {
	text    string
	took    time.Duration // from the first word to the last
	in, out int           // tokens; in 0: counted from the question
	refusal string        // it says nothing but this, with status 503
}

// chunk is one event of a streamed completion, as far as the demo needs it.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Delta delta `json:"delta"`
}

type delta struct {
	Content string `json:"content"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

const bytesPerToken = 4

// provider answers chat completions as a stream, word by word, as large models
// do. It asks reply once for every request that really reached it.
func provider(reply func(question) answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		var q question
		if err == nil {
			err = json.Unmarshal(body, &q)
		}
		if err != nil {
			http.Error(w, "read the request", http.StatusBadRequest)
			return
		}
		a := reply(q)
		if a.refusal != "" {
			http.Error(w, a.refusal, http.StatusServiceUnavailable)
			return
		}
		if a.in == 0 {
			a.in = len(body) / bytesPerToken
		}
		speak(r.Context(), w, a)
	})
	return mux
}

func speak(ctx context.Context, w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(c chunk) {
		body, err := json.Marshal(c)
		if err == nil {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", body) // the reader may be gone
		}
		_ = http.NewResponseController(w).Flush()
	}
	words := strings.SplitAfter(a.text, " ")
	for _, word := range words {
		send(chunk{Choices: []choice{{Delta: delta{Content: word}}}})
		if client.Sleep(ctx, a.took/time.Duration(len(words))) != nil {
			return
		}
	}
	send(chunk{Choices: []choice{}, Usage: &usage{PromptTokens: a.in, CompletionTokens: a.out}})
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// ask puts a question to a model. The run's transport records the call as a
// step, and the text goes live to whoever watches the stream.
func ask(ctx context.Context, run *agent.Run, models http.RoundTripper, q question) (string, error) {
	q.Stream = true
	body, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, providerURL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	caller := http.Client{Transport: run.Transport(models, agent.TextDeltas())}
	resp, err := caller.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusBadRequest {
		return "", &refusedError{q.Model, resp.StatusCode}
	}
	return readCompletion(resp.Body)
}

// refusedError is an answer of a provider that is none.
type refusedError struct {
	model  string
	status int
}

// Error says which model, and how it refused.
func (e *refusedError) Error() string { return fmt.Sprintf("model %s answered %d", e.model, e.status) }

// readCompletion collects the text of a streamed completion.
func readCompletion(stream io.Reader) (string, error) {
	var text strings.Builder
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return "", fmt.Errorf("read the model's answer: %w", err)
		}
		for _, choice := range c.Choices {
			text.WriteString(choice.Delta.Content)
		}
	}
	return strings.TrimSpace(text.String()), lines.Err()
}
