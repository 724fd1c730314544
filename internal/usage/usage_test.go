package usage_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/usage"
)

func text(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, result string
		want         *kernel.Usage
	}{
		{"openai chat, body as JSON", `{"status":200,"headers":{},"body":{"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}}`, &kernel.Usage{InputTokens: 12, OutputTokens: 3}},
		{"openai chat, body as text", `{"status":200,"body":` + text(`{"usage":{"prompt_tokens":12,"completion_tokens":3}}`) + `}`, &kernel.Usage{InputTokens: 12, OutputTokens: 3}},
		{"anthropic, the result itself", `{"content":[],"usage":{"input_tokens":7,"output_tokens":8}}`, &kernel.Usage{InputTokens: 7, OutputTokens: 8}},
		{"gemini", `{"body":{"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":5}}}`, &kernel.Usage{InputTokens: 4, OutputTokens: 5}},
		{"openai chat stream", `{"body":` + text("data: {\"choices\":[],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n") + `}`, &kernel.Usage{InputTokens: 1, OutputTokens: 2}},
		{"openai responses stream", `{"body":` + text("event: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":4}}}\r\n\r\n") + `}`, &kernel.Usage{InputTokens: 9, OutputTokens: 4}},
		{"anthropic stream", `{"body":` + text("event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":15}}\n\n") + `}`, &kernel.Usage{InputTokens: 25, OutputTokens: 15}},
		{"none", `{"body":{"answer":42}}`, nil},
		{"the word alone", `{"body":"usage: none"}`, nil},
		{"negative", `{"usage":{"input_tokens":-1}}`, nil},
		{"not a number", `{"usage":{"input_tokens":"many","output_tokens":1.5}}`, nil},
		{"null", `null`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, usage.Find([]byte(tc.result))); diff != "" {
				t.Errorf("Find (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"usage":{"input_tokens":1}}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		v, _ := json.Marshal(string(b))
		_ = usage.Find(v)
	})
}
