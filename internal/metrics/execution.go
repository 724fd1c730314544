package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// executions counts executions.
type executions struct {
	now     []prometheus.Gauge // by status
	created prometheus.Counter
	ended   []prometheus.Counter // by status
}

func newExecutions(f factory) executions {
	now := f.gauges("executions", "Executions that are stored, by status.", "status")
	ended := f.counters("executions_ended_total", "Executions that ended.", "status")
	e := executions{
		now:     make([]prometheus.Gauge, kernel.StatusCancelled+1),
		ended:   make([]prometheus.Counter, kernel.StatusCancelled+1),
		created: f.counter("executions_created_total", "Executions created."),
	}
	for _, s := range kernel.Statuses() {
		e.now[s] = now.WithLabelValues(s.String())
		if s.Terminal() {
			e.ended[s] = ended.WithLabelValues(s.String())
		}
	}
	return e
}

// committed moves an execution from where it stood before an operation to where
// it stands afterwards, whatever lies between.
func (e *executions) committed(c *store.Committed, a *approvals) {
	if c.Before == c.Status {
		return
	}
	if c.Before == 0 {
		e.created.Inc()
	} else {
		e.now[c.Before].Dec()
	}
	e.now[c.Status].Inc()
	if !c.Status.Terminal() {
		return
	}
	e.ended[c.Status].Inc()
	if c.WaitedFor == kernel.BlockedOnApproval {
		a.cancelled()
	}
}
