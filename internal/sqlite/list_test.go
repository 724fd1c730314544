package sqlite_test

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// A list walks what there is least of, just where it is: looking for the few
// blocked ones of a label that all have must not look at all of them.
func TestListWalksTheSparsest(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	const many = 300
	err := db.Update(t.Context(), func(tx store.Tx) error {
		for i := range many {
			c := &kernel.CreateExecution{Agent: "mailer", Input: kernel.NewBody([]byte(`{}`)), Labels: map[string]string{"env": "prod"}}
			if i < 100 {
				c.Labels["era"] = "old"
			}
			if i == 7 {
				c.Labels["ticket"] = "7"
			}
			if _, err := begin(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	common, rare, old := [2]string{"env", "prod"}, [2]string{"ticket", "7"}, [2]string{"era", "old"}
	const state = -1
	for _, tt := range []struct {
		name  string
		q     store.ExecutionQuery
		label int // whose index is walked first
		all   bool
		found int
	}{
		{"no label", store.ExecutionQuery{Status: kernel.StatusPending}, state, true, 10},
		{"one label", store.ExecutionQuery{Labels: [][2]string{common}}, 0, true, 10},
		{"a common and a rare one", store.ExecutionQuery{Labels: [][2]string{common, rare}}, 1, true, 1},
		{"a rare and a common one", store.ExecutionQuery{Labels: [][2]string{rare, common}}, 0, true, 1},
		{"a common one, of a rare status", store.ExecutionQuery{Labels: [][2]string{common}, Status: kernel.StatusBlocked}, state, true, 0},
		{"a rare one, of a common status", store.ExecutionQuery{Labels: [][2]string{rare}, Status: kernel.StatusPending}, 0, true, 1},
		{"a rare one, of an agent", store.ExecutionQuery{Labels: [][2]string{rare}, Agent: "mailer"}, 0, true, 1},
		{"a common one, of an agent without any", store.ExecutionQuery{Labels: [][2]string{common}, Agent: "other"}, state, true, 0},
		{"a common one, of a common status", store.ExecutionQuery{Labels: [][2]string{common}, Status: kernel.StatusPending}, state, false, 10},
		{"two, of which one is only in the past", store.ExecutionQuery{Labels: [][2]string{common, old}}, 1, false, 10},
	} {
		label, from, err := db.Sparsest(tt.q, 40)
		if err != nil || label != tt.label || (from == 0) != tt.all {
			t.Errorf("%s: walks %d from %d, %v; want %d, all of it: %v", tt.name, label, from, err, tt.label, tt.all)
		}
		tt.q.Limit = 10
		page, _, err := db.Executions(t.Context(), tt.q)
		if err != nil || len(page) != tt.found {
			t.Errorf("%s: %d executions, %v; want %d", tt.name, len(page), err, tt.found)
		}
	}
}

// TestListsOfManyForms asks for more forms of lists than are kept compiled, by
// many at once who all find none of them compiled.
func TestListsOfManyForms(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	if err := putAgent(db); err != nil {
		t.Fatal(err)
	}
	labels, asked := make(map[string]string), make([][2]string, 6)
	for i := range asked {
		asked[i] = [2]string{"k" + strconv.Itoa(i), "v"}
		labels[asked[i][0]] = "v"
	}
	var id kernel.ExecutionID
	if err := db.Update(t.Context(), func(tx store.Tx) (err error) {
		id, err = begin(tx, &kernel.CreateExecution{Agent: "mailer", Input: kernel.NewBody([]byte(`{}`)), Labels: labels})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	const callers, most = 4, 32
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for n := range len(asked) + 1 {
				n = (n + 2*caller) % (len(asked) + 1) // each begins with others
				for _, q := range []store.ExecutionQuery{
					{}, {Agent: "mailer"}, {Status: kernel.StatusPending}, {Before: 1 << 40}, {Agent: "mailer", Before: 1 << 40}, {Status: kernel.StatusPending, Before: 1 << 40},
				} {
					q.Labels, q.Limit = asked[:n], 5
					page, _, err := db.Executions(t.Context(), q)
					if err != nil || len(page) != 1 || page[0].ID != id {
						t.Errorf("%+v: %d executions, %v; want %s", q, len(page), err, id)
					}
				}
			}
		})
	}
	group.Wait()
	if n := db.Forms(); n != most {
		t.Errorf("%d forms are kept compiled, want %d", n, most)
	}
}
