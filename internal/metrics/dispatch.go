package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// dispatches counts what became of dispatches.
type dispatches struct {
	queued prometheus.Gauge
	claims prometheus.Counter
	waited prometheus.Histogram
	lapses prometheus.Counter

	acked, failed, lapsed, exhausted, discarded, restarted prometheus.Counter
}

func newDispatches(f factory) dispatches {
	attempts := f.counters("dispatch_attempts_total", "Attempts of dispatches, by what became of them.", "outcome")
	return dispatches{
		queued: f.gauge("dispatch_queue_depth", "Dispatches that wait to be claimed, due or not."),
		claims: f.counter("dispatch_claims_total", "Dispatches claimed for delivery."),
		waited: f.histogram("dispatch_queue_wait_seconds", "Time from when a dispatch was due to its claim.", queueBuckets),
		lapses: f.counter("lease_lapses_total", "Leases that lapsed because their agent went quiet."),
		acked:  attempts.WithLabelValues("acked"), failed: attempts.WithLabelValues("failed"), lapsed: attempts.WithLabelValues("lapsed"),
		exhausted: attempts.WithLabelValues("exhausted"), discarded: attempts.WithLabelValues("discarded"), restarted: attempts.WithLabelValues("restarted"),
	}
}

func (d *dispatches) committed(c *store.Committed) {
	if claim, ok := c.Command.(*kernel.ClaimDispatch); ok {
		d.queued.Dec()
		d.claims.Inc()
		d.waited.Observe(max(0, claim.At.Sub(c.Dispatch.NotBefore).Seconds()))
		return
	}
	joined := false // the queue
	for _, r := range c.Records {
		switch e := r.Event.Data.(type) { //nolint:gochecksumtype // what is not of dispatches does not count here
		case *kernel.DispatchQueued:
			joined = true
		case *kernel.DispatchAcked:
			d.acked.Inc()
		case *kernel.DeliveryFailed:
			joined = true
			d.fail(e)
		case *kernel.DeliveryDiscarded:
			d.queued.Dec()
			d.discarded.Inc()
		}
	}
	if joined && c.Dispatch.Status.Waiting() {
		d.queued.Inc()
	}
}

func (d *dispatches) fail(e *kernel.DeliveryFailed) {
	if e.Error == kernel.ReasonLeaseLapsed {
		d.lapses.Inc()
	}
	switch {
	case e.Status == kernel.DispatchExhausted:
		d.exhausted.Inc()
	case e.Error == kernel.ReasonLeaseLapsed:
		d.lapsed.Inc()
	case e.Error == kernel.ReasonRestarted:
		d.restarted.Inc()
	default:
		d.failed.Inc()
	}
}
