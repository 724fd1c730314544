package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// approvals counts what became of approvals.
type approvals struct {
	pending   prometheus.Gauge
	requested prometheus.Counter
	wait      prometheus.Histogram
	decided   []prometheus.Counter // by status
}

func newApprovals(f factory) approvals {
	decided := f.counters("approvals_decided_total", "Approvals that are not pending any more.", "verdict")
	a := approvals{
		pending:   f.gauge("approvals_pending", "Approvals that wait for a decision."),
		requested: f.counter("approvals_requested_total", "Approvals requested."),
		wait:      f.histogram("approval_wait_seconds", "Time from a request to its grant, denial or expiry.", approvalBuckets),
		decided:   make([]prometheus.Counter, kernel.ApprovalStatusCancelled+1),
	}
	for s := kernel.ApprovalStatusGranted; s <= kernel.ApprovalStatusCancelled; s++ {
		a.decided[s] = decided.WithLabelValues(s.String())
	}
	return a
}

func (a *approvals) count(e *kernel.Event) {
	switch d := e.Data.(type) { //nolint:gochecksumtype // what is not of approvals does not count here
	case *kernel.ApprovalRequested:
		a.requested.Inc()
		a.pending.Inc()
	case *kernel.ApprovalGranted:
		a.verdict(kernel.ApprovalStatusGranted, d.Approval, e.At)
	case *kernel.ApprovalDenied:
		a.verdict(kernel.ApprovalStatusDenied, d.Approval, e.At)
	case *kernel.ApprovalExpired:
		a.verdict(kernel.ApprovalStatusExpired, d.Approval, e.At)
	}
}

func (a *approvals) verdict(s kernel.ApprovalStatus, id kernel.ApprovalID, at kernel.Instant) {
	a.pending.Dec()
	a.decided[s].Inc()
	a.wait.Observe(max(0, at.Sub(mintedAt(id.UUID)).Seconds()))
}

// cancelled is for an approval whose execution ended, which has no event of its own.
func (a *approvals) cancelled() {
	a.pending.Dec()
	a.decided[kernel.ApprovalStatusCancelled].Inc()
}

// mintedAt is the moment that a version 7 id was made at, to the millisecond
// (RFC 9562 §5.7): an approval's is that of its request.
func mintedAt(id kernel.UUID) kernel.Instant {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return kernel.At(time.UnixMilli(ms))
}
