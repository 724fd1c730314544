package agent

import (
	"bytes"
	"encoding/json"
	"strings"
)

// endDetector finds the event that ends a stream. The libraries of some
// providers stop reading there, short of the end of the body; without it their
// streams would look as if they had been closed early.
type endDetector struct {
	line []byte // the beginning of the current line, as much as can matter
	last bool   // the current event is one that ends a stream
	done bool   // that event says all that it has to say
}

const (
	// lastLine ends the streams of OpenAI chat completions and of all that
	// copy them. Nothing follows that a reader could wait for.
	lastLine = "data:[DONE]"
	// maxEndLine is more than the longest line that ends a stream.
	maxEndLine = 32
)

// lastEvents are the lines that name the last event of a stream: Anthropic
// messages, OpenAI responses.
var lastEvents = map[string]bool{
	"event:message_stop":        true,
	"event:response.completed":  true,
	"event:response.incomplete": true,
	"event:response.failed":     true,
}

func (d *endDetector) add(p []byte) {
	for len(p) > 0 && !d.done {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		if room := maxEndLine - len(d.line); room > 0 {
			d.line = append(d.line, part[:min(room, len(part))]...)
		}
		if i >= 0 {
			d.endLine()
		}
	}
}

func (d *endDetector) endLine() {
	line := d.current()
	d.line = d.line[:0]
	switch {
	case line == lastLine:
		d.done = true
	case line == "":
		d.done = d.last
	case lastEvents[line]:
		d.last = true
	}
}

// current is the line so far, without the space that may stand behind the colon
// and the carriage return that may stand at the end (WHATWG HTML, section 9.2.6).
func (d *endDetector) current() string {
	line := strings.TrimSuffix(string(d.line), "\r")
	field, value, _ := strings.Cut(line, ":")
	if line == field {
		return line
	}
	return field + ":" + strings.TrimPrefix(value, " ")
}

// ended says that the last event is there, whole.
func (d *endDetector) ended() bool { return d.done }

// pending says that the last event has at least begun: a reader that closes the
// stream now does so because of it.
func (d *endDetector) pending() bool {
	return d.done || d.last || d.current() == lastLine
}

// textFilter takes the text that a model writes out of its events.
type textFilter struct {
	line []byte
	skip bool // the current line is longer than maxTextLine
}

// maxTextLine bounds what is held of one line, in bytes.
const maxTextLine = 1 << 20

func (f *textFilter) add(p []byte) string {
	var out strings.Builder
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			f.hold(p)
			return out.String()
		}
		f.hold(p[:i])
		p = p[i+1:]
		if !f.skip {
			out.WriteString(textOf(f.line))
		}
		f.line, f.skip = f.line[:0], false
	}
}

func (f *textFilter) hold(p []byte) {
	if f.skip = f.skip || len(f.line)+len(p) > maxTextLine; !f.skip {
		f.line = append(f.line, p...)
	}
}

// textOf is the text in one line of a stream: a data line, or a bare JSON value.
func textOf(line []byte) string {
	data := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
	var event struct {
		Type    string `json:"type"`
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"` // OpenAI chat completions
		Delta      json.RawMessage `json:"delta"` // OpenAI responses: a string; Anthropic: an object
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"` // Gemini
	}
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &event) != nil {
		return ""
	}
	switch event.Type {
	case "response.output_text.delta":
		var text string
		_ = json.Unmarshal(event.Delta, &text) // of another shape: no text
		return text
	case "content_block_delta":
		var delta struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(event.Delta, &delta) // of another shape: no text
		return delta.Text
	}
	var out strings.Builder
	if len(event.Choices) > 0 {
		out.WriteString(event.Choices[0].Delta.Content)
	}
	if len(event.Candidates) > 0 {
		for _, part := range event.Candidates[0].Content.Parts {
			out.WriteString(part.Text)
		}
	}
	return out.String()
}
