package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// list reads a page and says its ids.
func list(s *daemontest.Service, query string) (ids []string, next string) {
	var page wire.ExecutionList
	s.Admin(http.MethodGet, "/v0/executions?"+query, "", http.StatusOK, &page)
	for _, x := range page.Executions {
		ids = append(ids, x.ID)
	}
	return ids, page.NextCursor
}

func TestListExecutions(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	a, b := s.Agent("a"), s.Agent("b")
	var all []string // newest first
	add := func(x wire.Execution) string { all = append([]string{x.ID}, all...); return x.ID }
	a1 := add(a.Create(`"labels":{"env":"prod","team":"x"}`))
	a2 := add(a.Create(`"labels":{"env":"dev","team":"x"}`))
	b1 := add(b.Create(`"labels":{"env":"prod","empty":"","colon":"a:b"}`))
	a3 := add(a.Create(""))
	for range 3 {
		a.Next()
	}
	for _, id := range []string{a1, a2, a3} {
		s.Await(id, wire.EventExecutionStarted)
	}
	s.Await(b1, wire.EventExecutionStarted)
	b.Next().Complete(`1`)
	s.Admin(http.MethodPost, "/v0/executions/"+a2+"/cancel", "", http.StatusNoContent, nil)
	tests := []struct {
		query string
		want  []string
	}{
		{"", all},
		{"agent_id=a", []string{a3, a2, a1}},
		{"agent_id=nobody", nil},
		{"status=completed", []string{b1}},
		{"status=running", []string{a3, a1}},
		{"status=cancelled&agent_id=a", []string{a2}},
		{"status=blocked", nil},
		{"label=env:prod", []string{b1, a1}},
		{"label=env:prod&label=team:x", []string{a1}},
		{"label=env:prod&label=env:dev", nil},
		{"label=env:prod&label=env:prod", []string{b1, a1}},
		{"label=env:prod&agent_id=b&status=completed", []string{b1}},
		{"label=empty:", []string{b1}},
		{"label=colon:a:b", []string{b1}},
		{"label=env:", nil},
		{"limit=1000", all},
		{"limit=100000000000000000000000000000", all},
		{"cursor=", all},
		{"unknown=1", all},
	}
	for _, tt := range tests {
		got, next := list(s, tt.query)
		if diff := cmp.Diff(tt.want, got); diff != "" || next != "" {
			t.Errorf("%s: next %q (-want +got):\n%s", tt.query, next, diff)
		}
	}
	for _, filter := range []string{"", "&label=env:prod", "&agent_id=a", "&status=running"} {
		want, _ := list(s, filter)
		for _, limit := range []int{1, 2, 3} {
			var got []string
			cursor, pages := "", 0
			for more := true; more; more = cursor != "" {
				page, next := list(s, fmt.Sprintf("limit=%d&cursor=%s%s", limit, url.QueryEscape(cursor), filter))
				if got = append(got, page...); len(page) > limit || pages > len(want) {
					t.Fatalf("limit %d%s: a page of %d, %d pages", limit, filter, len(page), pages)
				}
				cursor = next
				pages++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limit %d%s (-want +got):\n%s", limit, filter, diff)
			}
		}
	}
}

// TestPagesStand: what comes while one turns the pages moves nothing.
func TestPagesStand(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	a := s.Agent("a")
	var ids []string
	for range 4 {
		ids = append([]string{a.Create("").ID}, ids...)
	}
	first, next := list(s, "limit=2")
	a.Create("")
	second, end := list(s, "limit=2&cursor="+next)
	if diff := cmp.Diff(ids, append(first, second...)); diff != "" || end != "" {
		t.Errorf("next %q (-want +got):\n%s", end, diff)
	}
}

// atOnce does something n times, many at the same time.
func atOnce(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(32)
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait()
}

func TestPageSizes(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{}) // not held to the documents: a thousand events take a while
	a := s.Agent("a")
	atOnce(wire.MaxExecutionsLimit+5, func(int) { a.Create("") })
	for query, want := range map[string]int{"": wire.DefaultExecutionsLimit, "limit=200": 200, "limit=201": 200, "limit=9999": 200, "limit=7": 7} {
		if got, next := list(s, query); len(got) != want || next == "" {
			t.Errorf("%q: %d executions, want %d; next %q", query, len(got), want, next)
		}
	}
	x := a.Create("")
	atOnce(1010, func(int) {
		s.Admin(http.MethodPost, "/v0/executions/"+x.ID+"/signal", `{"signal_type":"s"}`, http.StatusAccepted, nil)
	})
	total := s.Events(x.ID)
	if len(total) != wire.MaxEventsLimit {
		t.Fatalf("%d events, want %d", len(total), wire.MaxEventsLimit)
	}
	for query, want := range map[string]struct{ n, first int64 }{
		"":                                {100, 1},
		"limit=1":                         {1, 1},
		"limit=1001":                      {1000, 1},
		"limit=99999999999999999999":      {1000, 1},
		"after_seq=5":                     {100, 6},
		"after_seq=5&limit=3":             {3, 6},
		"after_seq=100000":                {0, 0},
		"after_seq=9223372036854775807":   {0, 0},
		"after_seq=922337203685477580700": {0, 0},
	} {
		var events []wire.Event
		s.Admin(http.MethodGet, "/v0/executions/"+x.ID+"/events?"+query, "", http.StatusOK, &events)
		if int64(len(events)) != want.n || want.n > 0 && events[0].EventSeq != want.first {
			t.Errorf("%q: %d events, want %d from %d", query, len(events), want.n, want.first)
		}
		for i, e := range events {
			if e.EventSeq != want.first+int64(i) {
				t.Fatalf("%q: event_seq %d at %d", query, e.EventSeq, i)
			}
		}
	}
}

// TestQueriesRefused: what a list cannot be asked for.
func TestQueriesRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	x := s.Agent("a").Create("")
	events, steps := "/v0/executions/"+x.ID+"/events", "/v0/executions/"+x.ID+"/steps"
	many := strings.Repeat("label=a:b&", wire.MaxLabels+1)
	for _, tt := range []struct{ path, query, field string }{
		{"/v0/executions", "limit=0", "limit"},
		{"/v0/executions", "limit=-1", "limit"},
		{"/v0/executions", "limit=-99999999999999999999999", "limit"},
		{"/v0/executions", "limit=ten", "limit"},
		{"/v0/executions", "limit=1.5", "limit"},
		{"/v0/executions", "limit=1e2", "limit"},
		{"/v0/executions", "limit=", "limit"},
		{"/v0/executions", "status=done", "status"},
		{"/v0/executions", "status=Running", "status"},
		{"/v0/executions", "cursor=1", "cursor"},
		{"/v0/executions", "cursor=AAAAAAAAAAAA", "cursor"},
		{"/v0/executions", "cursor=" + x.ID, "cursor"},
		{"/v0/executions", "cursor=%00", "cursor"},
		{"/v0/executions", "label=env", "label"},
		{"/v0/executions", "label=:x", "label"},
		{"/v0/executions", "label=", "label"},
		{"/v0/executions", many, "label"},
		{events, "limit=0", "limit"},
		{events, "limit=x", "limit"},
		{events, "after_seq=-1", "after_seq"},
		{events, "after_seq=x", "after_seq"},
		{events, "after_seq=1.0", "after_seq"},
		{events, "after_seq=", "after_seq"},
		{steps, "status=done", "status"},
		{steps, "status=", "status"},
		{"/v0/approvals", "status=maybe", "status"},
		{"/v0/approvals", "limit=0", "limit"},
		{"/v0/approvals", "limit=many", "limit"},
	} {
		wantProblem(t, tt.path+"?"+tt.query, s.Send(http.MethodGet, tt.path+"?"+tt.query, "", daemontest.Bearer(daemontest.Token)), tt.field)
	}
}

// TestUnknownThings: ids that are nobody's, or cannot be anybody's.
func TestUnknownThings(t *testing.T) {
	t.Parallel()
	s := newService(t, daemon.Options{})
	a := s.Agent("a")
	run := a.Start("")
	step := run.Tool("t", "1")
	upper := strings.ToUpper(run.ExecutionID)
	stranger := concrete("/v0/executions/{id}")
	for _, path := range []string{
		stranger, stranger + "/events", stranger + "/steps", stranger + "/stream", stranger + "/steps/" + step,
		"/v0/executions/" + upper, "/v0/executions/" + upper + "/events", "/v0/executions/x", "/v0/executions/" + run.ExecutionID + "0",
		"/v0/executions/" + strings.ReplaceAll(run.ExecutionID, "-", ""), "/v0/executions/{" + run.ExecutionID + "}",
		run.Path("/steps/" + strings.ToUpper(step)), run.Path("/steps/" + step[:63]), run.Path("/steps/" + strings.Repeat("0", 64)), run.Path("/steps/x"),
		"/v0/approvals/" + run.ExecutionID, "/v0/approvals/x", "/v0/agents/nobody", "/v0/agents/A", "/v0/policies/nobody", "/v0/policies/a",
	} {
		if got := s.Send(http.MethodGet, path, "", daemontest.Bearer(daemontest.Token)); got.Code() != wire.CodeNotFound {
			t.Errorf("GET %s: status %d, want 404: %s", path, got.Status, got.Body)
		}
	}
	for _, tt := range []struct{ method, path, body string }{
		{"POST", stranger + "/cancel", ""},
		{"POST", stranger + "/signal", `{"signal_type":"s"}`},
		{"POST", "/v0/executions/" + upper + "/cancel", ""},
		{"POST", "/v0/approvals/" + run.ExecutionID + "/grant", `{"decided_by":"x"}`},
		{"POST", "/v0/approvals/x/deny", `{"decided_by":"x"}`},
		{"POST", "/v0/policies/nobody", `{"bundle":"rules: []"}`},
		{"POST", "/v0/policies/nobody/test", `{"cases":[]}`},
		{"POST", "/v0/policies/a/test", `{"execution_id":"` + concrete("{id}") + `"}`},
		{"POST", "/v0/policies/a/test", `{"execution_id":"x"}`},
		{"DELETE", "/v0/policies/nobody", ""},
		{"DELETE", "/v0/agents/nobody", ""},
	} {
		if got := s.Send(tt.method, tt.path, tt.body, daemontest.Bearer(daemontest.Token)); got.Code() != wire.CodeNotFound {
			t.Errorf("%s %s: status %d, want 404: %s", tt.method, tt.path, got.Status, got.Body)
		}
	}
	for _, tt := range []struct{ path, body string }{
		{"/steps/" + strings.Repeat("0", 64) + "/complete", `{}`},
		{"/steps/" + strings.ToUpper(step) + "/complete", `{}`},
		{"/steps/" + strings.Repeat("0", 64) + "/fail", `{"error":1}`},
		{"/steps/" + strings.Repeat("0", 64) + "/stream", `{"seq":0,"data":""}`},
	} {
		if got := run.Post(tt.path, tt.body); got.Code() != wire.CodeNotFound {
			t.Errorf("POST %s: status %d, want 404: %s", tt.path, got.Status, got.Body)
		}
	}
}
