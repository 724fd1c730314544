package sqlite

import (
	"context"
	"strings"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Fail makes the writing of db ask fault at each of the three points.
func Fail(db *DB, fault func(point int) error) error {
	return db.Update(context.Background(), func(t store.Tx) error {
		t.(*tx).fault = nil
		if fault != nil {
			t.(*tx).fault = func(at faultPoint) error { return fault(int(at)) }
		}
		return nil
	})
}

// Texts are all statements that db runs again and again, with the values that
// matter to the plan of a list.
func (db *DB) Texts() []string {
	texts := []string{eventsQuery()}
	for _, q := range (&queries{}).texts() {
		texts = append(texts, q.sql)
	}
	for _, q := range (&statements{}).texts() {
		texts = append(texts, q.sql)
	}
	labels := [][2]string{{"k", "v"}, {"k2", "v2"}}
	for _, q := range []store.ExecutionQuery{
		{},
		{Before: 9},
		{Agent: "a"},
		{Agent: "a", Before: 9},
		{Status: 2},
		{Status: 2, Before: 9},
		{Agent: "a", Status: 2},
		{Agent: "a", Status: 2, Before: 9},
		{Labels: labels},
		{Labels: labels, Before: 9},
		{Labels: labels, Agent: "a", Status: 1, Before: 9},
		{Labels: labels, Agent: "a"},
		{Labels: labels, Status: 1, Before: 9},
	} {
		for _, label := range indexesFor(q) {
			for _, from := range []int64{0, 5} {
				text, _ := listExecutions(q, walk{label: label, from: from})
				texts = append(texts, text)
			}
		}
		text, _ := endsOfWalks(q, indexesFor(q), 9)
		texts = append(texts, text)
	}
	execution := kernel.ExecutionID{UUID: kernel.UUID{1}}
	for _, q := range []store.ApprovalQuery{{}, {Status: 1}, {Agent: "a"}, {Agent: "a", Status: 1}, {Execution: execution}, {Execution: execution, Status: 1, Agent: "a"}} {
		text, _ := listApprovals(q)
		texts = append(texts, text)
	}
	return texts
}

// Plan is how SQLite carries out a statement, a line a step.
func (db *DB) Plan(text string) ([]string, error) {
	rows, err := db.read.Query("EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	if err != nil {
		return nil, err
	}
	var steps []string
	err = each(rows, func(row scanner) error {
		var a, b, c int
		var step string
		err := row.Scan(&a, &b, &c, &step)
		steps = append(steps, step)
		return err
	})
	return steps, err
}

// Sparsest is what a list walks first with so many entries: the index of the
// label of that number, or -1, and the lowest number; 0: all.
func (db *DB) Sparsest(q store.ExecutionQuery, entries int) (label int, from int64, err error) {
	w, err := db.sparsest(context.Background(), q, entries)
	return w.label, w.from, err
}

// Forms is how many lists are kept compiled.
func (db *DB) Forms() int {
	db.queries.lists.mu.Lock()
	defer db.queries.lists.mu.Unlock()
	return len(db.queries.lists.of)
}

// Fault is an error with one of SQLite's codes.
type Fault int

func (f Fault) Error() string { return "a fault that the test made" }

// Code is the result code.
func (f Fault) Code() int { return int(f) }

// The faults that tests make.
const (
	FaultFull = Fault(codeFull)
	FaultIO   = Fault(codeIOErr)
	FaultBusy = Fault(codeBusy)
)

// Rows loads an execution from its rows, whatever is held in memory.
func Rows(from store.Tx, id kernel.ExecutionID) (*kernel.State, *kernel.Lease, error) {
	r, err := from.(*tx).w.load(id)
	if err != nil {
		return nil, nil, err
	}
	return &r.state, &r.lease, nil
}
