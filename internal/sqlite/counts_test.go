package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// The completed ones are not counted but left over.
func TestCounts(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	check := func(want store.Counts) {
		t.Helper()
		got, err := db.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(store.Counts{Executions: map[kernel.Status]int64{}})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	end := func(c kernel.Command) {
		t.Helper()
		id, err := create(db, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			return
		}
		err = db.Update(t.Context(), func(tx store.Tx) error {
			s, l, err := tx.Load(id)
			if err != nil {
				return err
			}
			claim := &kernel.ClaimDispatch{Dispatch: l.ID, Timeout: 1e9}
			for _, c := range []kernel.Command{claim, c} {
				if f, ok := c.(*kernel.FinishExecution); ok {
					f.Caller = l.Holder
				}
				kernel.Stamp(c, max(now(), s.UpdatedAt), [10]byte{1})
				if err := decide(tx, s, l, c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	end(nil)
	end(&kernel.FinishExecution{Succeeded: true, Output: kernel.NewBody([]byte(`1`))})
	end(&kernel.FinishExecution{Succeeded: true, Output: kernel.NewBody([]byte(`2`))})
	end(&kernel.FinishExecution{Reason: "no"})
	end(&kernel.CancelExecution{Reason: kernel.ReasonClientCancelled})
	check(store.Counts{QueuedDispatches: 1, Executions: map[kernel.Status]int64{
		kernel.StatusPending: 1, kernel.StatusCompleted: 2, kernel.StatusFailed: 1, kernel.StatusCancelled: 1,
	}})
}
