package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
	"github.com/agentkernel/kernelctl/internal/demo"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// watch collects what happens until nothing is missing.
type watch struct {
	t       *testing.T
	api     *client.Client
	missing map[string]bool
	streams map[string]bool // executions whose live output is read
	deltas  chan struct{}
}

var errAll = errors.New("everything happened")

func newWatch(t *testing.T, api *client.Client) *watch {
	w := &watch{t: t, api: api, missing: map[string]bool{}, streams: map[string]bool{}, deltas: make(chan struct{}, 1)}
	for _, what := range []string{
		"execution.created", "execution.started", "execution.blocked", "execution.resumed",
		"execution.completed", "execution.failed", "execution.cancelled",
		"step.proposed", "step.allowed", "step.denied", "step.awaiting_approval", "step.rate_limited",
		"step.executing", "step.succeeded", "step.failed",
		"approval.requested", "approval.granted", "approval.denied", "approval.expired", "signal.received",
		"by deploy", "by ddl-prod", "by restart", "by disk", "by refund", "by transfer", "by journal",
		"by report-outside", "by reply-enterprise", "by models",
		"of research", "of ops", "of billing", "of support",
		"tokens", "live text", "escape sequence", "direction override",
	} {
		w.missing[what] = true
	}
	return w
}

// saw notes one event; errAll once there is nothing left to see.
func (w *watch) saw(ctx context.Context, e wire.Event) error {
	delete(w.missing, string(e.Type))
	switch e.Type {
	case wire.EventExecutionStarted:
		w.listen(ctx, e.ExecutionID)
	case wire.EventApprovalRequested:
		var p wire.ApprovalPayload
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		a, err := w.api.GetApproval(ctx, p.ApprovalID)
		if err != nil {
			return err
		}
		delete(w.missing, "by "+a.RuleID)
		delete(w.missing, "of "+a.AgentID)
		if bytes.Contains(a.Args, []byte(`\u001b[2J`)) {
			delete(w.missing, "escape sequence")
		}
		if bytes.ContainsRune(a.Args, '\u202e') {
			delete(w.missing, "direction override")
		}
	case wire.EventStepSucceeded:
		var p wire.StepPayload
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		if p.Usage != nil && p.Usage.InputTokens > 0 && p.Usage.OutputTokens > 0 {
			delete(w.missing, "tokens")
		}
	}
	select {
	case <-w.deltas:
		delete(w.missing, "live text")
	default:
	}
	if len(w.missing) == 0 {
		return errAll
	}
	return nil
}

// listen reads the live output of one execution, until some came.
func (w *watch) listen(ctx context.Context, id string) {
	const most = 8
	if !w.missing["live text"] || len(w.streams) == most {
		return
	}
	w.streams[id] = true
	go func() {
		_, _ = w.api.Stream(ctx, id, nil, func(d wire.StreamDelta) error { // ends with its execution, or the test
			if d.Data != "" {
				select {
				case w.deltas <- struct{}{}:
				default:
				}
			}
			return nil
		})
	}()
}

// TestCompany lets the company work against a real service, in a hurry, until
// everything happened that it is to show.
func TestCompany(t *testing.T) {
	t.Parallel()
	s := daemontest.New(t, daemon.Options{Dev: true})
	api, err := client.New(s.URL(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const patience = 4 * time.Minute // ten seconds, unless the machine is busy
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	done := make(chan error, 1)
	work := func(l client.Link) {
		if l.Up {
			go func() { done <- demo.Company(ctx, demo.CompanyOptions{Server: s.URL(), Seed: 1, Speed: 50}, nil) }()
		}
	}
	w := newWatch(t, api)
	err = api.Feed(ctx, client.FeedOptions{Link: work}, func(e wire.Event) error { return w.saw(ctx, e) })
	if !errors.Is(err, errAll) {
		t.Errorf("never happened: %v (%v)", slices.Sorted(maps.Keys(w.missing)), err)
	}
	blocked, err := api.ListExecutions(t.Context(), client.ExecutionFilter{Status: wire.ExecutionBlocked, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	if n, most := len(blocked.Executions), 2*demo.MaxBlocked(); n > most {
		t.Errorf("%d executions wait, want at most %d", n, most)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the company ended with: %v", err)
	}
}

// TestOrders: a seed gives the same orders each time, and another one others.
func TestOrders(t *testing.T) {
	t.Parallel()
	const n = 200
	get := func(seed uint64) []string {
		t.Helper()
		orders, err := demo.Orders(seed, n)
		if err != nil {
			t.Fatal(err)
		}
		return orders
	}
	if d := cmp.Diff(get(1), get(1)); d != "" {
		t.Errorf("seed 1 again (-first +second):\n%s", d)
	}
	if cmp.Equal(get(1), get(2)) {
		t.Error("seeds 1 and 2 give the same orders")
	}
}
