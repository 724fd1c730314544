package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func labels(n int) string {
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = fmt.Sprintf(`"k%d":"v"`, i)
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	s.Agent("owner")
	past := time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	tests := []struct{ name, body, field string }{
		{"no agent", `{}`, "agent_id"},
		{"null agent", `{"agent_id":null}`, "agent_id"},
		{"empty agent", `{"agent_id":""}`, "agent_id"},
		{"agent of another type", `{"agent_id":1}`, "agent_id"},
		{"labels of another type", `{"agent_id":"owner","labels":[]}`, "labels"},
		{"33 labels", `{"agent_id":"owner","labels":` + labels(33) + `}`, "labels"},
		{"empty label key", `{"agent_id":"owner","labels":{"":"v"}}`, "labels."},
		{"long label key", `{"agent_id":"owner","labels":{"` + strings.Repeat("k", 64) + `":"v"}}`, "labels." + strings.Repeat("k", 64)},
		{"long label value", `{"agent_id":"owner","labels":{"k":"` + strings.Repeat("v", 257) + `"}}`, "labels.k"},
		{"label that is a number", `{"agent_id":"owner","labels":{"k":1}}`, "labels.k"},
		{"label that is null", `{"agent_id":"owner","labels":{"k":null}}`, "labels.k"},
		{"deadline in the past", `{"agent_id":"owner","deadline_at":"` + past + `"}`, "deadline_at"},
		{"deadline in another form", `{"agent_id":"owner","deadline_at":"tomorrow"}`, "deadline_at"},
		{"deadline without a zone", `{"agent_id":"owner","deadline_at":"2099-01-01T00:00:00"}`, "deadline_at"},
		{"deadline that is a number", `{"agent_id":"owner","deadline_at":4070908800}`, "deadline_at"},
		{"deadline in the year 10000", `{"agent_id":"owner","deadline_at":"9999-12-31T23:59:59-01:00"}`, "deadline_at"},
		{"timeout of 0", `{"agent_id":"owner","timeout_seconds":0}`, "timeout_seconds"},
		{"negative timeout", `{"agent_id":"owner","timeout_seconds":-1}`, "timeout_seconds"},
		{"fractional timeout", `{"agent_id":"owner","timeout_seconds":1.5}`, "timeout_seconds"},
		{"timeout in text", `{"agent_id":"owner","timeout_seconds":"5"}`, "timeout_seconds"},
		{"timeout without end", `{"agent_id":"owner","timeout_seconds":9223372036854775807}`, "timeout_seconds"},
		{"timeout beyond 64 bits", `{"agent_id":"owner","timeout_seconds":1e40}`, "timeout_seconds"},
		{"both", `{"agent_id":"owner","timeout_seconds":5,"deadline_at":"` + future + `"}`, "timeout_seconds"},
	}
	for _, tt := range tests {
		wantProblem(t, tt.name, s.Send(http.MethodPost, "/v0/executions", tt.body, daemontest.Bearer(daemontest.Token)), tt.field)
	}
	for name, keys := range badKeys {
		wantProblem(t, name, s.Send(http.MethodPost, "/v0/executions", `{"agent_id":"owner"}`, daemontest.Bearer(daemontest.Token), keys), wire.HeaderIdempotencyKey)
	}
	for _, agent := range []string{"nobody", "Owner", "no/body", " owner", strings.Repeat("a", 200)} {
		if a := s.Send(http.MethodPost, "/v0/executions", `{"agent_id":"`+agent+`"}`, daemontest.Bearer(daemontest.Token)); a.Code() != wire.CodeNotFound {
			t.Errorf("agent %q: status %d, want 404: %s", agent, a.Status, a.Body)
		}
	}
	var list wire.ExecutionList
	if s.Admin(http.MethodGet, "/v0/executions", "", http.StatusOK, &list); len(list.Executions) != 0 {
		t.Errorf("%d executions, want none", len(list.Executions))
	}
}

// badKeys are values of Idempotency-Key that cannot be one.
var badKeys = map[string]daemontest.Option{
	"an empty key":       func(r *http.Request, _ string) { r.Header[wire.HeaderIdempotencyKey] = []string{""} },
	"a long key":         daemontest.Key(strings.Repeat("k", 256)),
	"a key with a space": daemontest.Key("a b"),
	"a key not in ASCII": daemontest.Key("ä"),
	"two keys":           func(r *http.Request, _ string) { r.Header[wire.HeaderIdempotencyKey] = []string{"a", "b"} },
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	s.Agent("owner")
	deadline := wire.At(time.Date(2099, 1, 2, 3, 4, 5, 678901000, time.UTC))
	type shape struct {
		Input    string
		Labels   wire.Labels
		Deadline *wire.Time
	}
	tests := []struct {
		name, body string
		want       shape
	}{
		{"nothing else", ``, shape{`{}`, wire.Labels{}, nil}},
		{"everything null", `"input":null,"labels":null,"deadline_at":null,"timeout_seconds":null`, shape{`{}`, wire.Labels{}, nil}},
		{"a text", `"input":"x"`, shape{`"x"`, wire.Labels{}, nil}},
		{"false", `"input":false`, shape{`false`, wire.Labels{}, nil}},
		{"as sent", `"input": { "z" : 1, "a":[ 9007199254740993,1.0,1E5,-0 ],"u":"\u00e4ä<&>\/" } `, shape{`{ "z" : 1, "a":[ 9007199254740993,1.0,1E5,-0 ],"u":"\u00e4ä<&>\/" }`, wire.Labels{}, nil}},
		{"labels", `"labels":{"env":"prod","a:b":"","<&>":"ä"}`, shape{`{}`, wire.Labels{"env": "prod", "a:b": "", "<&>": "ä"}, nil}},
		{"longest labels", `"labels":{"` + strings.Repeat("ä", 63) + `":"` + strings.Repeat("ö", 256) + `"}`, shape{`{}`, wire.Labels{strings.Repeat("ä", 63): strings.Repeat("ö", 256)}, nil}},
		{"deadline", `"deadline_at":"2099-01-02T03:04:05.6789019Z"`, shape{`{}`, wire.Labels{}, &deadline}},
		{"deadline elsewhere", `"deadline_at":"2099-01-02T05:04:05.678901+02:00"`, shape{`{}`, wire.Labels{}, &deadline}},
	}
	for _, tt := range tests {
		body := `{"agent_id":"owner"`
		if tt.body != "" {
			body += "," + tt.body
		}
		var created, read wire.Execution
		a := s.Admin(http.MethodPost, "/v0/executions", body+"}", http.StatusCreated, &created)
		if diff := cmp.Diff(tt.want, shape{string(created.Input), created.Labels, created.DeadlineAt}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got := a.Header.Get("Location"); got != "/v0/executions/"+created.ID {
			t.Errorf("%s: Location %q", tt.name, got)
		}
		if created.Status != wire.ExecutionPending || string(created.Output) != "null" || created.CreatedAt != created.UpdatedAt || created.LastEventSeq != 2 {
			t.Errorf("%s: %s", tt.name, a.Body)
		}
		s.Admin(http.MethodGet, "/v0/executions/"+created.ID, "", http.StatusOK, &read)
		read.Status, read.UpdatedAt, read.LastEventSeq = created.Status, created.UpdatedAt, created.LastEventSeq // it goes on
		if diff := cmp.Diff(created, read); diff != "" {
			t.Errorf("%s: (-created +read):\n%s", tt.name, diff)
		}
	}
	var x wire.Execution
	before := time.Now()
	s.Admin(http.MethodPost, "/v0/executions", `{"agent_id":"owner","timeout_seconds":3600}`, http.StatusCreated, &x)
	if left := x.DeadlineAt.Sub(before); left < time.Hour || left > time.Hour+daemontest.Patience {
		t.Errorf("timeout_seconds 3600: the deadline is in %s", left)
	}
	s.Admin(http.MethodPost, "/v0/executions", `{"agent_id":"owner","labels":`+labels(32)+`}`, http.StatusCreated, &x)
	if len(x.Labels) != 32 {
		t.Errorf("%d labels, want 32", len(x.Labels))
	}
}

func TestDefaultDeadline(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{ExecutionTimeout: time.Hour})
	owner := s.Agent("owner")
	x := owner.Create("")
	if x.DeadlineAt == nil || x.DeadlineAt.Sub(x.CreatedAt.Time) != time.Hour {
		t.Errorf("created at %s, deadline %v: want an hour", x.CreatedAt, x.DeadlineAt)
	}
	if x := owner.Create(`"timeout_seconds":7200`); x.DeadlineAt.Sub(x.CreatedAt.Time) < 2*time.Hour-time.Second {
		t.Errorf("created at %s, deadline %v: want two hours", x.CreatedAt, x.DeadlineAt)
	}
}

// TestCreateOnce: the same key and body make one execution, however often.
func TestCreateOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	owner := s.Agent("owner")
	s.Agent("other")
	key := daemontest.Key("~!key-1")
	const body = `{"agent_id":"owner","input":{"a":1,"b":2},"timeout_seconds":3600}`
	var first wire.Execution
	s.Admin(http.MethodPost, "/v0/executions", body, http.StatusCreated, &first, key)
	run := owner.Next()
	run.Complete(`"done"`)
	for _, again := range []string{body, `{"timeout_seconds":3600, "input":{"b":2,"a":1} ,"agent_id":"owner"}`} {
		var x wire.Execution
		a := s.Admin(http.MethodPost, "/v0/executions", again, http.StatusOK, &x, key)
		if x.ID != first.ID || x.Status != wire.ExecutionCompleted || a.Header.Get("Location") != "/v0/executions/"+first.ID {
			t.Errorf("a repeat: %s", a.Body)
		}
	}
	for _, different := range []string{`{"agent_id":"other","input":{"a":1,"b":2},"timeout_seconds":3600}`, `{"agent_id":"owner"}`} {
		a := s.Send(http.MethodPost, "/v0/executions", different, daemontest.Bearer(daemontest.Token), key)
		if a.Code() != wire.CodeConflict {
			t.Errorf("the key with another body: status %d, want 409: %s", a.Status, a.Body)
		}
	}
	var other wire.Execution
	s.Admin(http.MethodPost, "/v0/executions", body, http.StatusCreated, &other, daemontest.Key("~!key-2"))
	if other.ID == first.ID {
		t.Error("two keys, one execution")
	}
}

// TestCreateOnceOutlivesTheRequest: what the request asked for may be over when
// it is repeated; the answer that was lost is the same.
func TestCreateOnceOutlivesTheRequest(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	s.Agent("owner")
	soon := wire.At(time.Now().Add(300 * time.Millisecond))
	body := `{"agent_id":"owner","deadline_at":"` + soon.String() + `"}`
	var first, again wire.Execution
	s.Admin(http.MethodPost, "/v0/executions", body, http.StatusCreated, &first, daemontest.Key("k"))
	s.Await(first.ID, wire.EventExecutionCancelled)
	s.Admin(http.MethodPost, "/v0/executions", body, http.StatusOK, &again, daemontest.Key("k"))
	if again.ID != first.ID || again.Status != wire.ExecutionCancelled {
		t.Errorf("after the deadline: %s %s, want %s cancelled", again.ID, again.Status, first.ID)
	}
	s.Admin(http.MethodDelete, "/v0/agents/owner", "", http.StatusNoContent, nil)
	if s.Admin(http.MethodPost, "/v0/executions", body, http.StatusOK, &again, daemontest.Key("k")); again.ID != first.ID {
		t.Errorf("after the agent: %s, want %s", again.ID, first.ID)
	}
}

// TestCreateOnceAtOnce: of all that race one creates.
func TestCreateOnceAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	s.Agent("owner")
	const n = 20
	answers := make(chan daemontest.Answer, n)
	for range n {
		go func() {
			answers <- s.Send(http.MethodPost, "/v0/executions", `{"agent_id":"owner"}`, daemontest.Bearer(daemontest.Token), daemontest.Key("k"))
		}()
	}
	ids, created := map[string]bool{}, 0
	for range n {
		a := <-answers
		var x wire.Execution
		if err := json.Unmarshal([]byte(a.Body), &x); err != nil {
			t.Fatal(err)
		}
		ids[x.ID] = true
		if a.Status == http.StatusCreated {
			created++
		}
	}
	if len(ids) != 1 || created != 1 {
		t.Errorf("%d executions, %d times 201: want one of each", len(ids), created)
	}
}
