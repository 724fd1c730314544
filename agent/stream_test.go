package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

// eventStream is a provider that says its events one at a time, when told to.
type eventStream struct {
	events chan string // closed at the end
	fault  error       // how the body ends; nil for a proper end
	closed chan struct{}
}

func newEventStream() *eventStream {
	return &eventStream{events: make(chan string), closed: make(chan struct{})}
}

func (s *eventStream) RoundTrip(r *http.Request) (*http.Response, error) {
	read, write := io.Pipe()
	go func() {
		for event := range s.events {
			if _, err := io.WriteString(write, event); err != nil {
				break
			}
		}
		_ = write.CloseWithError(s.fault)
	}()
	return &http.Response{
		Status: "200 OK", StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body: &watchedBody{ReadCloser: read, closed: s.closed}, ContentLength: -1, Request: r,
	}, nil
}

type watchedBody struct {
	io.ReadCloser
	once   sync.Once
	closed chan struct{}
}

func (b *watchedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

// say sends events without waiting for a reader.
func (s *eventStream) say(events ...string) {
	go func() {
		for _, e := range events {
			select {
			case s.events <- e:
			case <-s.closed:
			}
		}
		close(s.events)
	}()
}

func open(ctx context.Context, run *agent.Run, base http.RoundTripper, opts ...agent.TransportOption) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://llm.test/v1", strings.NewReader(`{"model":"m","stream":true}`))
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: run.Transport(base, opts...)}).Do(req)
}

func TestStreamIsReadAsItComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		e := rig.kernel.create(`{}`)
		src := newEventStream()
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			resp, err := open(ctx, run, src)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			for i := range 3 {
				want := fmt.Sprintf("data: %d ü\n", i)
				src.events <- want
				if got, err := lines.ReadString('\n'); got != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
				if s := rig.step(e, 0); s.Status != "executing" {
					t.Errorf("the step is %s in the middle of the stream", s.Status)
				}
				pass(time.Second) // the deltas are on their way
			}
			close(src.events)
			if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want the end", err)
			}
			if s := rig.step(e, 0); s.Status != "succeeded" {
				t.Errorf("the step is %s at the end of the stream", s.Status)
			}
			return nil, nil
		})
		rig.wantOutcome(e, "completed null")
		if diff := cmp.Diff([]string{"data: 0 ü\n", "data: 1 ü\n", "data: 2 ü\n"}, e.deltas); diff != "" {
			t.Errorf("deltas (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{0, 1, 2}, e.deltaSeqs); diff != "" {
			t.Errorf("sequence (-want +got):\n%s", diff)
		}
	})
}

// TestStreamsAreReplayed runs readers of several manners over streams of several
// fates, and expects of the replay what the first run saw.
func TestStreamsAreReplayed(t *testing.T) {
	t.Parallel()
	toTheEnd := func(body io.ReadCloser) string {
		text, err := io.ReadAll(body)
		return fmt.Sprintf("%s|%s", text, reasonOf(err))
	}
	untilDone := func(body io.ReadCloser) string { // as OpenAI's libraries
		lines, out := bufio.NewReader(body), ""
		for {
			line, err := lines.ReadString('\n')
			if out += line; err != nil || line == "data: [DONE]\n" {
				return out + "|" + reasonOf(err)
			}
		}
	}
	someBytes := func(body io.ReadCloser) string {
		p := make([]byte, 7)
		_, err := io.ReadFull(body, p)
		return string(p) + "|" + reasonOf(err)
	}
	chat := []string{"data: {\"a\":1}\n", "\ndata: {\"b\"", ":2}\n\n", "data: [DONE]\n\n"}
	messages := []string{"event: message_start\r\ndata: {}\r\n\r\n", "event:message_stop\r\n", "data:{}\r\n\r\n"}
	tests := map[string]struct {
		events []string
		fault  error
		read   func(io.ReadCloser) string
		want   string
		status string
	}{
		"to the end":               {chat, nil, toTheEnd, strings.Join(chat, "") + "|", "succeeded"},
		"to the last event":        {chat, nil, untilDone, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n|", "succeeded"},
		"cut behind the last line": {append(chat[:3:3], "data: [DONE]\n"), errors.New("reset"), untilDone, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n|", "succeeded"},
		"named last event":         {messages, nil, toTheEnd, strings.Join(messages, "") + "|", "succeeded"},
		"no last event":            {chat[:3], nil, toTheEnd, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n|", "succeeded"},
		"closed early":             {chat, nil, someBytes, "data: {|", "failed"},
		"broken":                   {chat[:2], errors.New("connection reset"), toTheEnd, "data: {\"a\":1}\n\ndata: {\"b\"|network_error", "failed"},
		"empty":                    {nil, nil, toTheEnd, "|", "succeeded"},
		"not UTF-8":                {[]string{"data: \xff\xfe\n\n"}, nil, toTheEnd, "data: \xff\xfe\n\n|", "succeeded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			calls := 0
			first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
				src := newEventStream()
				src.fault = tt.fault
				resp, err := open(ctx, run, roundTrip(func(r *http.Request) (*http.Response, error) {
					calls++
					src.say(tt.events...)
					return src.RoundTrip(r)
				}))
				if err != nil {
					return "", err
				}
				defer resp.Body.Close()
				if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || resp.ContentLength != -1 {
					t.Errorf("header %v, length %d", resp.Header, resp.ContentLength)
				}
				return tt.read(resp.Body), resp.Body.Close()
			})
			if first != tt.want || second != tt.want {
				t.Errorf("got  %q\nthen %q\nwant %q", first, second, tt.want)
			}
			if s := rig.step(rig.kernel.executions["0190-exec-1"], 0); s.Status != tt.status || calls != 1 {
				t.Errorf("step %s, %d calls", s.Status, calls)
			}
		})
	}
}

func reasonOf(err error) string {
	var failed *agent.StepError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failed):
		return failed.Reason()
	}
	return err.Error()
}

// TestLastEventIsRecordedBeforeItIsSeen: a reader that acts upon the end of an
// answer acts upon a recorded one.
func TestLastEventIsRecordedBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"data: [DONE]\n", "event: message_stop\ndata: {}\n\n", "event: response.completed\ndata: {}\n\n"} {
		rig := newRig(t)
		e := rig.kernel.create(`{}`)
		src := newEventStream()
		src.say("data: 1\n\n", last)
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			resp, err := open(ctx, run, src)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			got := make([]byte, len("data: 1\n\n")+len(last))
			if _, err := io.ReadFull(resp.Body, got); err != nil {
				return nil, err
			}
			if s := rig.step(e, 0); s.Status != "succeeded" {
				t.Errorf("%q was handed on with the step %s", last, s.Status)
			}
			return nil, nil
		})
		rig.wantOutcome(e, "completed null")
	}
}

// TestCloseWhileAnotherGoroutineReads: the reader has seen the last event, if not
// the end of its line, and waits for more when the stream is closed.
func TestCloseWhileAnotherGoroutineReads(t *testing.T) {
	t.Parallel()
	const text = "data: 1\n\ndata: [DONE]"
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	src := newEventStream()
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		resp, err := open(ctx, run, src)
		if err != nil {
			return nil, err
		}
		waiting, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.ReadFull(resp.Body, make([]byte, len(text)))
			close(waiting)
			if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
				t.Error("read on after the close")
			}
		}()
		src.events <- text
		<-waiting
		err = resp.Body.Close()
		<-ended
		return nil, err
	})
	close(src.events)
	rig.wantOutcome(e, "completed null")
	if s := rig.step(e, 0); s.Status != "succeeded" {
		t.Errorf("the step is %s %s", s.Status, s.Error)
	}
}

// TestBlockDoesNotFailAStream: the run is blocked while an answer streams in.
// Whether the reader reads on or gives up, no failure is recorded.
func TestBlockDoesNotFailAStream(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]bool{"reads on": false, "gives up": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			rig.kernel.rule = func(s step) string {
				if s.Target == "gated" {
					return "approve"
				}
				return "proceed"
			}
			e := rig.kernel.create(`{}`)
			src := newEventStream()
			rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
				resp, err := open(ctx, run, src)
				if err != nil {
					return nil, err
				}
				defer resp.Body.Close()
				_, err = agent.Tool(ctx, run, "gated", nil, func(context.Context) (int, error) { return 0, nil })
				src.say("data: 1\n\n", "data: [DONE]\n\n")
				if !giveUp {
					if text, err := io.ReadAll(resp.Body); string(text) != "data: 1\n\ndata: [DONE]\n\n" || err != nil {
						t.Errorf("got %q, %v", text, err)
					}
				}
				return nil, err
			})
			want := "succeeded"
			if giveUp {
				want = "executing"
			}
			if s := rig.step(e, 0); s.Status != want {
				t.Errorf("the step is %s %s", s.Status, s.Error)
			}
		})
	}
}

func TestStreamNeverClosed(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	src := newEventStream()
	var left io.ReadCloser
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		resp, err := open(ctx, run, src)
		if err != nil {
			return nil, err
		}
		left = resp.Body
		src.events <- "data: 1\n\n"
		_, err = io.ReadFull(left, make([]byte, 9))
		return nil, err
	})
	rig.wantOutcome(e, "completed null")
	left.Close()
	close(src.events)
}

// TestSlowKernelDoesNotSlowTheReader: the kernel takes no deltas at all.
func TestSlowKernelDoesNotSlowTheReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		rig.kernel.intercept = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
			if trail(r) == "step-stream" {
				<-r.Context().Done()
				return true
			}
			return false
		}
		e := rig.kernel.create(`{}`)
		src := newEventStream()
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			resp, err := open(ctx, run, src)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			start := time.Now()
			chunk := strings.Repeat("ü", 5000) + "\n"
			p := make([]byte, len(chunk))
			for range 200 { // far more than is kept for the kernel
				src.events <- chunk
				if _, err := io.ReadFull(resp.Body, p); err != nil {
					return nil, err
				}
			}
			if d := time.Since(start); d != 0 {
				t.Errorf("reading was slowed by %s", d)
			}
			close(src.events)
			if _, err := io.ReadAll(resp.Body); err != nil {
				return nil, err
			}
			if d := time.Since(start); d > time.Second {
				t.Errorf("the end was held up for %s", d)
			}
			return nil, nil
		})
		rig.wantOutcome(e, "completed null")
	})
}

func TestTextDeltas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rig := newRig(t)
		e := rig.kernel.create(`{}`)
		src := newEventStream()
		src.say("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"cho", "ices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\n", "data: [DONE]\n\n")
		rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
			resp, err := open(ctx, run, src, agent.TextDeltas())
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return nil, err
		})
		rig.wantOutcome(e, "completed null")
		if got := strings.Join(e.deltas, ""); got != "Hello" {
			t.Errorf("published %q", got)
		}
	})
}
