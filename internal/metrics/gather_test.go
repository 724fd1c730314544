package metrics_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/agentkernel/kernelctl/internal/metrics"
)

// gather is what a scrape sees: values by name and labels, histograms as their counts.
func gather(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			all[series(f, s)] = sample(f, s)
		}
	}
	return all
}

func series(f *dto.MetricFamily, s *dto.Metric) string {
	var labels []string
	for _, l := range s.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	if len(labels) == 0 {
		return f.GetName()
	}
	return f.GetName() + "{" + strings.Join(labels, ",") + "}"
}

func sample(f *dto.MetricFamily, s *dto.Metric) float64 {
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		return s.GetCounter().GetValue()
	case dto.MetricType_GAUGE:
		return s.GetGauge().GetValue()
	default:
		return float64(s.GetHistogram().GetSampleCount())
	}
}

// want compares some series; it names all that differ.
func want(t *testing.T, m *metrics.Metrics, expected map[string]float64) {
	t.Helper()
	got := gather(t, m)
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if v, ok := got[name]; !ok || v != expected[name] {
			t.Errorf("%s = %v (there: %t), want %v", name, v, ok, expected[name])
		}
	}
}
