package storetest

import (
	"errors"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// testCreateKeys ties keys to executions.
func testCreateKeys(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	find := func(key string) (id kernel.ExecutionID, request kernel.Digest, err error) {
		err = w.update(func(tx store.Tx) (err error) {
			id, request, err = tx.CreateKey(key)
			return err
		})
		return id, request, err
	}
	if _, _, err := find("k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateKey of none: %v, want %v", err, store.ErrNotFound)
	}
	m := w.create(creation{input: `{"n":1}`, key: "k"})
	for range 2 {
		id, request, err := find("k")
		if err != nil || id != m.id || request != kernel.Sum([]byte(`{"n":1}`)) {
			t.Errorf("CreateKey = %s, %s, %v; want %s", id, request, err, m.id)
		}
		w.restart()
	}
	err := w.update(func(tx store.Tx) error { return tx.PutCreateKey("other", kernel.Digest{1}, &kernel.State{}) })
	if err == nil {
		t.Error("PutCreateKey of an execution that was not saved: no error")
	}
	op := w.planCreate(creation{key: "lost"})
	err = w.update(func(tx store.Tx) error {
		if err := op.closeCreate(creation{key: "lost"})(tx); err != nil {
			return err
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Errorf("Update: %v, want %v", err, errRefused)
	}
	if _, _, err := find("lost"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateKey of a create that was undone: %v, want %v", err, store.ErrNotFound)
	}
	w.check()
}

// testCreatedAgain creates an execution in a batch that has to be repeated,
// with the id that it had the first time, and has it leave memory afterwards.
func testCreatedAgain(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{Resident: 1})
	defer w.close()
	op := w.planCreate(creation{})
	errs := w.together(op.closeCreate(creation{}), func(tx store.Tx) error {
		return errors.Join(tx.Probe(w.now), errRefused)
	})
	if errs[0] != nil || !errors.Is(errs[1], errRefused) {
		t.Fatalf("errors of the batch: %v", errs)
	}
	w.settle(op)
	w.models = append(w.models, op.m)
	w.claim(op.m)
	w.create(creation{})
	w.create(creation{})
	w.check()
	w.submit(op.m, submission{caller: op.m.lease.Holder})
	w.check()
}

// testLoadNothing asks for what is not there.
func testLoadNothing(t *testing.T, d Driver) {
	w := newWorld(t, d, t.TempDir(), Options{})
	defer w.close()
	none := kernel.ExecutionID{UUID: kernel.UUID{1}}
	ctx := t.Context()
	for name, ask := range map[string]func() error{
		"Load": func() error {
			return w.update(func(tx store.Tx) error { _, _, err := tx.Load(none); return err })
		},
		"Tx.Approval": func() error {
			return w.update(func(tx store.Tx) error { _, _, err := tx.Approval(kernel.ApprovalID{}); return err })
		},
		"DeleteAgent": func() error { return w.update(func(tx store.Tx) error { return tx.DeleteAgent("none", w.now) }) },
		"PutPolicy": func() error {
			return w.update(func(tx store.Tx) error { return tx.PutPolicy("none", nil, kernel.Digest{}, w.now) })
		},
		"DeletePolicy": func() error { return w.update(func(tx store.Tx) error { return tx.DeletePolicy("none", w.now) }) },
		"Execution":    func() error { _, err := w.store.Execution(ctx, none); return err },
		"Header":       func() error { _, err := w.store.Header(ctx, none); return err },
		"Step":         func() error { _, err := w.store.Step(ctx, none, kernel.StepID{}); return err },
		"Approval":     func() error { _, err := w.store.Approval(ctx, kernel.ApprovalID{}); return err },
		"Body":         func() error { _, err := w.store.Body(ctx, 99); return err },
		"Agent":        func() error { _, err := w.store.Agent(ctx, "none"); return err },
	} {
		if err := ask(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of nothing: %v, want %v", name, err, store.ErrNotFound)
		}
	}
	for name, ask := range map[string]func() (int, error){
		"Steps":  func() (int, error) { all, err := w.store.Steps(ctx, none); return len(all), err },
		"Events": func() (int, error) { all, err := w.store.Events(ctx, 99, none, 0, 10, nil); return len(all), err },
		"Executions": func() (int, error) {
			all, _, err := w.store.Executions(ctx, store.ExecutionQuery{Limit: 10})
			return len(all), err
		},
		"Approvals": func() (int, error) {
			all, err := w.store.Approvals(ctx, store.ApprovalQuery{Limit: 10})
			return len(all), err
		},
		"DueDispatches": func() (int, error) {
			all, err := w.store.DueDispatches(ctx, store.QueuePlace{}, 10)
			return len(all), err
		},
		"InFlight": func() (int, error) { all, err := w.store.InFlight(ctx, 0, 10); return len(all), err },
	} {
		if n, err := ask(); n != 0 || err != nil {
			t.Errorf("%s of an empty store: %d, %v; want nothing", name, n, err)
		}
	}
}
