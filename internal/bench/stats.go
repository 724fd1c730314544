package bench

import (
	"slices"
	"time"
)

// samples are how long an operation took, each time.
type samples []time.Duration

// sorted is a sorted copy.
func (s samples) sorted() samples {
	c := slices.Clone(s)
	slices.Sort(c)
	return c
}

// quantile is the smallest sample that at least the share q of all is not
// above (the nearest rank); zero of none. The samples are sorted.
func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	rank := int(q*float64(len(s)) + 0.999999)
	return s[min(max(rank, 1), len(s))-1]
}

// mean is the mean; zero of none.
func (s samples) mean() time.Duration {
	if len(s) == 0 {
		return 0
	}
	var sum time.Duration
	for _, d := range s {
		sum += d
	}
	return sum / time.Duration(len(s))
}

// closedLoop is how many steps a second so many callers can make at most, when
// each waits for one request after another: a step is two requests (submit and
// complete) and each of them a flush. Callers share flushes but not the CPU, so
// the bound is the smaller of what they can wait for and what HTTP can carry.
func closedLoop(callers int, request, flush time.Duration, requestsPerSecond float64) float64 {
	waiting := float64(callers) / (2 * (request + flush)).Seconds()
	return min(waiting, requestsPerSecond/2)
}
