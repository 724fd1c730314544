package sqlite_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, driver)
}

var driver = storetest.Driver{
	Open: func(ctx context.Context, folder string, o storetest.Options) (store.Store, error) {
		return sqlite.Open(ctx, filepath.Join(folder, "kernel.db"), sqlite.Options{Resident: o.Resident, OnCommit: o.OnCommit})
	},
	Copy: copyOpen,
	Rows: sqlite.Rows,
	Fail: func(s store.Store, fault storetest.Fault) error {
		if fault == nil {
			return sqlite.Fail(s.(*sqlite.DB), nil)
		}
		return sqlite.Fail(s.(*sqlite.DB), func(at int) error { return fault(storetest.Point(at)) })
	},
	Faults: storetest.Faults{Full: sqlite.FaultFull, IO: sqlite.FaultIO, Busy: sqlite.FaultBusy},
	Queued: func(s store.Store) int { return s.(*sqlite.DB).QueueLength() },
	Verify: func(ctx context.Context, folder string) error {
		report, err := sqlite.Verify(ctx, filepath.Join(folder, "kernel.db"), sqlite.VerifyOptions{})
		if err == nil && !report.OK() {
			err = fmt.Errorf("%d problems: %v", report.Found, report.Problems)
		}
		return err
	},
}

// copyOpen copies the files of an open database, as a kill would leave them:
// the shared memory of the write-ahead log dies with the process.
func copyOpen(from, to string) error {
	for _, name := range []string{"kernel.db", "kernel.db-wal"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
