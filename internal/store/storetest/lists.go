package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// testExecutionList filters and pages.
func testExecutionList(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.putAgent("other")
	for i := range 120 {
		n := creation{labels: map[string]string{}}
		if i < 60 {
			n.labels["era"] = "old"
		}
		if i%2 == 0 {
			n.agent = "other"
		}
		if i%3 == 0 {
			n.labels["env"] = "prod"
		}
		if i%4 == 0 {
			n.labels["team"] = "a"
		}
		n.labels["n"] = fmt.Sprint(i % 5)
		m := w.create(n)
		switch i % 6 {
		case 1:
			w.start(m)
		case 2:
			w.complete(m, w.start(m), "{}")
		case 3:
			w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
		}
	}
	list := func(q store.ExecutionQuery, limit int) (got []kernel.ExecutionID) {
		t.Helper()
		q.Limit = limit
		for {
			page, next, err := w.store.Executions(context.Background(), q)
			if err != nil {
				t.Fatalf("Executions(%+v): %v", q, err)
			}
			for _, x := range page {
				got = append(got, x.ID)
			}
			if next == 0 {
				return got
			}
			if len(page) != limit {
				t.Errorf("Executions(%+v): %d, and there are more; want %d", q, len(page), limit)
			}
			q.Before = next
		}
	}
	for _, q := range []store.ExecutionQuery{
		{},
		{Agent: "other"},
		{Agent: "none"},
		{Status: kernel.StatusPending},
		{Status: kernel.StatusFailed},
		{Agent: "mailer", Status: kernel.StatusRunning},
		{Labels: [][2]string{{"env", "prod"}}},
		{Labels: [][2]string{{"env", "prod"}, {"team", "a"}}},
		{Labels: [][2]string{{"team", "a"}, {"env", "prod"}, {"n", "0"}}},
		{Labels: [][2]string{{"env", "pro"}}},
		{Labels: [][2]string{{"env", "prod"}, {"env", "test"}}},
		{Labels: [][2]string{{"n", "1"}}, Agent: "mailer", Status: kernel.StatusCancelled},
	} {
		want := w.matching(q)
		for _, limit := range []int{1, 2, 5, len(w.models), len(w.models) + 1} {
			if got := list(q, limit); !slices.Equal(got, want) {
				t.Errorf("Executions(%+v) in pages of %d:\n got %v\nwant %v", q, limit, got, want)
			}
		}
	}
	r := rand.New(rand.NewPCG(24, 1)) //nolint:gosec // the same queries every time
	for range 200 {
		q, limit := anyQuery(r), 1+r.IntN(4)
		if got, want := list(q, limit), w.matching(q); !slices.Equal(got, want) {
			t.Errorf("Executions(%+v) in pages of %d:\n got %v\nwant %v", q, limit, got, want)
		}
	}
}

// anyQuery asks for some of what [testExecutionList] makes.
func anyQuery(r *rand.Rand) (q store.ExecutionQuery) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	q.Agent = kernel.AgentID(pick("", "", "mailer", "other"))
	if statuses := kernel.Statuses(); r.IntN(2) == 0 {
		q.Status = statuses[r.IntN(len(statuses))]
	}
	for range r.IntN(4) {
		q.Labels = append(q.Labels, [][2]string{{"env", "prod"}, {"team", "a"}, {"era", "old"}, {"n", pick("0", "1", "2")}}[r.IntN(4)])
	}
	return q
}

// matching are the model's executions that a query selects, newest first.
func (w *world) matching(q store.ExecutionQuery) []kernel.ExecutionID {
	var ids []kernel.ExecutionID
	for _, m := range slices.Backward(w.present()) {
		s := &m.state
		has := func(l [2]string) bool { return s.Labels[l[0]] == l[1] }
		all := !slices.ContainsFunc(q.Labels, func(l [2]string) bool { return !has(l) })
		if all && (q.Agent == "" || s.Agent == q.Agent) && (q.Status == 0 || s.Status == q.Status) {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// testApprovalList orders by time, and filters.
func testApprovalList(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.putAgent("other")
	timeouts := []time.Duration{3 * time.Minute, time.Minute, 2 * time.Minute, time.Minute, 5 * time.Minute, 4 * time.Minute}
	for i, timeout := range timeouts {
		n := creation{}
		if i%2 == 0 {
			n.agent = "other"
		}
		m := w.create(n)
		w.submit(m, submission{caller: w.start(m), ruling: kernel.Ruling{
			Rule: "ask", Action: kernel.RequireApproval, Approval: kernel.ApprovalTerms{Timeout: timeout},
		}})
		switch i {
		case 2:
			w.decide(m, kernel.ApprovalStatusGranted, "alice", "")
		case 3:
			w.decide(m, kernel.ApprovalStatusDenied, "bob", "no")
		case 4:
			w.do(m, &kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
		}
	}
	list := func(q store.ApprovalQuery) []kernel.ApprovalID {
		t.Helper()
		page, err := w.store.Approvals(context.Background(), q)
		if err != nil {
			t.Fatalf("Approvals(%+v): %v", q, err)
		}
		var ids []kernel.ApprovalID
		for _, a := range page {
			ids = append(ids, a.ID)
		}
		return ids
	}
	id := func(indexes ...int) []kernel.ApprovalID {
		var ids []kernel.ApprovalID
		for _, i := range indexes {
			ids = append(ids, w.approvals[i].ID)
		}
		return ids
	}
	const many = 100
	for _, c := range []struct {
		q    store.ApprovalQuery
		want []kernel.ApprovalID
	}{
		{store.ApprovalQuery{Limit: many}, id(1, 3, 2, 0, 5, 4)},
		{store.ApprovalQuery{Limit: 2}, id(1, 3)},
		{store.ApprovalQuery{Status: kernel.ApprovalStatusPending, Limit: many}, id(1, 0, 5)},
		{store.ApprovalQuery{Status: kernel.ApprovalStatusPending, Limit: 1}, id(1)},
		{store.ApprovalQuery{Status: kernel.ApprovalStatusCancelled, Limit: many}, id(4)},
		{store.ApprovalQuery{Status: kernel.ApprovalStatusExpired, Limit: many}, nil},
		{store.ApprovalQuery{Agent: "other", Limit: many}, id(2, 0, 4)},
		{store.ApprovalQuery{Agent: "other", Status: kernel.ApprovalStatusPending, Limit: many}, id(0)},
		{store.ApprovalQuery{Execution: w.models[5].id, Limit: many}, id(5)},
		{store.ApprovalQuery{Execution: w.models[5].id, Agent: "other", Limit: many}, nil},
	} {
		if got := list(c.q); !slices.Equal(got, c.want) {
			t.Errorf("Approvals(%+v):\n got %v\nwant %v", c.q, got, c.want)
		}
	}
	w.check()
}

// testEventPages pages through a log, and shows bodies where payloads have them.
func testEventPages(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.live()
	ctx := context.Background()
	seen := map[kernel.EventType]bool{}
	var room []store.Event // what one page leaves in it must not show on the next
	for _, m := range w.models {
		all := m.events()
		for _, limit := range []int{1, 3, len(all)} {
			for after := int64(0); after <= int64(len(all)); after++ {
				got, err := w.store.Events(ctx, m.state.No, m.id, after, limit, room)
				w.same("Events", all[after:min(int(after)+limit, len(all))], got, err)
				room = got
			}
		}
		for _, e := range all {
			seen[e.Type] = true
		}
	}
	for _, typ := range kernel.EventTypes() {
		if !seen[typ] {
			t.Errorf("no %s was recorded: this test has to make one", typ)
		}
	}
}
