package metrics

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/version"
)

// Metrics are the service's metrics.
type Metrics struct {
	registry *prometheus.Registry

	executions executions
	steps      steps
	dispatches dispatches
	approvals  approvals
	events     []prometheus.Counter // by type
	submits    submits
	policy     prometheus.Histogram
	batches    batches
	sources    atomic.Pointer[Sources]

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	routes    atomic.Pointer[map[route]resolved]
	newRoute  sync.Mutex
}

var _ store.Stats = (*Metrics)(nil)

// New is a set of metrics that nothing feeds yet.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	f := factory{promauto.With(m.registry)}
	m.executions = newExecutions(f)
	m.steps = newSteps(f)
	m.dispatches = newDispatches(f)
	m.approvals = newApprovals(f)
	m.submits = newSubmits(f)
	m.batches = newBatches(f)
	m.events = perEvent(f.counters("events_total", "Events committed.", "type"))
	m.policy = f.histogram("policy_evaluation_seconds", "Time a policy took to rule on a step.", policyBuckets)
	m.requests = f.counters("http_requests_total", "HTTP requests answered.", "route", "method", "status")
	m.durations = f.histograms("http_request_duration_seconds", "Time from a request to the end of its answer.", httpBuckets, "route", "method")
	m.watchSources(f)
	m.routes.Store(&map[route]resolved{})
	built := version.Get()
	f.gauges("build_info", "The build; always 1.", "version", "commit", "go").WithLabelValues(built.Version, built.Commit, built.Go).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registry is where the metrics are, for who wants to add some.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Handler answers GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

const maxScrapes = 8 // at once; more are answered 503

// Committed counts what was stored. The store's writer calls it, after each
// commit and in commit order; nobody else may at the same time.
func (m *Metrics) Committed(batch []store.Committed) {
	for i := range batch {
		c := &batch[i]
		m.executions.committed(c, &m.approvals)
		m.dispatches.committed(c)
		_, verdict := c.Command.(*kernel.DecideApproval)
		for _, r := range c.Records {
			m.events[r.Event.Type()].Inc()
			m.steps.count(r.Event.Data, verdict)
			m.approvals.count(r.Event)
		}
	}
}

// Ruled tells how long a policy took to rule on a step.
func (m *Metrics) Ruled(took time.Duration) { m.policy.Observe(took.Seconds()) }

// Decided counts the answer to a submit. Most of what is answered without a
// commit is a replay, which only this shows.
func (m *Metrics) Decided(kind kernel.StepKind, d kernel.Decision) { m.submits.count(kind, d) }

// batches describe the writer's work.
type batches struct {
	operations, apply, commit prometheus.Histogram
}

func newBatches(f factory) batches {
	return batches{
		operations: f.histogram("store_batch_operations", "Operations in one commit.", batchBuckets),
		apply:      f.histogram("store_apply_seconds", "Time the operations of one batch took, without the commit.", storeBuckets),
		commit:     f.histogram("store_commit_seconds", "Time a commit took to be durable.", storeBuckets),
	}
}

// Batch implements [store.Stats].
func (m *Metrics) Batch(operations int, apply, commit time.Duration, wrote bool) {
	m.batches.apply.Observe(apply.Seconds())
	if wrote { // the others cost no flush
		m.batches.operations.Observe(float64(operations))
		m.batches.commit.Observe(commit.Seconds())
	}
}
