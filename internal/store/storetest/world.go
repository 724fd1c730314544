package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// world is an open store with the model of everything that was done to it. One
// goroutine uses it.
type world struct {
	t      TB
	d      Driver
	opts   Options
	base   string // folders are made in here
	folder string // that holds the store
	count  int

	store store.Store
	end   context.CancelFunc
	ended chan error

	faulty     bool // the store was made to fail: do takes that for an answer
	began, now kernel.Instant
	seeds      uint64
	pos        int64
	models     []*model
	bodies     map[int64][]byte
	buckets    map[string]*kernel.Bucket
	approvals  []*store.Approval
	agents     map[kernel.AgentID]*store.Agent

	mu        sync.Mutex
	committed []store.Committed
}

// newWorld opens a new store below base with one agent, and runs it.
func newWorld(t TB, d Driver, base string, opts Options) *world {
	t.Helper()
	w := newWorldIn(t, d, subfolder(t, base, 1), opts)
	w.base, w.count = base, 1
	return w
}

// newWorldIn is newWorld in the folder itself, which is the only one.
func newWorldIn(t TB, d Driver, folder string, opts Options) *world {
	t.Helper()
	w := &world{
		t: t, d: d, opts: opts, folder: folder, now: kernel.At(time.Now()),
		bodies: map[int64][]byte{}, buckets: map[string]*kernel.Bucket{}, agents: map[kernel.AgentID]*store.Agent{},
	}
	w.began = w.now
	w.open()
	w.putAgent("mailer")
	return w
}

func (w *world) newFolder() string {
	w.count++
	return subfolder(w.t, w.base, w.count)
}

// subfolder makes the n-th folder in base.
func subfolder(t TB, base string, n int) string {
	t.Helper()
	folder := filepath.Join(base, strconv.Itoa(n))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	return folder
}

func (w *world) open() {
	w.t.Helper()
	opts := w.opts
	opts.OnCommit = func(c []store.Committed) {
		w.mu.Lock()
		w.committed = append(w.committed, c...)
		w.mu.Unlock()
		if w.opts.OnCommit != nil {
			w.opts.OnCommit(c)
		}
	}
	s, err := w.d.Open(context.Background(), w.folder, opts)
	if err != nil {
		w.t.Fatalf("open the store: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w.store, w.end, w.ended = s, cancel, ended
}

// close ends the store in an orderly way.
func (w *world) close() {
	w.t.Helper()
	if w.end == nil {
		return
	}
	w.end()
	w.end = nil
	if err := <-w.ended; err != nil {
		w.t.Errorf("Run: %v, want nil after an orderly end", err)
	}
}

// restart ends the store in an orderly way and opens it again.
func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.reopen()
}

// reopen is open after an orderly end.
func (w *world) reopen() {
	w.t.Helper()
	w.open()
	for _, m := range w.models {
		m.fresh = true
	}
}

// kill goes on with what a kill at this moment leaves.
func (w *world) kill() {
	w.t.Helper()
	to := w.newFolder()
	if err := w.d.Copy(w.folder, to); err != nil {
		w.t.Fatalf("copy the store: %v", err)
	}
	w.close()
	w.folder = to
	w.open()
	for _, m := range w.models {
		m.fresh, m.crash = true, true
	}
}

func (w *world) advance(d time.Duration) { w.now = w.now.Add(d) }

// seed is different every time and the same in every run.
func (w *world) seed() (seed [10]byte) {
	w.seeds++
	binary.BigEndian.PutUint64(seed[:8], w.seeds*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint16(seed[8:], uint16(w.seeds*0xc2b2))
	return seed
}

// outcome is what a command came to.
type outcome struct {
	Answer  kernel.Answer
	Events  []kernel.Event
	Refusal *kernel.Rejection
}

// do carries a command out in the store and in the model, which must agree.
func (w *world) do(m *model, c kernel.Command) outcome {
	w.t.Helper()
	out, err := w.try(m, c)
	if err != nil && !w.tolerates(err) {
		w.t.Fatalf("%T: %v", c, err)
	}
	return out
}

// try is do for a store that may fail. The model keeps only what did not.
func (w *world) try(m *model, c kernel.Command) (outcome, error) {
	w.t.Helper()
	if err := w.tryAdopt(m); err != nil {
		return outcome{}, err
	}
	op := w.plan(m, c)
	if err := w.store.Update(context.Background(), op.closure, store.BodyOf(m.id, c)); err != nil {
		return outcome{}, err
	}
	return w.settle(op), nil
}

// tolerates reports whether an error is one that a fault of the test explains.
func (w *world) tolerates(err error) bool { return w.faulty && errors.Is(err, store.ErrUnavailable) }

// operation is a command under way.
type operation struct {
	w    *world
	m    *model
	c    kernel.Command
	at   kernel.Instant
	seed [10]byte
	plan kernel.Plan // the model's
	want outcome
	got  outcome
}

// plan has the model decide. Between plan and settle the model stays as it is.
func (w *world) plan(m *model, c kernel.Command) *operation {
	op := &operation{w: w, m: m, c: c, at: w.at(m), seed: w.seed()}
	kernel.Stamp(c, op.at, op.seed)
	switch c := c.(type) {
	case *kernel.SubmitStep:
		if c.Ruling.Limit != nil {
			c.Bucket = w.bucket(w.bucketName(m, c))
		}
	case *kernel.DecideApproval:
		c.Approval = w.approval(c.Approval.ID).ApprovalFacts
	}
	plan, err := kernel.Decide(&m.state, &m.lease, c)
	op.plan, op.want = plan, outcome{Answer: plan.Answer, Events: plan.Events, Refusal: refusal(err)}
	return op
}

// at is the moment of the next command on m.
func (w *world) at(m *model) kernel.Instant { return max(w.now, m.state.UpdatedAt) }

// closure is what the store runs.
func (op *operation) closure(tx store.Tx) error {
	op.got = outcome{}
	id := op.m.id
	c := op.c
	if decide, ok := c.(*kernel.DecideApproval); ok {
		execution, facts, err := tx.Approval(decide.Approval.ID)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(decide.Approval, facts, equal...); diff != "" || execution != id {
			op.w.t.Errorf("Approval(%s) = %s, want %s; facts (-want +got):\n%s", decide.Approval.ID, execution, id, diff)
		}
	}
	s, l, err := tx.Load(id)
	if err != nil {
		return err
	}
	kernel.Stamp(c, op.at, op.seed)
	submit, _ := c.(*kernel.SubmitStep)
	if submit != nil && submit.Ruling.Limit != nil {
		name := store.BucketName(submit.Ruling.Limit.Scope, s.No, s.Agent, submit.Ruling.Rule)
		if submit.Bucket, err = tx.Bucket(name, submit.Ruling.Limit); err != nil {
			return err
		}
	}
	plan, err := kernel.Decide(s, l, c)
	op.got = outcome{Answer: plan.Answer, Events: plan.Events, Refusal: refusal(err)}
	if err != nil && len(plan.Events) == 0 {
		return nil
	}
	if err := tx.Save(s, l, c, &plan); err != nil {
		return err
	}
	if submit != nil && plan.Slot {
		name := store.BucketName(submit.Ruling.Limit.Scope, s.No, s.Agent, submit.Ruling.Rule)
		return tx.UseSlot(name, submit.Ruling.Limit, submit.At)
	}
	return nil
}

// settle brings the model up to date and compares.
func (w *world) settle(op *operation) outcome {
	w.t.Helper()
	if op.want.Refusal == nil || len(op.want.Events) > 0 {
		op.m.save(w, &op.plan)
		if submit, ok := op.c.(*kernel.SubmitStep); ok && op.plan.Slot {
			w.bucket(w.bucketName(op.m, submit)).Take(submit.Ruling.Limit, op.at)
		}
	}
	if diff := cmp.Diff(op.want, op.got, equal...); diff != "" {
		w.t.Fatalf("%T in the store (-model +store):\n%s", op.c, diff)
	}
	return op.got
}

func refusal(err error) *kernel.Rejection {
	var r *kernel.Rejection
	errors.As(err, &r)
	return r
}

func (w *world) bucketName(m *model, c *kernel.SubmitStep) string {
	return store.BucketName(c.Ruling.Limit.Scope, m.state.No, m.state.Agent, c.Ruling.Rule)
}

func (w *world) bucket(name string) *kernel.Bucket {
	if w.buckets[name] == nil {
		w.buckets[name] = &kernel.Bucket{}
	}
	return w.buckets[name]
}
