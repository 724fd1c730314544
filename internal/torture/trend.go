package torture

import (
	"math"
	"slices"
)

// median is the middle of values, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// largest is the largest of values, 0 of none.
func largest(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}

// mean is the mean of values, 0 of none.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// slope is the Theil–Sen estimate of how values taken in equal distances grow
// from one to the next: the median over all pairs, which single spikes do not move.
func slope(values []float64) float64 {
	var all []float64
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			all = append(all, (values[j]-values[i])/float64(j-i))
		}
	}
	return median(all)
}

// bound is how much something may move in the second half of a soak and count
// as flat: a share of its mean, or what it moves by itself, whichever is more.
type bound struct {
	name  string
	share float64
	least float64
	falls bool // growing is fine, and falling is not
}

// Trend is how something developed in the second half of a soak.
type Trend struct {
	Name   string  `json:"name"`
	Mean   float64 `json:"mean"`   // in the second half
	Growth float64 `json:"growth"` // from its beginning to its end, by the slope
	Bound  float64 `json:"bound"`  // of the growth
	Flat   bool    `json:"flat"`
}

// trend judges the second half of values.
func (b *bound) trend(values []float64) Trend {
	half := values[len(values)/2:]
	t := Trend{Name: b.name, Mean: mean(half), Growth: slope(half) * float64(max(0, len(half)-1))}
	t.Bound = math.Max(b.share*t.Mean, b.least)
	t.Flat = t.Growth <= t.Bound
	if b.falls {
		t.Flat = t.Growth >= -t.Bound
	}
	return t
}
