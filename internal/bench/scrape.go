package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sort"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"
)

const databaseBytes = "kernelctl_db_bytes"

// scrape is what the server says of itself at one moment.
type scrape map[string]*dto.MetricFamily

func (t *target) scrape(ctx context.Context) (scrape, error) {
	body, err := t.api.Metrics(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the server's metrics: %w", err)
	}
	p := expfmt.NewTextParser(prometheus.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the server's metrics: %w", err)
	}
	return families, nil
}

// sum is the sum of a counter or a gauge over all its labels.
func (s scrape) sum(name string) (total float64) {
	for _, m := range s[name].GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}

// cpu is the processor time that the server has used so far.
func (s scrape) cpu() time.Duration {
	return time.Duration(s.sum("process_cpu_seconds_total") * float64(time.Second))
}

// rss is the server's resident memory in bytes.
func (s scrape) rss() float64 { return s.sum("process_resident_memory_bytes") }

// disk is the size of the database and of the log before it, in bytes.
func (s scrape) disk() float64 { return s.sum(databaseBytes) + s.sum("kernelctl_wal_bytes") }

// histogram is what one was told between two scrapes.
type histogram struct {
	count, sum float64
	bounds     []float64 // upper, ascending
	below      []float64 // how many were at most the bound
}

// since is what a histogram without labels was told since an earlier scrape.
func (s scrape) since(old scrape, name string) histogram {
	var h histogram
	find := func(s scrape) *dto.Histogram {
		if m := s[name].GetMetric(); len(m) > 0 {
			return m[0].GetHistogram()
		}
		return nil
	}
	before, now := find(old), find(s)
	h.count = float64(now.GetSampleCount()) - float64(before.GetSampleCount())
	h.sum = now.GetSampleSum() - before.GetSampleSum()
	for i, b := range now.GetBucket() {
		n := float64(b.GetCumulativeCount())
		if old := before.GetBucket(); i < len(old) {
			n -= float64(old[i].GetCumulativeCount())
		}
		h.bounds, h.below = append(h.bounds, b.GetUpperBound()), append(h.below, n)
	}
	return h
}

func (h histogram) mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / h.count
}

// quantile estimates a quantile as Prometheus does: linear within its bucket.
func (h histogram) quantile(q float64) float64 {
	rank := q * h.count
	i := sort.Search(len(h.below), func(i int) bool { return h.below[i] >= rank })
	switch {
	case h.count == 0 || len(h.bounds) == 0:
		return 0
	case i == len(h.bounds) || math.IsInf(h.bounds[i], 1): // above the last bound: it is all that is known
		return h.bounds[max(0, min(i, len(h.bounds)-1)-1)]
	}
	low, under := 0.0, 0.0
	if i > 0 {
		low, under = h.bounds[i-1], h.below[i-1]
	}
	return low + (h.bounds[i]-low)*(rank-under)/(h.below[i]-under)
}
