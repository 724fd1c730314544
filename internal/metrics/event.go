package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// perEvent are the counters of all types of event, by type.
func perEvent(vec *prometheus.CounterVec) []prometheus.Counter {
	all := []prometheus.Counter{prometheus.NewCounter(prometheus.CounterOpts{})} // of no type: counts nowhere
	for _, t := range kernel.EventTypes() {
		all = append(all, vec.WithLabelValues(t.String()))
	}
	return all
}
