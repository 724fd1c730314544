package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/dispatch"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
	"github.com/agentkernel/kernelctl/internal/timer"
)

// life is the service from a start to a stop.
type life struct {
	w          *world
	db         *sqlite.DB
	engine     *engine.Engine
	hub        *stream.Hub
	dispatcher *dispatch.Dispatcher
	timers     *timer.Timers
	writer     *part
	moving     []*part
	faults     faults
	seen       map[kernel.ExecutionID]int64 // the last event that commits told of; the writer's
}

// part is a component that runs.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func startPart(run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx)
	}()
	return p
}

func (p *part) stop() error {
	p.cancel()
	<-p.done
	return p.err
}

// faults decide about writing. Only the writer asks.
type faults struct {
	mu      sync.Mutex
	r       *rand.Rand
	full    float64 // the chance that the disk is full
	crashIn int     // so many points from now the process dies; 0: never
	crashAt int     // of this kind, or anyPoint
	copyTo  string  // where what is on the disk then is kept; "": the file is used again
	dead    bool
}

// sqliteError is an error with one of SQLite's codes.
type sqliteError int

const (
	ioError  sqliteError = 10
	diskFull sqliteError = 13
)

func (e sqliteError) Error() string { return "fault " + strconv.Itoa(int(e)) }
func (e sqliteError) Code() int     { return int(e) }

const (
	anyPoint    = -1
	afterCommit = 2
)

func (l *life) fault(point int) error {
	f := &l.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashIn > 0 && (f.crashAt == anyPoint || f.crashAt == point) {
		if f.crashIn--; f.crashIn == 0 {
			f.dead = true
			l.w.h.met.add(fmt.Sprint("crash at point ", point))
			if f.copyTo != "" {
				l.w.snapshot(filepath.Dir(f.copyTo))
			}
			return ioError
		}
	}
	if point != afterCommit && l.w.chance(f.r, f.full) {
		l.w.h.met.add("disk full")
		return diskFull
	}
	return nil
}

// snapshot keeps what a killed process leaves behind. The writer stands still.
func (w *world) snapshot(folder string) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		w.t.Errorf("snapshot: %v", err)
	}
	for _, name := range []string{"kernel.db", "kernel.db-wal"} {
		if err := copyFile(filepath.Join(filepath.Dir(w.path), name), filepath.Join(folder, name)); err != nil {
			w.t.Errorf("snapshot: %v", err)
		}
	}
}

// current is the life that serves; nil while the service is down.
func (w *world) current() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}

// start begins a life, as the daemon does.
func (w *world) start() {
	w.born++
	l := &life{w: w, hub: stream.NewHub(), seen: make(map[kernel.ExecutionID]int64)}
	l.faults.r = w.rand("disk", w.born)
	var err error
	l.db, err = sqlite.Open(w.t.Context(), w.path, sqlite.Options{
		Resident: w.shape.resident, Queue: w.shape.queue, OnCommit: l.committed, Fault: l.fault,
	})
	if err != nil {
		w.t.Fatalf("open the database in life %d: %v", w.born, err)
	}
	l.engine = engine.New(l.db, engine.Options{ApprovalTimeout: time.Minute})
	l.dispatcher = dispatch.New(l.engine, l.db, &deliverer{w}, dispatch.Options{Concurrency: w.shape.workers})
	l.timers = timer.New(l.engine, l.db, 0, nil)
	l.writer = startPart(l.db.Run)
	if err := l.engine.LoadAgents(w.t.Context()); err != nil {
		w.t.Fatalf("load agents in life %d: %v", w.born, err)
	}
	l.moving = []*part{startPart(l.dispatcher.Run), startPart(l.timers.Run), startPart(l.follow)}
	w.h.begins()
	w.mu.Lock()
	w.life = l
	w.mu.Unlock()
}

func (l *life) committed(batch []store.Committed) {
	l.dispatcher.Committed(batch)
	l.timers.Committed(batch)
	l.hub.Committed(batch)
	for i := range batch {
		for _, r := range batch[i].Records {
			if last, ok := l.seen[batch[i].Execution]; ok && r.Event.Seq != last+1 {
				l.w.t.Errorf("commits of %s tell of event %d after %d", batch[i].Execution, r.Event.Seq, last)
			}
			l.seen[batch[i].Execution] = r.Event.Seq
		}
	}
}

// follow is a dashboard: it sees every event, in order.
func (l *life) follow(ctx context.Context) error {
	feed := l.hub.Feed()
	defer feed.Close()
	last := make(map[kernel.ExecutionID]int64)
	for {
		select {
		case <-feed.Ready:
			taken := feed.Take()
			for _, e := range taken.Values {
				if before, ok := last[e.Execution]; ok && e.Seq != before+1 {
					l.w.t.Errorf("the feed of %s has event %d after %d", e.Execution, e.Seq, before)
				}
				last[e.Execution] = e.Seq
			}
			if taken.Lost {
				clear(last)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// stop ends the life as a signal to the daemon does.
func (w *world) stop() {
	w.h.met.add("stop")
	l := w.down()
	for _, p := range l.moving {
		if err := p.stop(); err != nil {
			w.t.Errorf("stop: %v", err)
		}
	}
	err := l.writer.stop()
	w.h.ends(err != nil)
	if err != nil {
		if fault := sqliteError(0); !errors.As(err, &fault) {
			w.t.Errorf("stop the store: %v", err)
		}
	}
	w.follow(l)
}

// crash ends the life in the middle of what it does.
func (w *world) crash(r *rand.Rand) {
	l := w.current()
	l.faults.mu.Lock()
	l.faults.crashIn, l.faults.crashAt = 1+int(upTo(r, 40)), anyPoint
	if r.IntN(2) == 0 {
		l.faults.crashIn, l.faults.crashAt = 1+r.IntN(4), 1+r.IntN(afterCommit)
	}
	if r.IntN(2) == 0 {
		l.faults.copyTo = filepath.Join(w.folder, "life-"+strconv.Itoa(w.born), "kernel.db")
	}
	l.faults.mu.Unlock()
	for {
		select {
		case <-l.writer.done:
			w.down()
			w.h.ends(true)
			for _, p := range l.moving {
				_ = p.stop() // whatever they say of a store that died
			}
			w.follow(l)
			return
		case <-time.After(time.Duration(1+r.IntN(2000)) * time.Millisecond):
			_ = l.engine.Ready(context.Background()) // writes
		}
	}
}

// down takes the life away from its clients.
func (w *world) down() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.life
	w.life = nil
	return l
}

// follow makes the next life begin with what this one left.
func (w *world) follow(l *life) {
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	if l.faults.dead && l.faults.copyTo != "" {
		w.path = l.faults.copyTo
	}
}

// chaos stops and starts the service until it is calm.
func (w *world) chaos() {
	r := w.rand("chaos")
	for {
		select {
		case <-w.calmed:
			return
		case <-time.After(upTo(r, w.shape.horizon/2)):
		}
		switch r.IntN(6) {
		case 0:
			if w.shape.stops {
				if w.shape.full > 0 && r.IntN(2) == 0 { // the disk was full a moment ago
					w.fill(1)
					pause(upTo(r, 5*time.Second))
					w.fill(0)
				}
				w.stop()
				w.away(r)
			}
		case 1, 4:
			if w.shape.crashes {
				w.crash(r)
				w.away(r)
			}
		case 2:
			w.fill(w.shape.full * 5)
		case 3:
			w.fill(0)
		case 5: // longer than most leases: what lapses meanwhile cannot be written down
			if w.shape.full > 0 {
				w.fill(1)
				pause(10*time.Second + upTo(r, time.Minute))
				w.fill(0)
			}
		}
	}
}

func (w *world) fill(full float64) {
	l := w.current()
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	l.faults.full = full
}

// away is the time between two lives.
func (w *world) away(r *rand.Rand) {
	most := 5 * time.Second
	if r.IntN(5) == 0 {
		most = time.Hour
	}
	pause(upTo(r, most))
	w.start()
}
