package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/agentkernel/kernelctl/agent"
)

// complete asks an OpenAI-compatible API for a streamed answer. With a provider's
// library you would hand it the same HTTP client and write none of this.
func (s *supportAgent) complete(ctx context.Context, run *agent.Run, prompt string) (string, error) {
	client := &http.Client{Transport: run.Transport(s.network, agent.TextDeltas())}
	body, err := json.Marshal(map[string]any{
		"model": s.cfg.model, "stream": true,
		"messages": []map[string]string{{"role": "user", "content": prompt}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.cfg.llm, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.cfg.llmKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.llmKey) // is not recorded
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask model: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask model: %s", resp.Status)
	}

	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return "", fmt.Errorf("read answer of model: %w", err)
		}
		for _, choice := range event.Choices {
			text.WriteString(choice.Delta.Content)
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read answer of model: %w", err)
	}
	return text.String(), nil
}

// stubModel is a model that always says the same, in the shape of the real ones.
type stubModel struct{}

// RoundTrip implements http.RoundTripper. There is no server behind it, and so no
// port that would differ from one start of the agent to the next: the URL is part
// of what makes a request the same request.
func (stubModel) RoundTrip(req *http.Request) (*http.Response, error) {
	const body = `data: {"choices":[{"delta":{"content":"Have you tried turning it "}}]}

data: {"choices":[{"delta":{"content":"off and on again?"}}]}

data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":8}}

data: [DONE]

`
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: -1, Request: req,
	}, nil
}
