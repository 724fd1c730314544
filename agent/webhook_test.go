package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/agent"
)

func never(t testing.TB) agent.Func {
	return func(context.Context, *agent.Run) (any, error) {
		t.Error("the agent function ran")
		return nil, nil
	}
}

func TestWebhookRefusals(t *testing.T) {
	t.Parallel()
	good := `{"execution_id":"x","dispatch_id":"d","dispatch_attempt":1,"lease_timeout_seconds":30}`
	tests := map[string]struct {
		method    string
		body      string
		signature string // "good" for the right one
		want      int
	}{
		"GET":                       {method: "GET", body: good, signature: "good", want: 405},
		"PUT":                       {method: "PUT", body: good, signature: "good", want: 405},
		"unsigned":                  {body: good, want: 401},
		"signed over another body":  {body: good, signature: sign([]byte("{}")), want: 401},
		"upper-case digest":         {body: good, signature: "sha256=" + strings.ToUpper(sign([]byte(good))[7:]), want: 401},
		"digest without its scheme": {body: good, signature: sign([]byte(good))[7:], want: 401},
		"too large":                 {body: strings.Repeat(" ", 65<<10) + good, signature: "good", want: 413},
		"empty":                     {signature: "good", want: 400},
		"no JSON":                   {body: "{", signature: "good", want: 400},
		"no execution":              {body: `{"dispatch_id":"d","dispatch_attempt":1}`, signature: "good", want: 400},
		"no dispatch":               {body: `{"execution_id":"x","dispatch_attempt":1}`, signature: "good", want: 400},
		"no attempt":                {body: `{"execution_id":"x","dispatch_id":"d"}`, signature: "good", want: 400},
		"attempt 0":                 {body: `{"execution_id":"x","dispatch_id":"d","dispatch_attempt":0}`, signature: "good", want: 400},
		"attempt is text":           {body: `{"execution_id":"x","dispatch_id":"d","dispatch_attempt":"1"}`, signature: "good", want: 400},
		"id with a line break":      {body: `{"execution_id":"x","dispatch_id":"d\r\nX: y","dispatch_attempt":1}`, signature: "good", want: 400},
		"id that climbs":            {body: `{"execution_id":"..","dispatch_id":"d","dispatch_attempt":1}`, signature: "good", want: 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			method := tt.method
			if method == "" {
				method = http.MethodPost
			}
			req := httptest.NewRequest(method, "/hook", strings.NewReader(tt.body))
			if tt.signature == "good" {
				tt.signature = sign([]byte(tt.body))
			}
			if tt.signature != "" {
				req.Header.Set("Service-Signature", tt.signature)
			}
			rec := httptest.NewRecorder()
			rig.agent.Handler(never(t)).ServeHTTP(rec, req)
			if rec.Code != tt.want {
				t.Errorf("got %d %s, want %d", rec.Code, rec.Body, tt.want)
			}
			if allow := rec.Header().Get("Allow"); tt.want == 405 && allow != "POST" {
				t.Errorf("Allow: %q", allow)
			}
			rig.wait()
		})
	}
}

func TestWebhookIsAcknowledgedBeforeTheRunEnds(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	server := httptest.NewServer(rig.agent.Handler(func(context.Context, *agent.Run) (any, error) {
		return "done", nil
	}))
	defer server.Close()
	release := make(chan struct{})
	rig.kernel.intercept = func(http.ResponseWriter, *http.Request, []byte) bool {
		<-release // the run cannot even read its input before the test has its 200
		return false
	}
	e := rig.kernel.create(`{}`)
	body := rig.kernel.webhook(e, 30)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Service-Signature", sign(body))
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %d", resp.StatusCode)
	}
	close(release)
	rig.wait()
	rig.wantOutcome(e, `completed "done"`)
}

func TestRepeatedWebhookRunsOnce(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	release := make(chan struct{})
	calls := 0
	logic := func(context.Context, *agent.Run) (any, error) {
		calls++
		<-release
		return nil, nil
	}
	rig.deliver(e, logic)
	rig.deliver(e, logic) // while it runs
	close(release)
	rig.wait()
	rig.run(e, logic) // and when it is over
	if calls != 1 {
		t.Errorf("%d runs", calls)
	}
	rig.wantOutcome(e, "completed null")
}

func TestNewerAttemptEndsTheOlder(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	first := rig.kernel.webhook(e, 30)
	started := make(chan struct{})
	var causes []error
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		if run.Attempt() == 2 {
			return "second", nil
		}
		close(started)
		<-ctx.Done()
		causes = append(causes, context.Cause(ctx))
		return nil, errors.New("not to be reported")
	}
	rig.deliver(e, logic)
	<-started
	rig.kernel.lapse(e)
	rig.run(e, logic)
	rig.wantOutcome(e, `completed "second"`)
	if len(causes) != 1 || !errors.Is(causes[0], agent.ErrSuperseded) {
		t.Errorf("causes: %v", causes)
	}
	if resp := rig.post(never(t), first, sign(first)); resp.StatusCode != http.StatusOK {
		t.Errorf("late repeat: %d", resp.StatusCode)
	}
}

func TestOvertakenWebhookStartsNothing(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	e := rig.kernel.create(`{}`)
	first := rig.kernel.webhook(e, 30)
	rig.kernel.lapse(e)
	release := make(chan struct{})
	rig.deliver(e, func(context.Context, *agent.Run) (any, error) {
		<-release
		return nil, nil
	})
	if resp := rig.post(never(t), first, sign(first)); resp.StatusCode != http.StatusOK {
		t.Errorf("got %d", resp.StatusCode)
	}
	close(release)
	rig.wait()
}

func TestConcurrencyLimitAndQueue(t *testing.T) {
	t.Parallel()
	rig := newRig(t, func(o *agent.Options) { o.MaxConcurrentRuns, o.MaxQueuedRuns = 1, 1 })
	started, release := make(chan string, 3), make(chan struct{})
	logic := func(_ context.Context, run *agent.Run) (any, error) {
		started <- run.ExecutionID()
		<-release
		return nil, nil
	}
	first, second, third := rig.kernel.create(`{}`), rig.kernel.create(`{}`), rig.kernel.create(`{}`)
	rig.deliver(first, logic)
	<-started
	rig.deliver(second, logic)
	body := rig.kernel.webhook(third, 30)
	resp := rig.post(logic, body, sign(body))
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("queue full: got %d", resp.StatusCode)
	}
	if len(started) != 0 {
		t.Error("two runs at once")
	}
	close(release)
	rig.wait()
	rig.wantOutcome(second, "completed null")
	rig.run(third, logic) // a refused delivery is not taken for one that came before
	rig.wantOutcome(third, "completed null")
}

func TestRecentForgetsTheOldest(t *testing.T) {
	t.Parallel()
	set := agent.NewRecent(3)
	for n := range int64(5) {
		set.Add(n)
	}
	var got []bool
	for n := range int64(6) {
		got = append(got, set.Has(n))
	}
	if diff := cmp.Diff([]bool{false, false, true, true, true, false}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHandlerWithoutAFunction(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	defer func() {
		if recover() == nil {
			t.Error("a nil function was taken")
		}
	}()
	rig.agent.Handler(nil)
}

// FuzzWebhook posts any body with any signature: the handler never panics, and
// the agent never runs for a body that was not signed.
func FuzzWebhook(f *testing.F) {
	good := []byte(`{"execution_id":"x","dispatch_id":"d","dispatch_attempt":1,"lease_timeout_seconds":30}`)
	f.Add("POST", good, sign(good), false)
	f.Add("POST", good, "", true)
	f.Add("POST", good, "", false)
	f.Add("GET", []byte{}, "sha256=", false)
	f.Add("POST", []byte(`{"execution_id":"x","dispatch_attempt":1e99}`), "x", true)
	f.Fuzz(func(t *testing.T, method string, body []byte, signature string, signed bool) {
		rig := newRig(t, func(o *agent.Options) { o.Retry.MaxElapsed = -1 })
		var started atomic.Bool
		rig.kernel.intercept = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			started.Store(true)
			refuse(w, 404, "not_found")
			return true
		}
		if signed {
			signature = sign(body)
		}
		req := httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(body))
		req.Method = method
		req.Header["Service-Signature"] = []string{signature}
		rec := httptest.NewRecorder()
		rig.agent.Handler(never(t)).ServeHTTP(rec, req)
		rig.wait()
		switch {
		case rec.Code == http.StatusOK:
			if signature != sign(body) || method != http.MethodPost || !json.Valid(body) {
				t.Errorf("%s %q with %q was accepted", method, body, signature)
			}
		case started.Load():
			t.Errorf("a run began for a webhook that was answered %d", rec.Code)
		}
	})
}
