package torture

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// load is what clients and people do.
type load struct {
	seed   uint64
	rate   float64       // steps a second
	every  time.Duration // an execution is created
	api    *client.Client
	ledger *ledger
	next   atomic.Int64 // number of the next execution
}

func newLoad(o *Options, api *client.Client, l *ledger) *load {
	every := time.Duration(float64(time.Second) * meanSteps(o.Seed) / o.Rate)
	return &load{seed: o.Seed, rate: o.Rate, every: every, api: api, ledger: l}
}

// sessions bounds how many clients are at work; more would only wait.
const sessions = 128

// run creates executions at a fixed rate, as long as the service keeps up, and
// decides approvals, until ctx ends.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { l.approver(ctx) })
	free := make(chan struct{}, sessions)
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if l.ledger.live() > max(64, int(2*l.rate)) {
			continue // it does not keep up
		}
		select {
		case free <- struct{}{}:
		default:
			continue
		}
		n := int(l.next.Add(1))
		all.Go(func() {
			defer func() { <-free }()
			l.client(ctx, n)
		})
	}
}

// client creates the n-th execution, sends it signals, and may cancel it.
func (l *load) client(ctx context.Context, n int) {
	p := drawProgram(l.seed, n)
	id, ok := l.create(ctx, n, &p)
	if !ok {
		return
	}
	var all sync.WaitGroup
	for i, after := range p.signals {
		all.Go(func() {
			if client.Sleep(ctx, after) == nil {
				l.signal(ctx, id, i)
			}
		})
	}
	if p.cancel > 0 && client.Sleep(ctx, p.cancel) == nil {
		_ = l.cancel(ctx, id)
	}
	all.Wait()
}

// create creates an execution, again with the same key until it is answered, and
// sometimes once more after that.
func (l *load) create(ctx context.Context, n int, p *program) (id string, ok bool) {
	r := source(l.seed, "create", n)
	in := encode(input{Program: n, Text: drawText(r)})
	req := wire.CreateExecution{AgentID: agentOf(n), Input: in, Labels: map[string]string{"program": strconv.Itoa(n % 10)}}
	if p.timeout > 0 {
		req.TimeoutSeconds = &p.timeout
	}
	key := fmt.Sprintf("create-%d", n)
	for range 1 + r.IntN(10)/9 {
		began := time.Now()
		var x wire.Execution
		err := insist(ctx, func() (err error) {
			x, _, err = l.api.CreateExecution(ctx, req, key)
			return l.ledger.judge("a create", err)
		})
		if err != nil {
			return id, ok
		}
		l.ledger.created(key, in, p, &x, began)
		id, ok = x.ID, true
	}
	return id, ok
}

func (l *load) signal(ctx context.Context, id string, i int) {
	began := time.Now()
	var got wire.SignalAccepted
	err := insist(ctx, func() (err error) {
		got, err = l.api.SendSignal(ctx, id, wire.Signal{SignalType: signalType, Payload: encode(i)}, strconv.Itoa(i))
		return l.ledger.judge("a signal", err)
	})
	if err == nil {
		l.ledger.signalled(id, got.SignalID, began)
	}
}

// cancel cancels an execution. What becomes of a cancel that was not answered
// shows in the record.
func (l *load) cancel(ctx context.Context, id string) error {
	l.ledger.ends(id)
	began := time.Now()
	err := insist(ctx, func() error { return l.ledger.judge("a cancel", l.api.CancelExecution(ctx, id)) })
	if err == nil {
		l.ledger.ended(id, cancelled(), began)
	}
	return err
}

// approver looks after the approvals until ctx ends.
func (l *load) approver(ctx context.Context) {
	for client.Sleep(ctx, 100*time.Millisecond) == nil {
		pending, err := l.api.ListApprovals(ctx, client.ApprovalFilter{Limit: 200})
		if err != nil {
			continue
		}
		var all sync.WaitGroup
		for i := range pending {
			all.Go(func() { l.decide(ctx, &pending[i]) })
		}
		all.Wait()
	}
}

// decide grants, denies, leaves to the clock, or has two people disagree.
func (l *load) decide(ctx context.Context, a *wire.Approval) {
	var all sync.WaitGroup
	defer all.Wait()
	judge := func(by string, status wire.ApprovalStatus) {
		send := l.api.GrantApproval
		if status == wire.ApprovalDenied {
			send = l.api.DenyApproval
		}
		began := time.Now()
		if l.ledger.judge("a decision", send(ctx, a.ID, wire.DecideApproval{DecidedBy: by})) == nil {
			l.ledger.judged(a.ExecutionID, a.ID, verdict{status, by}, began)
		}
	}
	switch n := source(l.seed, "decide", a.ID).IntN(10); n {
	case 0, 1: // it expires
	case 2:
		all.Go(func() { judge("alice", wire.ApprovalGranted) })
		all.Go(func() { judge("bob", wire.ApprovalDenied) })
	case 3:
		judge("bob", wire.ApprovalDenied)
	default:
		judge("alice", wire.ApprovalGranted)
	}
}
