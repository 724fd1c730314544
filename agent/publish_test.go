package agent_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		e := rig.kernel.create(`{}`)
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			agent.Publish(ctx, "outside of a step: nobody's output")
			return agent.Tool(ctx, run, "build", nil, func(ctx context.Context) (int, error) {
				agent.Publish(ctx, "10 %")
				synctest.Wait()
				agent.Publish(ctx, ", 20 %") // these two become one request
				agent.Publish(ctx, ", 30 %")
				pass(time.Second)
				agent.Publish(ctx, ", done")
				return 0, nil
			})
		})
		if diff := cmp.Diff([]string{"10 %", ", 20 %, 30 %", ", done"}, e.deltas); diff != "" {
			t.Errorf("deltas (-want +got):\n%s", diff)
		}
	})
}

func TestPublishIsBestEffort(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 404, 409, 429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			rig := newRig(t)
			rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
				if trail(r) == "step-stream" {
					refuse(w, status, "lease_superseded")
					return true
				}
				return false
			}
			e := rig.kernel.create(`{}`)
			rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
				return agent.Tool(ctx, run, "build", nil, func(ctx context.Context) (int, error) {
					for range 5 {
						agent.Publish(ctx, "more")
						pass(time.Second)
					}
					return 0, nil
				})
			})
			rig.wantOutcome(e, "completed 0")
			want := 1 // a refusal stays a refusal
			if status == 429 || status >= 500 {
				want = 5
			}
			if n := rig.kernel.count("POST step-stream"); n != want {
				t.Errorf("%d: %d requests, want %d", status, n, want)
			}
		})
	}
}

func TestDroppedDeltasLeaveAGap(t *testing.T) {
	t.Parallel()
	var q agent.DeltaQueue
	chunk := strings.Repeat("x", agent.MaxDelta)
	for range agent.MaxDeltaQueue + 3 {
		q.Add(chunk)
	}
	first, _ := q.Take()
	q.Add("after the gap")
	var seqs []int64
	last := ""
	for d, ok := first, true; ok; d, ok = q.Take() {
		seqs = append(seqs, d.Seq)
		last = d.Data
	}
	if len(seqs) != agent.MaxDeltaQueue+1 || seqs[len(seqs)-2] != agent.MaxDeltaQueue-1 || seqs[len(seqs)-1] != agent.MaxDeltaQueue+1 {
		t.Errorf("sequence %v", seqs)
	}
	if last != "after the gap" {
		t.Errorf("last delta %q", last)
	}
}

// FuzzDeltaQueue cuts text at any place, takes deltas at any time, and wants
// valid, short, ordered deltas that add up to the text.
func FuzzDeltaQueue(f *testing.F) {
	f.Add("héllo wörld 🙂", []byte{1, 2, 3})
	f.Add("\xf0\x9f\x99", []byte{1})
	f.Add(strings.Repeat("🙂", 4000), []byte{255, 0, 7})
	f.Add("\xff\xe2\x82a", []byte{1, 1, 1, 0})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		var q agent.DeltaQueue
		var out strings.Builder
		next := int64(0)
		take := func() {
			for d, ok := q.Take(); ok; d, ok = q.Take() {
				if d.Seq != next || len(d.Data) > agent.MaxDelta || !utf8.ValidString(d.Data) || d.Data == "" {
					t.Fatalf("delta %d (want %d) of %d bytes, valid %t", d.Seq, next, len(d.Data), utf8.ValidString(d.Data))
				}
				next++
				out.WriteString(d.Data)
			}
		}
		rest := text
		for _, n := range cuts {
			n := min(int(n), len(rest))
			q.Add(rest[:n])
			rest = rest[n:]
			if n%2 == 0 {
				take()
			}
		}
		for len(rest) > 0 {
			n := min(64<<10, len(rest))
			q.Add(rest[:n])
			rest = rest[n:]
			take()
		}
		q.Flush()
		take()
		if utf8.ValidString(text) && out.String() != text {
			t.Errorf("got %q, want %q", out.String(), text)
		}
	})
}

func TestEndOfStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text           string
		ended, pending bool
	}{
		{"", false, false},
		{"data: x\n\n", false, false},
		{"data: [DONE]", false, true},
		{"data: [DONE]\n", true, true},
		{"data:[DONE]\r\n", true, true},
		{"data: [DONE] \n", false, false},
		{" data: [DONE]\n", false, false},
		{"event: message_stop\n", false, true},
		{"event: message_stop\ndata: {}\n", false, true},
		{"event: message_stop\ndata: {}\n\n", true, true},
		{"event: message_stop_not\n\n", false, false},
		{"event: response.completed\r\ndata: {}\r\n\r\n", true, true},
		{"event: response.incomplete\n\n", true, true},
		{"event: response.failed\n\n", true, true},
		{"event: response.completed" + strings.Repeat("x", 99) + "\n\n", false, false},
		{"data: {\"text\":\"data: [DONE]\"}\n\n", false, false},
	}
	for _, tt := range tests {
		if ended, pending := agent.EndsStream([]byte(tt.text)); ended != tt.ended || pending != tt.pending {
			t.Errorf("%q: got %t, %t, want %t, %t", tt.text, ended, pending, tt.ended, tt.pending)
		}
	}
}

func TestTextOfEvents(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`data: {"choices":[{"delta":{"content":"a"}}]}`:                                 "a",
		`data:{"choices":[{"delta":{"tool_calls":[]}}]}`:                                "",
		`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}`: "b",
		`data: {"type":"content_block_delta","delta":{"partial_json":"{"}}`:             "",
		`data: {"type":"response.output_text.delta","delta":"c"}`:                       "c",
		`data: {"type":"response.function_call_arguments.delta","delta":"{"}`:           "",
		`data: {"candidates":[{"content":{"parts":[{"text":"d"},{"text":"e"}]}}]}`:      "de",
		`data: [DONE]`:     "",
		`event: x`:         "",
		`: comment`:        "",
		`data: {"choices"`: "",
		`data: {"type":"response.output_text.delta","delta":{"odd":1}}`: "",
	}
	for line, want := range tests {
		if got := agent.TextOf([]byte(line), []byte("\r\n\n")); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	long := `data: {"type":"response.output_text.delta","delta":"` + strings.Repeat("x", 2<<20) + "\"}\n"
	if got := agent.TextOf([]byte(long), []byte(`data: {"type":"response.output_text.delta","delta":"c"}`+"\n")); got != "c" {
		t.Errorf("behind a line that is too long: %.20q", got)
	}
}

// FuzzEvents feeds a stream whole and in pieces: both parsers say the same.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: message_stop\r\ndata: {}\r\n\r\n"), uint(3))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"), uint(20))
	f.Add([]byte("\r\n\r\ndata:\xff"), uint(1))
	f.Fuzz(func(t *testing.T, stream []byte, at uint) {
		cut := int(at % uint(len(stream)+1))
		ended, pending := agent.EndsStream(stream)
		ended2, pending2 := agent.EndsStream(stream[:cut], stream[cut:])
		if ended != ended2 || pending != pending2 {
			t.Errorf("whole: %t %t, cut at %d: %t %t", ended, pending, cut, ended2, pending2)
		}
		if ended && !pending {
			t.Error("ended without an event that ends it")
		}
		if whole, cutUp := agent.TextOf(stream), agent.TextOf(stream[:cut], stream[cut:]); whole != cutUp {
			t.Errorf("text whole %q, cut %q", whole, cutUp)
		}
	})
}
