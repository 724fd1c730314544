// Package usage finds the token counts in what an LLM provider answered. It is
// pure, and never fails: counts that are not found are not there.
package usage

import (
	"bytes"
	"strconv"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// shape is one place and spelling of the counts.
type shape struct{ in, out canonjson.Pointer }

// path is the pointer through these member names.
func path(names ...string) canonjson.Pointer {
	var text []byte
	for _, n := range names {
		text = append(append(text, '/'), n...)
	}
	p, _ := canonjson.ParsePointer(string(text)) // plain names always parse
	return p
}

var (
	body = canonjson.Key("body")

	// shapes are the spellings of OpenAI chat; Anthropic and OpenAI responses;
	// Gemini; and of single events of a stream: the end of an OpenAI response,
	// the start of an Anthropic message.
	shapes = []shape{
		{path("usage", "prompt_tokens"), path("usage", "completion_tokens")},
		{path("usage", "input_tokens"), path("usage", "output_tokens")},
		{path("usageMetadata", "promptTokenCount"), path("usageMetadata", "candidatesTokenCount")},
		{path("response", "usage", "input_tokens"), path("response", "usage", "output_tokens")},
		{path("message", "usage", "input_tokens"), path("message", "usage", "output_tokens")},
	}
)

// Find looks for the counts in the result of an LLM call: in the body of a
// recorded provider response {status, headers, body}, as JSON, as JSON in a
// text or as an event stream, or else in the result itself. result is checked
// JSON. It returns nil when there are none.
func Find(result []byte) *kernel.Usage {
	if !bytes.Contains(result, []byte("usage")) {
		return nil
	}
	var c counts
	if inner, ok := canonjson.Lookup(result, body); ok {
		if text, ok := canonjson.String(inner); ok {
			c.text([]byte(text))
		} else {
			c.value(inner)
		}
	} else if text, ok := canonjson.String(result); ok {
		c.text([]byte(text))
	}
	if !c.found {
		c.value(result)
	}
	if !c.found {
		return nil
	}
	return &c.Usage
}

// counts collects what was found; the last of each number stands, because
// streams send running totals and may split the two over several events.
type counts struct {
	kernel.Usage
	found bool
}

func (c *counts) text(text []byte) {
	if canonjson.Check(text) == nil {
		c.value(text)
		return
	}
	for line := range bytes.Lines(text) {
		data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
		if data = bytes.TrimSpace(data); ok && bytes.Contains(data, []byte("usage")) && canonjson.Check(data) == nil {
			c.value(data)
		}
	}
}

func (c *counts) value(v []byte) {
	for _, s := range shapes {
		in, okIn := number(v, s.in)
		out, okOut := number(v, s.out)
		if okIn {
			c.InputTokens = in
		}
		if okOut {
			c.OutputTokens = out
		}
		c.found = c.found || okIn || okOut
	}
}

func number(v []byte, at canonjson.Pointer) (int64, bool) {
	text, ok := canonjson.Lookup(v, at)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && n >= 0
}
