package sqlite

import (
	"context"

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
func Rows(tx_ store.Tx, id kernel.ExecutionID) (*kernel.State, *kernel.Lease, error) {
	r, err := tx_.(*tx).w.load(id)
	if err != nil {
		return nil, nil, err
	}
	return &r.state, &r.lease, nil
}
