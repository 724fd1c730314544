package agent_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

const apiKey = "sk-very-secret-key"

// provider is an LLM provider and how often it was asked.
type provider struct {
	*httptest.Server
	calls atomic.Int32
}

func newProvider(t testing.TB, handle http.HandlerFunc) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.calls.Add(1)
		handle(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// ask makes the request of a typical library and reads the answer to its end.
func ask(ctx context.Context, client *http.Client, url, body string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+apiKey)
	req.Header.Set("X-Api-Key", apiKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Stainless-Retry-Count", "0")
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

func (p *provider) client(run *agent.Run, opts ...agent.TransportOption) *http.Client {
	return &http.Client{Transport: run.Transport(p.Client().Transport, opts...)}
}

// twice runs logic, stops it with an approval behind its end, and runs it again,
// so that everything in it is replayed. logic reports what it saw.
func twice(t *testing.T, rig *rig, logic func(ctx context.Context, run *agent.Run) (string, error)) (first, second string) {
	t.Helper()
	inner := rig.kernel.rule
	rig.kernel.rule = func(s step) string {
		if s.Target == "pause" {
			return "approve"
		}
		return inner(s)
	}
	e := rig.kernel.create(`{}`)
	var saw []string
	fn := func(ctx context.Context, run *agent.Run) (any, error) {
		got, err := logic(ctx, run)
		if err != nil {
			t.Errorf("run %d: %v", len(saw)+1, err)
			return nil, err
		}
		saw = append(saw, got)
		return agent.Step(ctx, run, "pause", func(context.Context) (string, error) { return "end", nil })
	}
	rig.run(e, fn)
	rig.wantOutcome(e, "blocked")
	rig.kernel.grant(e)
	rig.run(e, fn)
	rig.wantOutcome(e, `completed "end"`)
	if len(saw) != 2 {
		t.Fatalf("%d runs", len(saw))
	}
	return saw[0], saw[1]
}

func TestLLMCallIsRecordedAndReplayed(t *testing.T) {
	t.Parallel()
	const answerBody = "{\n  \"usage\": {\"prompt_tokens\": 9007199254740993},  \"text\": \"a<b ü\"}\n"
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+apiKey {
			t.Errorf("the provider got Authorization %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session="+apiKey)
		w.Header().Set("X-Request-Id", "req-1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, answerBody)
	})
	rig := newRig(t)
	first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
		resp, text, err := ask(ctx, p.client(run), p.URL+"/v1/chat?key="+apiKey+"&alt=sse", `{"model":"gpt-9","n":1e2,"messages":["<hi>"]}`)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s %s %d %s", resp.Status, resp.Header.Get("Content-Type"), resp.Header.Get("X-Request-Id"), resp.ContentLength, text), nil
	})
	if want := fmt.Sprintf("201 Created application/json req-1 %d %s", len(answerBody), answerBody); first != want || second != want {
		t.Errorf("got  %q\nthen %q\nwant %q", first, second, want)
	}
	if n := p.calls.Load(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	s := rig.step(rig.kernel.executions["0190-exec-1"], 0)
	wantArgs := `{"method":"POST","url":"` + p.URL + `/v1/chat?alt=sse","headers":{"Anthropic-Version":"2023-06-01","Content-Type":"application/json"},"body":{"model":"gpt-9","n":1e2,"messages":["<hi>"]}}`
	if diff := cmp.Diff([]string{"llm_call", "gpt-9", wantArgs}, []string{s.Kind, s.Target, string(s.Args)}); diff != "" {
		t.Errorf("step (-want +got):\n%s", diff)
	}
	var result struct {
		Status  int
		Headers map[string]string
		Body    string
	}
	mustJSON(t, s.Result, &result)
	if result.Status != 201 || result.Body != answerBody || result.Headers["Content-Type"] != "application/json" {
		t.Errorf("result %+v", result)
	}
	if strings.Contains(string(s.Args)+string(s.Result)+rig.log.String(), apiKey) {
		t.Errorf("the API key was recorded: %s %s", s.Args, s.Result)
	}
}

func TestTargetOfARequestWithoutAModel(t *testing.T) {
	t.Parallel()
	p := newProvider(t, func(http.ResponseWriter, *http.Request) {})
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		for _, body := range []string{"", "text", `{"model":""}`, `{"model":7}`, `["model"]`} {
			if _, _, err := ask(ctx, p.client(run), p.URL+"/models/gemini:generate", body); err != nil {
				return nil, err
			}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/v1/models", nil)
		if err != nil {
			return nil, err
		}
		resp, err := p.client(run).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return nil, err
	})
	rig.wantOutcome(e, "completed null")
	host := strings.TrimPrefix(p.URL, "http://")
	for i, got := range rig.steps(e) {
		want := "llm_call " + host + "/models/gemini:generate succeeded"
		if i == 5 {
			want = "llm_call " + host + "/v1/models succeeded"
		}
		if got != want {
			t.Errorf("step %d: got %q, want %q", i, got, want)
		}
	}
}

// TestProviderErrorIsNotForEver: a status of one moment is recorded as the
// failure of one step. The library's next try is the next step, and a replay
// goes the same way without asking anybody.
func TestProviderErrorIsNotForEver(t *testing.T) {
	t.Parallel()
	var p *provider
	p = newProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		switch p.calls.Load() {
		case 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":"slow down"}`)
		case 2:
			panic(http.ErrAbortHandler)
		default:
			_, _ = io.WriteString(w, "hello")
		}
	})
	rig := newRig(t)
	var after []string
	first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
		saw := ""
		for { // a library that tries again at once
			resp, text, err := ask(ctx, p.client(run), p.URL, `{"model":"m"}`)
			var failed *agent.StepError
			switch {
			case errors.As(err, &failed):
				saw += failed.Reason() + ", "
			case err != nil:
				return "", err
			case resp.StatusCode == http.StatusOK:
				return saw + text, nil
			default:
				saw += fmt.Sprintf("%d %s, ", resp.StatusCode, text)
				after = append(after, resp.Header.Get("Retry-After"))
			}
		}
	})
	if want := `429 {"error":"slow down"}, network_error, hello`; first != want || second != want {
		t.Errorf("got  %q\nthen %q\nwant %q", first, second, want)
	}
	if n := p.calls.Load(); n != 3 {
		t.Errorf("the provider was asked %d times", n)
	}
	// Waiting makes sense once.
	if diff := cmp.Diff([]string{"7", ""}, after); diff != "" {
		t.Errorf("Retry-After (-want +got):\n%s", diff)
	}
	want := []string{"llm_call m failed", "llm_call m failed", "llm_call m succeeded", "local pause succeeded"}
	if diff := cmp.Diff(want, rig.steps(rig.kernel.executions["0190-exec-1"])); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkErrorKeepsSecretsOut(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("no route to %s with %s", r.URL, r.Header.Get("Authorization"))
		})
		_, _, err := ask(ctx, &http.Client{Transport: run.Transport(base)}, "http://u:hidden-pw@llm.test/?api_key="+apiKey, "{}")
		var failed *agent.StepError
		if !errors.As(err, &failed) || failed.Reason() != agent.ReasonNetworkError {
			t.Errorf("got %v", err)
		}
		return nil, nil
	})
	s := rig.step(e, 0)
	if s.Status != "failed" || !strings.Contains(string(s.Error), "no route to") {
		t.Errorf("recorded %s %s", s.Status, s.Error)
	}
	if all := string(s.Args) + string(s.Error); strings.Contains(all, apiKey) || strings.Contains(all, "hidden-pw") {
		t.Errorf("recorded: %s", all)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDecisionsReachTheCallerThroughTheLibrary(t *testing.T) {
	t.Parallel()
	tests := map[string]func(error) bool{
		"denied":       func(err error) bool { return errors.As(err, new(*agent.DeniedError)) },
		"rate_limited": func(err error) bool { return errors.As(err, new(*agent.RateLimitedError)) },
		"approve":      func(err error) bool { return errors.Is(err, agent.ErrBlocked) },
		"park":         func(err error) bool { return errors.Is(err, agent.ErrBlocked) },
	}
	for decision, check := range tests {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, func(http.ResponseWriter, *http.Request) {})
			rig := newRig(t)
			rig.kernel.rule = func(step) string { return decision }
			rig.run(rig.kernel.create(`{}`), func(ctx context.Context, run *agent.Run) (any, error) {
				for range 3 { // as a library that takes it for the network
					if _, _, err := ask(context.WithoutCancel(ctx), p.client(run), p.URL, "{}"); !check(err) {
						t.Errorf("got %v", err)
					}
				}
				return nil, nil
			})
			if n := p.calls.Load(); n != 0 {
				t.Errorf("the provider was asked %d times", n)
			}
		})
	}
}

func TestCompressedAnswerIsRecordedAsText(t *testing.T) {
	t.Parallel()
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Errorf("Accept-Encoding: %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = io.WriteString(zip, `{"usage":{"input_tokens":3}}`)
		_ = zip.Close()
	})
	rig := newRig(t)
	first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, strings.NewReader("{}"))
		if err != nil {
			return "", err
		}
		req.Header.Set("Accept-Encoding", "gzip, br") // a library that would unpack by itself
		resp, err := p.client(run).Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp.Header.Get("Content-Encoding") + string(text), err
	})
	if want := `{"usage":{"input_tokens":3}}`; first != want || second != want {
		t.Errorf("got %q, then %q", first, second)
	}
}

func TestBinaryBodies(t *testing.T) {
	t.Parallel()
	audio := []byte{0xff, 0xfb, 0x00, 0x80}
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body) // what came in
	})
	rig := newRig(t)
	first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
		_, text, err := ask(ctx, p.client(run), p.URL, string(audio))
		return text, err
	})
	if first != string(audio) || second != string(audio) {
		t.Errorf("got %x, then %x", first, second)
	}
	s := rig.step(rig.kernel.executions["0190-exec-1"], 0)
	encoded := `"` + base64.StdEncoding.EncodeToString(audio) + `","encoding":"base64"`
	for _, raw := range []json.RawMessage{s.Args, s.Result} {
		if !strings.Contains(string(raw), `"body":`+encoded) {
			t.Errorf("recorded %s", raw)
		}
	}
}

func TestMultipartBoundaryDoesNotMakeANewRequest(t *testing.T) {
	t.Parallel()
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.FormValue("prompt"))
	})
	rig := newRig(t)
	first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("prompt", "draw")
		_ = form.Close()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, &body)
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", form.FormDataContentType())
		resp, err := p.client(run).Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	})
	if first != "draw" || second != "draw" || p.calls.Load() != 1 {
		t.Errorf("got %q, then %q, %d calls", first, second, p.calls.Load())
	}
}

func TestResponseThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, "too much")
			})
			rig := newRig(t)
			rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
				if trail(r) == "step-complete" && strings.Contains(r.URL.Path, "steps") && len(rig.steps(rig.kernel.executions["0190-exec-1"])) == 1 {
					refuse(w, 413, "payload_too_large")
					return true
				}
				return false
			}
			first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
				_, _, err := ask(ctx, p.client(run), p.URL, "{}")
				var failed *agent.StepError
				if !errors.As(err, &failed) {
					return "", fmt.Errorf("got %w, want a *StepError", err)
				}
				return failed.Reason(), nil
			})
			if want := agent.ReasonResultRejected; first != want || second != want {
				t.Errorf("got %q, then %q", first, second)
			}
		})
	}
}

func TestRecordedResultThatIsNoResponse(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.kernel.intercept = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if trail(r) == "steps" {
			answer(w, map[string]any{"decision": "replay", "step_id": "s", "result": map[string]int{"n": 1}})
			return true
		}
		return false
	}
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		_, _, err := ask(ctx, &http.Client{Transport: run.Transport(nil)}, "http://llm.test", "{}")
		return nil, err
	})
	if got := rig.outcome(e); !strings.Contains(got, "is no response: it has no HTTP status") {
		t.Errorf("got %q", got)
	}
}

func TestTransportIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", body)
	})
	rig := newRig(t)
	first, second := twice(t, rig, func(ctx context.Context, run *agent.Run) (string, error) {
		client := p.client(run)
		var wg sync.WaitGroup
		texts, errs := make([]string, 16), make([]error, 16)
		for i := range texts {
			wg.Go(func() {
				_, texts[i], errs[i] = ask(ctx, client, p.URL, fmt.Sprintf(`{"i":%d}`, i))
			})
		}
		wg.Wait()
		return strings.Join(texts, ""), errors.Join(errs...)
	})
	if first != second || p.calls.Load() != 16 {
		t.Errorf("%d calls; first and second differ: %t", p.calls.Load(), first != second)
	}
}
