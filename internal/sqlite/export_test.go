package sqlite

import (
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Rows loads an execution from its rows, whatever is held in memory.
func Rows(tx_ store.Tx, id kernel.ExecutionID) (*kernel.State, *kernel.Lease, error) {
	r, err := tx_.(*tx).w.load(id)
	if err != nil {
		return nil, nil, err
	}
	return &r.state, &r.lease, nil
}
