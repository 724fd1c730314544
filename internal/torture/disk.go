package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// ErrNoSmallDisk says that a small file system cannot be mounted here.
var ErrNoSmallDisk = errors.New("a small disk can be mounted by root on Linux only")

const (
	diskSize   = 192 << 20
	enoughUsed = diskSize / 4 // then the next round begins with an empty disk
)

// FillDisk fills a small disk so many times while the server is at work, frees
// it again, and looks whether everything acknowledged is there; in some rounds
// the server is killed, or stopped, while the disk is full. The error is
// [ErrNoSmallDisk] where that cannot be done.
func FillDisk(ctx context.Context, o Options, times int) (Report, error) {
	disk := filepath.Join(o.Dir, "disk")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		return Report{}, err
	}
	unmount, err := mountSmallDisk(disk, diskSize)
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrNoSmallDisk, err)
	}
	t := &torture{opts: o, data: disk, excuse: "the disk is full", random: source(o.Seed, "disk"), report: Report{Seed: o.Seed, Moments: make(map[string]int)}}
	began := time.Now()
	err = t.fillDisk(ctx, times)
	t.close()
	t.report.finish(began)
	if t.report.Failure != nil { // what is on the disk goes with it
		kept := filepath.Join(o.Dir, "files")
		err = errors.Join(err, os.CopyFS(kept, os.DirFS(t.report.Failure.Dir)))
		t.report.Failure.Dir = kept
	}
	return t.report, errors.Join(err, unmount())
}

func (t *torture) fillDisk(ctx context.Context, times int) error {
	for t.report.Rounds < times {
		if t.scene == nil || size(t.scene.db())+size(t.scene.db()+"-wal") > enoughUsed {
			if err := t.move(ctx); err != nil || t.report.Failure != nil {
				return err
			}
		}
		t.report.Rounds++
		t.round = Round{N: t.report.Rounds, Moment: "full disk"}
		if err := t.fillOnce(ctx); err != nil {
			return fmt.Errorf("round %d: %w", t.round.N, err)
		}
		if t.failed() {
			return nil
		}
		t.report.Moments[t.round.Moment]++
		t.tell()
	}
	return t.settle(ctx)
}

// fillOnce is one round.
func (t *torture) fillOnce(ctx context.Context) error {
	s := t.scene
	if s.server == nil {
		if err := t.start(t.retention()); err != nil {
			return err
		}
		if !t.arrive(ctx) {
			return ctx.Err()
		}
	}
	if err := t.auditSome(ctx); err != nil {
		return err
	}
	ballast := filepath.Join(t.data, "ballast")
	if err := fill(ballast, t.random.Int64N(1<<20)); err != nil {
		return err
	}
	if err := t.awaitRefusal(ctx); err != nil {
		return err
	}
	if err := client.Sleep(ctx, upTo(t.random, 500*time.Millisecond)); err != nil {
		return err
	}
	switch t.random.IntN(4) {
	case 0:
		t.round.Moment = "full disk, kill"
		t.strike()
		if err := t.startFull(ctx); err != nil {
			return err
		}
	case 1:
		t.round.Moment = "full disk, stop"
		_ = s.stop() // it cannot store the leases, and may say so
	default:
	}
	if s.server == nil {
		if err := t.inspect(ctx); err != nil {
			return err
		}
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if s.server == nil {
		return nil // the next round starts it
	}
	return t.recovers(ctx)
}

// recovers expects the server to go on by itself now that there is space.
func (t *torture) recovers(ctx context.Context) error {
	s, freed := t.scene, time.Now()
	if _, err := s.ready(ctx, s.server, time.Since(s.server.started)+readyWithin); err != nil {
		s.ledger.problem("after space was freed: %v", err)
		return nil
	}
	t.round.Recovery = time.Since(freed).Seconds()
	writes, _ := s.ledger.acknowledged()
	for began := time.Now(); ; {
		if now, _ := s.ledger.acknowledged(); now > writes {
			break
		}
		if time.Since(began) > readyWithin {
			s.ledger.problem("nothing was taken within %s after space was freed", readyWithin)
			return nil
		}
		if err := client.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	report, err := sqlite.Verify(ctx, s.db(), sqlite.VerifyOptions{}) // while it works on
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || !report.OK() {
		s.ledger.problem("verify: %v %v", err, report.Problems)
	}
	t.round.Events = report.Events
	t.report.Verified++
	return nil
}

// retention is now and then short: removing makes room in the file, and needs
// some on the disk.
func (t *torture) retention() time.Duration {
	if t.random.IntN(3) == 0 {
		return 3 * time.Second
	}
	return 0
}

// fill writes a file until the disk is full, and gives some of it back.
func fill(path string, spare int64) (err error) {
	f, err := os.Create(path) //nolint:gosec // our own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 64<<10)
	written := int64(0)
	for {
		n, err := f.Write(block)
		written += int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			return f.Truncate(max(0, written-spare))
		}
		if err != nil {
			return err
		}
	}
}

// awaitRefusal waits until the server refuses a write, unless what retention
// freed inside of the file lasts longer than that.
func (t *torture) awaitRefusal(ctx context.Context) error {
	const most = 8 * time.Second
	before := t.scene.ledger.refusals()
	for began := time.Now(); t.scene.ledger.refusals() == before && time.Since(began) < most; {
		if err := client.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// startFull starts a server on a full disk: it may say that it cannot, and may
// turn out not to be ready.
func (t *torture) startFull(ctx context.Context) error {
	if err := t.start(t.retention()); err != nil {
		return err
	}
	if err := client.Sleep(ctx, upTo(t.random, 500*time.Millisecond)); err != nil {
		return err
	}
	if s := t.scene; s.server.running() && t.random.IntN(2) == 0 {
		t.strike()
	} else if !s.server.running() {
		s.kill() // it gave up
	}
	return nil
}
