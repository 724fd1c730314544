package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// work lets the server work until the moment of its kill.
func (t *torture) work(ctx context.Context, x *round) error {
	s := t.scene
	if x.moment == midRetention { // which begins with the start; the next round audits
		return client.Sleep(ctx, x.delay)
	}
	if err := t.auditSome(ctx); err != nil {
		return err
	}
	if x.verified {
		if err := t.verifyLive(ctx); err != nil {
			return err
		}
	}
	if err := client.Sleep(ctx, x.works); err != nil {
		return err
	}
	switch x.moment {
	case midBackup:
		return t.backUp(ctx, x)
	case midCheckpoint:
		if err := s.checkpoint(ctx); err != nil {
			return err
		}
		return client.Sleep(ctx, x.delay)
	case midStop:
		if err := s.server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stop the server: %w", err)
		}
		return client.Sleep(ctx, x.delay)
	case notAtAll:
		if err := s.stop(); err != nil {
			s.ledger.problem("%v", err)
		}
	case midWork, midStart, midFresh, midRetention, afterLapse:
	}
	return nil
}

// checkpoint waits until the database file itself is written, which happens
// when its log is copied into it and at no other time.
func (s *scene) checkpoint(ctx context.Context) error {
	const most = 3 * time.Second // without a checkpoint any other moment will do
	before, err := os.Stat(s.db())
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < most; {
		now, err := os.Stat(s.db())
		if err != nil {
			return err
		}
		if !now.ModTime().Equal(before.ModTime()) {
			return nil
		}
		if err := client.Sleep(ctx, 100*time.Microsecond); err != nil {
			return err
		}
	}
	return nil
}

// verifyLive runs `verify` on the file of the running server.
func (t *torture) verifyLive(ctx context.Context) error {
	s := t.scene
	p, err := launch(s.command("verify", "--db", s.db()))
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		return ctx.Err()
	}
	if p.err != nil {
		s.ledger.problem("verify of the live file: %v: %s", p.err, p.out.String())
	}
	return nil
}

// backUp starts a backup, and ends it when that is wanted, or waits for it
// after the server is dead.
func (t *torture) backUp(ctx context.Context, x *round) error {
	s := t.scene
	s.backups++
	p, err := launch(s.command("backup", "--db", s.db(), filepath.Join(s.dir, fmt.Sprintf("backup-%d.db", s.backups))))
	if err != nil {
		return err
	}
	err = client.Sleep(ctx, x.delay)
	t.strike()
	if x.other || err != nil {
		p.kill()
		return err
	}
	select {
	case <-p.done: // reads a file that nobody serves any more: that is no reason to fail
	case <-ctx.Done():
		p.kill()
		return ctx.Err()
	}
	if p.err != nil {
		s.ledger.problem("a backup of a file whose server died: %v: %s", p.err, p.out.String())
	}
	return nil
}

// inspectBackups verifies every backup that has its name, and drops what was
// cut off.
func (t *torture) inspectBackups(ctx context.Context) error {
	s := t.scene
	all, err := filepath.Glob(filepath.Join(s.dir, "backup-*"))
	if err != nil {
		return err
	}
	for _, path := range all {
		if strings.HasSuffix(path, ".db") {
			report, err := sqlite.Verify(ctx, path, sqlite.VerifyOptions{})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || !report.OK() {
				s.ledger.problem("backup %s is not whole: %v %v", path, err, report.Problems)
				return nil
			}
			t.round.Backups++
			t.report.Backups++
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// end stops the load and cancels what goes on, so that everything has ended.
func (s *scene) end(ctx context.Context) error {
	s.cancel()
	<-s.done
	s.fleet.close()
	const page = 200
	for _, status := range []wire.ExecutionStatus{wire.ExecutionPending, wire.ExecutionRunning, wire.ExecutionBlocked} {
		for {
			var list wire.ExecutionList
			if err := insist(ctx, func() (err error) {
				list, err = s.api.ListExecutions(ctx, client.ExecutionFilter{Status: status, Limit: page})
				return err
			}); err != nil {
				return fmt.Errorf("list executions: %w", err)
			}
			if len(list.Executions) == 0 {
				break
			}
			if err := s.cancelAll(ctx, list.Executions); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scene) cancelAll(ctx context.Context, executions []wire.Execution) error {
	errs := make([]error, len(executions))
	var all sync.WaitGroup
	for i := range executions {
		all.Go(func() {
			err := s.load.cancel(ctx, executions[i].ID)
			if client.CodeOf(err) != wire.CodeConflict { // it has ended meanwhile
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
