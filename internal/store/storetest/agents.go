package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// testAgents registers, replaces, deletes and registers again.
func testAgents(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	w.putAgent("b")
	w.putAgent("B.c-1_2")
	w.check() // by id
	must := func(what string, fn func(tx store.Tx) error) {
		t.Helper()
		if err := w.update(fn); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	spec := store.AgentSpec{ID: "b", WebhookURL: "https://b.example/x", Secret: "new", Lease: 40 * time.Second}
	bundle := []byte("default_action: allow\n")
	must("PutPolicy", func(tx store.Tx) error { return tx.PutPolicy("b", bundle, kernel.Sum(bundle), w.now) })
	b := w.agents["b"]
	b.Bundle, b.BundleSum, b.BundleAt = bundle, kernel.Sum(bundle), w.now

	w.advance(time.Hour) // a replacement keeps the policy and the time of the first registration
	must("PutAgent", func(tx store.Tx) error { return tx.PutAgent(spec, w.now) })
	b.AgentSpec, b.UpdatedAt = spec, w.now
	w.check()
	w.restart()
	w.check()

	m := w.create(creation{agent: "b"})
	remove := func(tx store.Tx) error { return tx.DeleteAgent("b", w.now) }
	if err := w.update(remove); !errors.Is(err, store.ErrConflict) {
		t.Errorf("DeleteAgent with an open execution: %v, want %v", err, store.ErrConflict)
	}
	w.check()
	w.submit(m, submission{caller: w.start(m), ruling: ask})
	if err := w.update(remove); !errors.Is(err, store.ErrConflict) {
		t.Errorf("DeleteAgent with a blocked execution: %v, want %v", err, store.ErrConflict)
	}
	w.decide(m, kernel.ApprovalStatusGranted, "alice", "")
	w.complete(m, w.start(m), "1")
	must("DeleteAgent", remove)
	delete(w.agents, "b")
	w.check() // its execution stays, and says whose it was
	if err := w.update(remove); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("DeleteAgent again: %v, want %v", err, store.ErrNotFound)
	}
	if err := w.update(func(tx store.Tx) error { return tx.PutPolicy("b", bundle, kernel.Sum(bundle), w.now) }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("PutPolicy of a deleted agent: %v, want %v", err, store.ErrNotFound)
	}
	if err := w.update(w.planCreate(creation{agent: "b"}).closeCreate(creation{})); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an execution of a deleted agent: %v, want %v", err, store.ErrNotFound)
	}
	if err := w.update(w.planCreate(creation{agent: "never"}).closeCreate(creation{})); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an execution of no agent: %v, want %v", err, store.ErrNotFound)
	}
	w.check()

	w.advance(time.Hour) // registered again it is new, and permissive
	w.putAgent("b")
	w.check()
	w.create(creation{agent: "b"})
	w.check()
	w.verify()
}

// testPolicies loads, replaces and removes bundles.
func testPolicies(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	a := w.agents["mailer"]
	put := func(text string) {
		t.Helper()
		if err := w.update(func(tx store.Tx) error { return tx.PutPolicy("mailer", []byte(text), kernel.Sum([]byte(text)), w.now) }); err != nil {
			t.Fatalf("PutPolicy: %v", err)
		}
	}
	for _, text := range []string{"one", "two", "one"} {
		w.advance(time.Minute)
		put(text)
		a.Bundle, a.BundleSum, a.BundleAt = []byte(text), kernel.Sum([]byte(text)), w.now
		w.check()
	}
	w.advance(time.Minute)
	put("one") // is loaded already
	w.check()
	for range 2 { // also when there is none
		if err := w.update(func(tx store.Tx) error { return tx.DeletePolicy("mailer", w.now) }); err != nil {
			t.Fatalf("DeletePolicy: %v", err)
		}
		a.Bundle, a.BundleSum, a.BundleAt = nil, kernel.Digest{}, 0
		w.check()
		w.restart()
	}
	put("")
	a.Bundle, a.BundleSum, a.BundleAt = []byte{}, kernel.Sum(nil), w.now
	w.check()
}
