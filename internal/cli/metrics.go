package cli

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
)

// metric is one sample of the exposition format of Prometheus.
type metric struct {
	name   string
	labels map[string]string
	value  float64
}

// parseMetrics reads the samples of a text in the exposition format. What it
// cannot read it passes over: the figures adorn a table.
func parseMetrics(text []byte) (found []metric) {
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if m, ok := parseMetric(line); ok {
			found = append(found, m)
		}
	}
	return found
}

func parseMetric(line string) (m metric, ok bool) {
	m.labels = map[string]string{}
	end := strings.IndexAny(line, "{ ")
	if end < 0 {
		return m, false
	}
	m.name = line[:end]
	rest := line[end:]
	if rest[0] == '{' {
		i := strings.LastIndexByte(rest, '}')
		if i < 0 {
			return m, false
		}
		for pair := range strings.SplitSeq(rest[1:i], ",") { // our label values have no comma
			if name, value, ok := strings.Cut(pair, "="); ok {
				m.labels[name] = strings.Trim(value, `"`)
			}
		}
		rest = rest[i+1:]
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return m, false
	}
	var err error
	m.value, err = strconv.ParseFloat(fields[0], 64)
	return m, err == nil
}
