package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an engine on a store of its own, with an agent "a".
type world struct {
	*engine.Engine
	db *sqlite.DB
	t  *testing.T
}

func newWorld(t *testing.T, opts engine.Options) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the store ended with: %v", err)
		}
	})
	w := &world{Engine: engine.New(db, opts), db: db, t: t}
	if err := w.LoadAgents(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.register("a")
	return w
}

func (w *world) register(id kernel.AgentID) {
	w.t.Helper()
	if _, err := w.RegisterAgent(w.t.Context(), store.AgentSpec{ID: id, WebhookURL: "http://127.0.0.1:9/", Secret: "s"}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create() store.Execution {
	w.t.Helper()
	x, created, err := w.Create(w.t.Context(), engine.Create{Agent: "a", Input: []byte("{}")})
	if err != nil || !created {
		w.t.Fatalf("create: %v, %v", created, err)
	}
	return x
}

// claim takes the due dispatch of an execution.
func (w *world) claim(id kernel.ExecutionID) engine.Delivery {
	w.t.Helper()
	due, err := w.db.DueDispatches(w.t.Context(), store.QueuePlace{}, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range due {
		if d.Execution == id {
			claimed, ok, err := w.Claim(w.t.Context(), id, d.Agent, d.Dispatch)
			if err != nil || !ok {
				w.t.Fatalf("claim: %v, %v", ok, err)
			}
			return claimed
		}
	}
	w.t.Fatalf("no dispatch of %s is due", id)
	return engine.Delivery{}
}

func wantCode(t *testing.T, what string, err error, code kernel.Code) {
	t.Helper()
	if r, ok := engine.IsRejection(err); !ok || r.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestExpiredExecutionsAreForgotten everywhere, also where it is remembered that
// they exist.
func TestExpiredExecutionsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	over, open := w.create(), w.create()
	if err := w.Cancel(t.Context(), over.ID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []kernel.ExecutionID{over.ID, open.ID} {
		if h, err := w.Header(t.Context(), id); err != nil || h.Agent != "a" {
			t.Fatalf("header: %+v, %v", h, err)
		}
	}
	n, err := w.Expire(t.Context(), kernel.At(time.Now().Add(time.Hour)), 10)
	if n != 1 || err != nil {
		t.Fatalf("expired %d, %v: want the one that has ended", n, err)
	}
	if _, err := w.Header(t.Context(), over.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("header of what was removed: %v", err)
	}
	if _, err := w.Header(t.Context(), open.ID); err != nil {
		t.Errorf("header of what was not: %v", err)
	}
	if err := w.Cancel(t.Context(), over.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("cancel what was removed: %v", err)
	}
}

// TestHeadersOfWhatGoesOnAreRemembered, and no longer: what has ended takes no memory.
func TestHeadersOfWhatGoesOnAreRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	over, open := w.create(), w.create()
	header := func(x store.Execution) *store.Header {
		h, err := w.Header(t.Context(), x.ID)
		if err != nil || h.ID != x.ID || h.Agent != "a" {
			t.Fatalf("header: %+v, %v", h, err)
		}
		return h
	}
	first, other := header(over), header(open)
	if header(over) != first {
		t.Error("it was read twice")
	}
	if err := w.Cancel(t.Context(), over.ID); err != nil {
		t.Fatal(err)
	}
	if header(over) == first {
		t.Error("it is remembered after the end")
	}
	if header(open) != other {
		t.Error("that of another one was forgotten")
	}
}

// TestDeletedAgentsGetNoWork, however close a creation comes: either it is
// there, and the agent stays, or the agent is gone, and nothing is created.
func TestDeletedAgentsGetNoWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	deleted := 0
	for round := range 40 {
		id := kernel.AgentID(fmt.Sprint("agent-", round))
		w.register(id)
		var group sync.WaitGroup
		var gone error
		created := make([]bool, 4)
		for i := range created {
			group.Go(func() {
				_, ok, err := w.Create(t.Context(), engine.Create{Agent: id, Input: []byte("{}")})
				if created[i] = ok; err != nil {
					if r, refused := engine.IsRejection(err); !refused || r.Code != kernel.NotFound {
						t.Errorf("create: %v", err)
					}
				}
			})
		}
		group.Go(func() { gone = w.DeleteAgent(t.Context(), id) })
		group.Wait()
		for _, ok := range created {
			if ok && gone == nil {
				t.Fatal("an execution for an agent that was deleted")
			}
		}
		if gone == nil {
			deleted++
			wantCode(t, "create", func() error { _, _, err := w.Create(t.Context(), engine.Create{Agent: id}); return err }(), kernel.NotFound)
			wantCode(t, "delete again", w.DeleteAgent(t.Context(), id), kernel.NotFound)
			continue
		}
		wantCode(t, "delete", gone, kernel.Conflict)
		if _, ok := w.Agent(id); !ok {
			t.Error("an agent that stayed is not known")
		}
	}
	t.Logf("%d of 40 were deleted", deleted)
}

// TestHeartbeatsMoveTheLease: the end of a lease is looked up when it comes.
func TestHeartbeatsMoveTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{LeaseTimeout: time.Hour})
	x := w.create()
	if next, err := w.Lapse(t.Context(), x.ID); err != nil || !next.IsZero() {
		t.Errorf("before the claim: next %s, %v", next, err)
	}
	d := w.claim(x.ID)
	before, err := w.Lapse(t.Context(), x.ID)
	if left := time.Until(before.Time()); err != nil || left > time.Hour || left < 59*time.Minute {
		t.Errorf("claimed: the lease ends in %s, %v", left, err)
	}
	for _, caller := range []kernel.Holder{{}, d.Attempt} {
		if err := w.Heartbeat(t.Context(), x.ID, caller); err != nil {
			t.Fatal(err)
		}
		after, err := w.Lapse(t.Context(), x.ID)
		if err != nil || after <= before {
			t.Errorf("after a heartbeat: the lease ends at %s, before it at %s, %v", after, before, err)
		}
		before = after
	}
	if err := w.Cancel(t.Context(), x.ID); err != nil {
		t.Fatal(err)
	}
	if next, err := w.Lapse(t.Context(), x.ID); err != nil || !next.IsZero() {
		t.Errorf("after the end: next %s, %v", next, err)
	}
}

// TestClaimOnce: of all that come only one has it.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	x := w.create()
	due, err := w.db.DueDispatches(t.Context(), store.QueuePlace{}, 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("due: %v, %v", due, err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	claims := 0
	for range 16 {
		group.Go(func() {
			_, ok, err := w.Claim(t.Context(), x.ID, "a", due[0].Dispatch)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if ok {
				claims++
			}
		})
	}
	group.Wait()
	if claims != 1 {
		t.Errorf("%d claims, want 1", claims)
	}
	if _, _, err := w.Claim(t.Context(), x.ID, "nobody", due[0].Dispatch); err == nil {
		t.Error("a claim for an agent that is not there")
	}
}

// TestClocksThatComeTooEarly change nothing: what noticed the time may be wrong.
func TestClocksThatComeTooEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	x, _, err := w.Create(t.Context(), engine.Create{Agent: "a", Input: []byte("{}"), Deadline: kernel.At(time.Now().Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	w.claim(x.ID)
	for name, fire := range map[string]func(context.Context, kernel.ExecutionID) error{
		"restart": w.Restart, "unpark": w.Unpark, "wait": w.ExpireWait, "deadline": w.PassDeadline,
		"lapse": func(ctx context.Context, id kernel.ExecutionID) error { _, err := w.Lapse(ctx, id); return err },
	} {
		if err := fire(t.Context(), x.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := fire(t.Context(), kernel.ExecutionID{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
	if now, err := w.db.Execution(t.Context(), x.ID); err != nil || now.LastSeq != x.LastSeq {
		t.Errorf("last_event_seq %d, want %d (%v)", now.LastSeq, x.LastSeq, err)
	}
	if err := w.Cancel(t.Context(), x.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.PassDeadline(t.Context(), x.ID); err != nil {
		t.Errorf("a deadline after the end: %v", err)
	}
}

// TestStoredPolicyMustCompile: running without it would allow everything.
func TestStoredPolicyMustCompile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	if err := w.db.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutPolicy("a", []byte("rules: ["), kernel.Digest{}, kernel.At(time.Now()))
	}); err != nil {
		t.Fatal(err)
	}
	if err := engine.New(w.db, engine.Options{}).LoadAgents(t.Context()); err == nil || !strings.Contains(err.Error(), "agent a") {
		t.Errorf("load: %v, want that it names the agent", err)
	}
}

// TestChangesAreSeenAtOnce: who is answered sees the change at work.
func TestChangesAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engine.Options{})
	for i := range 20 {
		url := fmt.Sprint("http://127.0.0.1:9/", i)
		if _, err := w.RegisterAgent(t.Context(), store.AgentSpec{ID: "a", WebhookURL: url, Secret: url}); err != nil {
			t.Fatal(err)
		}
		if a, ok := w.Agent("a"); !ok || a.WebhookURL != url || a.Secret != url {
			t.Errorf("agent %+v, want %s", a, url)
		}
		if err := w.PutPolicy(t.Context(), "a", []byte("default_action: deny\n")); err != nil {
			t.Fatal(err)
		}
		if a, _ := w.Agent("a"); a.Policy == nil {
			t.Error("no policy")
		}
		if err := w.DeletePolicy(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if a, _ := w.Agent("a"); a.Policy != nil {
			t.Error("a policy that was deleted")
		}
	}
	// A context that ends does not leave store and memory with different agents.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.RegisterAgent(gone, store.AgentSpec{ID: "late", WebhookURL: "http://127.0.0.1:9/", Secret: "s"}); err == nil {
		t.Error("registered for somebody who had left")
	}
	if _, ok := w.Agent("late"); ok {
		t.Error("an agent that was not stored is known")
	}
}
