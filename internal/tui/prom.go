package tui

import (
	"strconv"
	"strings"
)

// samples are the values of a scrape, by name and labels as they are written.
type samples map[string]float64

// parseSamples reads the exposition format of Prometheus. Lines that it does
// not know are left out.
func parseSamples(b []byte) samples {
	s := samples{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, '}') + 1
		if i == 0 {
			i = strings.IndexAny(line, " \t")
		}
		if i <= 0 {
			continue
		}
		value, _, _ := strings.Cut(strings.TrimSpace(line[i:]), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			s[line[:i]] = v
		}
	}
	return s
}

// sum adds the samples of a metric whose labels hold all the given ones, each
// as name="value".
func (s samples) sum(name string, labels ...string) (total float64, ok bool) {
next:
	for k, v := range s {
		rest, found := strings.CutPrefix(k, name)
		if !found || rest != "" && rest[0] != '{' {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		total, ok = total+v, true
	}
	return total, ok
}

// quantile estimates a quantile of a histogram from what was added between two
// scrapes; ok is false when nothing was.
func quantile(old, now samples, name string, q float64) (v float64, ok bool) {
	prefix := name + "_bucket{"
	type bucket struct{ le, n float64 }
	byLE := map[float64]float64{}
	for k, n := range now {
		if !strings.HasPrefix(k, prefix) {
			continue
		}
		_, le, found := strings.Cut(k, `le="`)
		le, _, _ = strings.Cut(le, `"`)
		f, err := strconv.ParseFloat(le, 64)
		if !found || err != nil {
			continue
		}
		byLE[f] += n - old[k]
	}
	var bs []bucket
	for le, n := range byLE {
		bs = append(bs, bucket{le, n})
	}
	if len(bs) == 0 {
		return 0, false
	}
	sortBy(bs, func(b bucket) float64 { return b.le })
	want := bs[len(bs)-1].n * q
	if want <= 0 {
		return 0, false
	}
	low, below := 0.0, 0.0
	for _, b := range bs {
		if b.n >= want {
			if b.le > 1e300 || b.n == below {
				return low, true
			}
			return low + (b.le-low)*(want-below)/(b.n-below), true
		}
		low, below = b.le, b.n
	}
	return low, true
}
