package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const (
	token  = "tok-0123456789abcdef"
	execID = "01930c2e-7a10-7c55-b2aa-0f1ec2d0e911"
	stepID = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

// fast makes every pause one of a millisecond or two.
func fast() client.Options {
	short := client.Backoff{Min: time.Millisecond, Max: 2 * time.Millisecond}
	return client.Options{Token: token, UserAgent: "kernelctl/test", Backoff: short, TailBackoff: short, Poll: time.Millisecond}
}

// serve starts a server and a client of it.
func serve(t *testing.T, o client.Options, h http.HandlerFunc) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fail(w http.ResponseWriter, code wire.ErrorCode, message string) {
	b, err := wire.Marshal(wire.ErrorEnvelope{Code: code, Message: message})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", wire.ContentTypeJSON)
	w.Header().Set(wire.HeaderRequestID, "req-1")
	w.WriteHeader(code.Status())
	_, _ = w.Write(b)
}

func answer(w http.ResponseWriter, status int, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", wire.ContentTypeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// event is the n-th event of a log of which the last one ends the execution.
func event(n, last int64) wire.Event {
	e := wire.Event{
		ID: fmt.Sprintf("01930c2e-0000-7000-8000-%012d", n), ExecutionID: execID, EventSeq: n,
		Type: wire.EventStepProposed, SchemaVersion: wire.EventSchemaVersion, Payload: []byte(`{}`),
	}
	if n == last {
		e.Type = wire.EventExecutionCompleted
	}
	return e
}

// sse writes frames to a stream whose headers are sent by the first call.
type sse struct{ w http.ResponseWriter }

func startSSE(w http.ResponseWriter) sse {
	w.Header().Set("Content-Type", wire.ContentTypeEventStream)
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	return sse{w}
}

func (s sse) event(e wire.Event) {
	b, err := wire.Marshal(e)
	if err != nil {
		panic(err)
	}
	s.frame(wire.Frame{ID: fmt.Sprint(e.EventSeq), Event: string(e.Type), Data: b})
}

func (s sse) frame(f wire.Frame) {
	_, _ = s.w.Write(wire.AppendFrame(nil, f))
	s.w.(http.Flusher).Flush()
}

// cut breaks the connection in the middle of a frame.
func (s sse) cut() {
	_, _ = s.w.Write([]byte("id: 99\ndata: {\"event_seq\""))
	s.w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}
