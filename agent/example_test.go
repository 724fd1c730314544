package agent_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/agent"
)

// The whole of an agent: register http://<this host>:9000/hook as its
// webhook_url, and every execution of it runs the function.
func Example() {
	a, err := agent.New(agent.Options{
		BaseURL: "http://127.0.0.1:8080",
		AgentID: "greeter",
		Secret:  "the secret it was registered with",
	})
	if err != nil {
		log.Fatal(err)
	}
	hook := a.Handler(func(ctx context.Context, run *agent.Run) (any, error) {
		var in struct{ Name string }
		if err := run.Input(ctx, &in); err != nil {
			return nil, err
		}
		return agent.Tool(ctx, run, "greet", in, func(context.Context) (string, error) {
			return "hello " + in.Name, nil // only here does anything happen
		})
	})
	mux := http.NewServeMux()
	mux.Handle("/hook", hook)
	// Serve mux with an http.Server; at the end, shut that down, and then a.

	// An unsigned request gets nowhere.
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader("{}")))
	fmt.Println(answer.Code)
	// Output: 401
}

func ExampleTool() {
	type receipt struct{ ID string }
	sent := 0
	runTwice(func(ctx context.Context, run *agent.Run) (any, error) {
		mail := map[string]string{"to": "ada@example.com", "subject": "Your invoice"}
		return agent.Tool(ctx, run, "send_email", mail, func(context.Context) (receipt, error) {
			sent++
			return receipt{ID: fmt.Sprintf("m-%d", sent)}, nil
		}, agent.AtMostOnce())
	})
	fmt.Println("sent:", sent)
	// Output:
	// first run: {m-1}
	// second run: {m-1}
	// sent: 1
}

func ExampleStep() {
	runTwice(func(ctx context.Context, run *agent.Run) (any, error) {
		token, err := agent.Step(ctx, run, "make_token", func(context.Context) (string, error) { return rand.Text(), nil })
		if err != nil {
			return nil, err
		}
		// The same random text in every run: it may decide what happens next.
		return len(token) > 20, nil
	})
	// Output:
	// first run: true
	// second run: true
}

func ExampleFailure() {
	type shortage struct {
		Reason string `json:"reason"`
		Left   int    `json:"left"`
	}
	runTwice(func(ctx context.Context, run *agent.Run) (any, error) {
		_, err := agent.Tool(ctx, run, "reserve", 5, func(context.Context) (bool, error) {
			return false, agent.Failure(shortage{Reason: "out_of_stock", Left: 2})
		})
		var failed *agent.StepError
		if errors.As(err, &failed) && failed.Reason() == "out_of_stock" {
			var s shortage
			if err := failed.Unmarshal(&s); err != nil {
				return nil, err
			}
			return fmt.Sprintf("only %d left", s.Left), nil
		}
		return nil, err
	})
	// Output:
	// first run: only 2 left
	// second run: only 2 left
}

func ExampleWaitSignal() {
	type payment struct{ Cents int }
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		paid, err := agent.WaitSignal[payment](ctx, run, "invoice.paid", 24*time.Hour)
		var failed *agent.StepError
		if errors.As(err, &failed) && failed.Reason() == agent.ReasonSignalTimeout {
			return "not paid in time", nil
		}
		if err != nil {
			return nil, err
		}
		return fmt.Sprintf("%d cents", paid.Cents), nil
	}
	rig := newExampleRig()
	e := rig.kernel.create(`{}`)
	rig.run(e, logic)
	fmt.Println(rig.outcome(e))
	e.signals["invoice.paid"] = append(e.signals["invoice.paid"], []byte(`{"Cents":4200}`))
	rig.kernel.grant(e) // the signal makes the kernel start a new run
	rig.run(e, logic)
	fmt.Println(rig.outcome(e))
	// Output:
	// blocked
	// completed "4200 cents"
}

func ExampleRun_Transport() {
	asked := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"42\"}}]}\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	runTwice(func(ctx context.Context, run *agent.Run) (any, error) {
		// Hand this client to the provider's library.
		client := &http.Client{Transport: run.Transport(provider.Client().Transport)}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider.URL, strings.NewReader(`{"model":"gpt-9","stream":true}`))
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return strings.Contains(string(body), "42"), err
	})
	fmt.Println("asked:", asked)
	// Output:
	// first run: true
	// second run: true
	// asked: 1
}

func ExamplePublish() {
	rig := newExampleRig()
	e := rig.kernel.create(`{}`)
	rig.run(e, func(ctx context.Context, run *agent.Run) (any, error) {
		return agent.Tool(ctx, run, "build", nil, func(ctx context.Context) (string, error) {
			agent.Publish(ctx, "compiling\n")
			return "done", nil
		})
	})
	fmt.Print(e.deltas[0], rig.outcome(e))
	// Output:
	// compiling
	// completed "done"
}

// noTest panics where a test would fail.
type noTest struct{ testing.TB }

func (noTest) Helper()                           {}
func (noTest) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (noTest) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (noTest) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }

// newExampleRig is a rig without a test around it.
func newExampleRig() *rig {
	r := &rig{t: noTest{}, kernel: newKernel(noTest{}), log: &logBuffer{}, lease: 30}
	a, err := agent.New(agent.Options{
		BaseURL: "http://kernel.test", AgentID: testAgent, Secret: testSecret,
		HTTPClient: &http.Client{Transport: loopback{r.kernel}},
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	r.agent = a
	return r
}

// runTwice runs a function, pauses the execution behind its end, and runs it
// again: the second time everything comes from the record.
func runTwice(fn agent.Func) {
	rig := newExampleRig()
	rig.kernel.rule = func(s step) string {
		if s.Target == "pause" {
			return "approve"
		}
		return "proceed"
	}
	e := rig.kernel.create(`{}`)
	logic := func(ctx context.Context, run *agent.Run) (any, error) {
		got, err := fn(ctx, run)
		if err != nil {
			return nil, err
		}
		which := map[string]string{e.id + "-d1": "first", e.id + "-d2": "second"}[run.DispatchID()]
		fmt.Printf("%s run: %v\n", which, got)
		return agent.Step(ctx, run, "pause", func(context.Context) (int, error) { return 0, nil })
	}
	rig.run(e, logic)
	rig.kernel.grant(e)
	rig.run(e, logic)
}
