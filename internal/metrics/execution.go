package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// place is where an execution stood before an operation, which the operation
// itself does not tell.
type place uint8

const (
	running place = iota // the zero value: an open execution that is not known to stand elsewhere
	pending
	onSignal
	onApproval
	nowhere // it does not exist yet, or has ended
)

func (p place) status() kernel.Status {
	switch p {
	case pending:
		return kernel.StatusPending
	case onSignal, onApproval:
		return kernel.StatusBlocked
	case running, nowhere:
	}
	return kernel.StatusRunning
}

// executions counts executions. It knows where each open one stands that is
// not running; the writer alone uses it.
type executions struct {
	now     []prometheus.Gauge // by status
	created prometheus.Counter
	ended   []prometheus.Counter // by status
	open    map[kernel.ExecutionID]place
}

func newExecutions(f factory) executions {
	now := f.gauges("executions", "Executions that are stored, by status.", "status")
	ended := f.counters("executions_ended_total", "Executions that ended.", "status")
	e := executions{
		now:     make([]prometheus.Gauge, kernel.StatusCancelled+1),
		ended:   make([]prometheus.Counter, kernel.StatusCancelled+1),
		created: f.counter("executions_created_total", "Executions created."),
		open:    make(map[kernel.ExecutionID]place),
	}
	for _, s := range kernel.Statuses() {
		e.now[s] = now.WithLabelValues(s.String())
		if s.Terminal() {
			e.ended[s] = ended.WithLabelValues(s.String())
		}
	}
	return e
}

// moves are the events that move executions, and where to.
var moves = [...]struct {
	to     place
	status kernel.Status // 0: the event moves nothing
}{
	kernel.TypeExecutionCreated:   {pending, kernel.StatusPending},
	kernel.TypeExecutionStarted:   {running, kernel.StatusRunning},
	kernel.TypeExecutionBlocked:   {onApproval, kernel.StatusBlocked}, // or on a signal
	kernel.TypeExecutionResumed:   {running, kernel.StatusRunning},
	kernel.TypeExecutionCompleted: {nowhere, kernel.StatusCompleted},
	kernel.TypeExecutionFailed:    {nowhere, kernel.StatusFailed},
	kernel.TypeExecutionCancelled: {nowhere, kernel.StatusCancelled},
}

// committed moves an execution from where it stood before an operation to where
// it stands afterwards, whatever lies between.
func (e *executions) committed(c *store.Committed, a *approvals) {
	before, known := place(0), false
	after, status := place(0), kernel.Status(0)
	for _, r := range c.Records {
		t := r.Event.Type()
		if int(t) >= len(moves) || moves[t].status == 0 {
			continue
		}
		if !known {
			if before, known = e.open[c.Execution], true; t == kernel.TypeExecutionCreated {
				before = nowhere
			}
		}
		after, status = moves[t].to, moves[t].status
		if d, ok := r.Event.Data.(*kernel.ExecutionBlocked); ok && d.Reason == kernel.BlockedOnSignal {
			after = onSignal
		}
	}
	if !known {
		return
	}
	e.move(c.Execution, before, after, status)
	if status.Terminal() && before == onApproval {
		a.cancelled()
	}
}

func (e *executions) move(id kernel.ExecutionID, before, after place, status kernel.Status) {
	if before == nowhere {
		e.created.Inc()
	} else {
		e.now[before.status()].Dec()
	}
	e.now[status].Inc()
	if status.Terminal() {
		e.ended[status].Inc()
	}
	if after == running || after == nowhere {
		delete(e.open, id)
	} else {
		e.open[id] = after
	}
}
