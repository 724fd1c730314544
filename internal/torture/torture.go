package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// Options say how hard, and for how long.
type Options struct {
	Binary   string        // to run as the server
	Dir      string        // empty folder to work in
	Seed     uint64        // of everything that is drawn
	Kills    int           // how many; Run ends after them
	Duration time.Duration // Run ends after it at the latest; 0: whatever the kills take
	Rate     float64       // steps a second
	Quick    bool          // leave the slow moments out
	Progress func(Round)   // is told of every round; may be nil
}

// Round is what became of one round.
type Round struct {
	N            int     `json:"round"`
	Moment       string  `json:"moment"`  // of the kill
	Kills        int     `json:"kills"`   // up to its end
	Starts       int     `json:"starts"`  // of the server in it
	Ready        float64 `json:"ready"`   // seconds from the start of the process to ready; 0: it was killed before
	Writes       int64   `json:"writes"`  // acknowledged so far, in this folder
	Audited      int     `json:"audited"` // executions read back
	Gone         int     `json:"gone"`    // executions that retention had removed
	Events       int64   `json:"events"`  // verified in the file after it
	VerifySecond float64 `json:"verify_seconds"`
	Backups      int     `json:"backups"`            // that were made, and are whole
	Recovery     float64 `json:"recovery,omitempty"` // seconds until it was ready again after a full disk was freed
}

// Report is what a run came to.
type Report struct {
	Seed     uint64         `json:"seed"`
	Kills    int            `json:"kills"`
	Rounds   int            `json:"rounds"`
	Moments  map[string]int `json:"moments"` // rounds by moment
	Folders  int            `json:"folders"` // that it began with an empty one
	Starts   int            `json:"starts"`
	Ready    []float64      `json:"-"` // seconds of every start that became ready
	ReadyP50 float64        `json:"ready_p50"`
	ReadyMax float64        `json:"ready_max"`
	Writes   int64          `json:"writes"` // acknowledged
	Steps    int64          `json:"steps"`  // outcomes among them
	Audited  int            `json:"audited"`
	Gone     int            `json:"gone"`
	Verified int            `json:"verified"` // files, backups not counted
	Backups  int            `json:"backups"`
	Refused  int64          `json:"refused"` // requests, with 503
	Seconds  float64        `json:"seconds"`
	Failure  *Failure       `json:"failure"` // nil: nothing was wrong
}

// Failure is what was wrong.
type Failure struct {
	Round    int      `json:"round"`
	Moment   string   `json:"moment"`
	Problems []string `json:"problems"` // the first of them
	Found    int      `json:"found"`
	Dir      string   `json:"dir"` // where the files are
}

// readyWithin is how long a start may take. The files are small, so this is
// slack for a machine that does something else as well.
const readyWithin = 15 * time.Second

const stopGrace = 30 * time.Second

// Run kills a server again and again. The error is of the run itself; what is
// wrong with the server is in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	t := &torture{opts: o, data: o.Dir, random: source(o.Seed, "torture"), report: Report{Seed: o.Seed, Moments: make(map[string]int)}}
	t.planner = planner{random: t.random, cards: deck}
	if o.Quick {
		t.planner.cards = quickDeck
	}
	began := time.Now()
	err := t.run(ctx, func() bool {
		return t.report.Kills >= o.Kills || o.Duration > 0 && time.Since(began) > o.Duration
	})
	t.close()
	t.report.finish(began)
	return t.report, err
}

// torture is the state of a run.
type torture struct {
	opts    Options
	data    string // folder of the databases
	excuse  string // errors that name it may be in the server's log; "": none may
	random  *rand.Rand
	planner planner
	report  Report
	round   Round
	scene   *scene
}

// scene is one folder with its servers and what is done to them.
type scene struct {
	*place
	ledger  *ledger
	fleet   *fleet
	load    *load
	server  *process // nil: none runs
	ended   func()   // of its life
	logged  int64    // how much of its log was looked at
	backups int      // that were begun
	cancel  context.CancelFunc
	known   chan struct{} // closed once the agents are registered: the load begins
	done    chan struct{}
}

// newScene begins in an empty folder: nothing is started.
func newScene(ctx context.Context, o *Options, dir, aside string) (*scene, error) {
	p, err := newPlace(ctx, o.Binary, dir, aside)
	if err != nil {
		return nil, err
	}
	l := newLedger()
	s := &scene{place: p, ledger: l, load: newLoad(o, p.api, l), known: make(chan struct{}), done: make(chan struct{})}
	ctx, s.cancel = context.WithCancel(ctx)
	if s.fleet, err = newFleet(ctx, p.api, o.Seed, l); err != nil {
		s.cancel()
		return nil, err
	}
	go func() {
		defer close(s.done)
		if err := s.fleet.register(ctx, p.api); err != nil {
			if ctx.Err() == nil {
				l.problem("%v", err)
			}
			return
		}
		close(s.known)
		s.load.run(ctx)
	}()
	return s, nil
}

// close ends the load and the server.
func (s *scene) close() {
	s.cancel()
	s.fleet.close()
	<-s.done
	if s.server != nil {
		s.kill()
	}
}

func (s *scene) start(retention time.Duration) error {
	ended := s.ledger.begins(retention)
	p, err := s.serve(retention)
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	s.server, s.ended = p, ended
	return nil
}

func (s *scene) kill() {
	s.server.kill()
	s.ended()
	s.server = nil
}

func (s *scene) stop() error {
	err := s.server.stop(stopGrace)
	s.ended()
	s.server = nil
	return err
}

func (t *torture) close() {
	if t.scene != nil {
		t.scene.close()
		t.leave()
	}
}

// leave adds up what a scene came to.
func (t *torture) leave() {
	writes, steps := t.scene.ledger.acknowledged()
	t.report.Writes += writes
	t.report.Steps += steps
	t.report.Refused += t.scene.ledger.refusals()
	t.scene = nil
}

func (t *torture) run(ctx context.Context, enough func() bool) error {
	for !enough() {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := t.planner.next()
		if x.moment == midFresh {
			if err := t.move(ctx); err != nil || t.report.Failure != nil {
				return err
			}
		}
		t.report.Rounds++
		t.report.Moments[x.moment.String()]++
		t.round = Round{N: t.report.Rounds, Moment: x.moment.String()}
		if err := t.live(ctx, &x); err != nil {
			return fmt.Errorf("round %d (%s): %w", t.round.N, x.moment, err)
		}
		if t.failed() {
			return nil
		}
		t.tell()
	}
	return t.settle(ctx)
}

func (t *torture) tell() {
	t.round.Kills = t.report.Kills
	t.round.Writes, _ = t.scene.ledger.acknowledged()
	if t.opts.Progress != nil {
		t.opts.Progress(t.round)
	}
}

// failed notes what is wrong, if anything is.
func (t *torture) failed() bool {
	problems, found := t.scene.ledger.problems()
	if found == 0 {
		return false
	}
	t.report.Failure = &Failure{Round: t.round.N, Moment: t.round.Moment, Problems: problems, Found: found, Dir: t.scene.dir}
	return true
}

// move settles the scene and begins another one in an empty folder.
func (t *torture) move(ctx context.Context) error {
	if t.scene != nil {
		if err := t.settle(ctx); err != nil || t.report.Failure != nil {
			return err
		}
		t.scene.close()
		dir, aside := t.scene.dir, t.scene.aside
		t.leave()
		if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(aside)); err != nil {
			return err
		}
	}
	t.report.Folders++
	name := fmt.Sprintf("files-%d", t.report.Folders)
	s, err := newScene(ctx, &t.opts, filepath.Join(t.data, name), filepath.Join(t.opts.Dir, "about-"+name))
	t.scene = s
	return err
}

// settle ends everything in the scene and audits all of it once more.
func (t *torture) settle(ctx context.Context) error {
	t.round = Round{N: t.report.Rounds, Moment: "the end"}
	err := t.conclude(ctx)
	if err == nil && !t.failed() {
		t.tell()
	}
	return err
}

func (t *torture) conclude(ctx context.Context) error {
	s := t.scene
	if s.server == nil {
		if err := t.start(0); err != nil {
			return err
		}
		if !t.arrive(ctx) {
			return ctx.Err()
		}
	}
	if err := s.end(ctx); err != nil {
		return err
	}
	if err := t.auditAll(ctx); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		s.ledger.problem("%v", err)
	}
	return t.inspect(ctx)
}

// live is one round.
func (t *torture) live(ctx context.Context, x *round) error {
	for _, after := range x.starts {
		if err := t.start(x.retention); err != nil {
			return err
		}
		if err := client.Sleep(ctx, after); err != nil {
			return err
		}
		t.strike()
		if err := t.inspect(ctx); err != nil || t.scene.ledger.broken() {
			return err
		}
	}
	if err := t.start(x.retention); err != nil {
		return err
	}
	if !t.arrive(ctx) {
		return ctx.Err()
	}
	if err := t.work(ctx, x); err != nil {
		return err
	}
	if t.scene.server != nil {
		t.strike()
	}
	return t.inspect(ctx)
}

// start keeps what the last kill left, and starts a server on it.
func (t *torture) start(retention time.Duration) error {
	if err := t.scene.keep(); err != nil {
		return err
	}
	t.report.Starts++
	t.round.Starts++
	return t.scene.start(retention)
}

// keep copies the files as they are, for whoever has to find out what the next
// start made of them.
func (s *scene) keep() error {
	for _, name := range []string{"kernel.db", "kernel.db-wal"} {
		if err := copyFile(filepath.Join(s.dir, name), filepath.Join(s.aside, "before-the-last-start-"+name)); err != nil {
			return err
		}
	}
	return nil
}

// copyFile makes to a copy of from, or removes it when there is no from.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from) //nolint:gosec // our own
	if errors.Is(err, os.ErrNotExist) {
		if err := os.Remove(to); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.Create(to) //nolint:gosec // our own
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// arrive waits until the server is ready, and reports whether it is: false also
// when ctx ends.
func (t *torture) arrive(ctx context.Context) bool {
	took, err := t.scene.ready(ctx, t.scene.server, readyWithin)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		t.scene.ledger.problem("%v", err)
		return false
	}
	t.round.Ready = took.Seconds()
	t.report.Ready = append(t.report.Ready, took.Seconds())
	return true
}

// strike is kill -9.
func (t *torture) strike() {
	t.scene.kill()
	t.report.Kills++
}

// An audit after a start takes some of what was audited before and not touched
// since, and is bounded, so that there are many starts; the last one in a folder
// takes everything.
const (
	shareAgain = 0.15
	mostAtOnce = 250
)

// auditSome reads back a part of what was acknowledged.
func (t *torture) auditSome(ctx context.Context) error { return t.audit(ctx, shareAgain, mostAtOnce) }

// auditAll reads back all of it.
func (t *torture) auditAll(ctx context.Context) error { return t.audit(ctx, 1, math.MaxInt) }

func (t *torture) audit(ctx context.Context, share float64, most int) error {
	got, err := t.scene.audit(ctx, t.random, share, most)
	t.round.Audited += got.executions
	t.round.Gone += got.gone
	t.report.Audited += got.executions
	t.report.Gone += got.gone
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// inspect verifies the file as it lies there, and every backup that has its name.
func (t *torture) inspect(ctx context.Context) error {
	s := t.scene
	lines, to, err := s.complaints(s.logged)
	if err != nil {
		return err
	}
	s.logged = to
	for _, line := range lines {
		if t.excuse == "" || !strings.Contains(line, t.excuse) {
			s.ledger.problem("the server logged: %s", line)
		}
	}
	if err := t.inspectBackups(ctx); err != nil {
		return err
	}
	if info, err := os.Stat(s.db()); err != nil || info.Size() == 0 && noLog(s.db()) {
		return nil //nolint:nilerr // it was killed before it made one
	}
	began := time.Now()
	report, err := sqlite.Verify(ctx, s.db(), sqlite.VerifyOptions{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if s.unmade() {
			return nil
		}
		s.ledger.problem("verify: %v", err)
		return nil
	}
	for _, p := range report.Problems {
		s.ledger.problem("verify: %s", p)
	}
	t.round.Events, t.round.VerifySecond = report.Events, time.Since(began).Seconds()
	t.report.Verified++
	return nil
}

func noLog(db string) bool {
	info, err := os.Stat(db + "-wal")
	return err != nil || info.Size() == 0
}

// unmade reports whether nothing was ever acknowledged: a file whose schema was
// never made cannot be verified, and need not be.
func (s *scene) unmade() bool {
	writes, _ := s.ledger.acknowledged()
	return writes == 0
}

func (r *Report) finish(began time.Time) {
	r.Seconds = time.Since(began).Seconds()
	r.ReadyP50, r.ReadyMax = median(r.Ready), largest(r.Ready)
}
