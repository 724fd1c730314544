package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Model is the name of the model that the fake provider serves.
const Model = "demo-small"

// providerURL is part of what identifies a model call, so it must be the same in
// every process, whatever port the provider has.
const providerURL = "http://models.demo"

// reach is a transport to a provider at an address.
func reach(address string) http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
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

// provider answers chat completions as a stream, word by word, as large models
// do. called is told of every request that really reached it.
func provider(pace time.Duration, called func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		question, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(w, "read the request", http.StatusBadRequest)
			return
		}
		called()
		w.Header().Set("Content-Type", "text/event-stream")
		words := strings.SplitAfter("A run that is recorded step by step can be stopped anywhere and goes on where it was. ", " ")
		send := func(c chunk) {
			body, err := json.Marshal(c)
			if err == nil {
				_, _ = fmt.Fprintf(w, "data: %s\n\n", body) // the reader may be gone
			}
			_ = http.NewResponseController(w).Flush()
		}
		for _, word := range words {
			send(chunk{Choices: []choice{{Delta: delta{Content: word}}}})
			select {
			case <-time.After(pace / time.Duration(len(words))):
			case <-r.Context().Done():
				return
			}
		}
		const bytesPerToken = 4
		send(chunk{Choices: []choice{}, Usage: &usage{PromptTokens: len(question) / bytesPerToken, CompletionTokens: len(words)}})
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	return mux
}

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
