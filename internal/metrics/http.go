package metrics

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// route is what answers are counted by.
type route struct {
	pattern, method string
	status          int
}

// resolved are the collectors of one route.
type resolved struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// HTTP counts one answer. pattern is the route as it was registered, with its
// placeholders: a path would make a series of every id. "" is for requests that
// no route matched.
func (m *Metrics) HTTP(pattern, method string, status int, took time.Duration) {
	key := route{pattern, method, status}
	r, ok := (*m.routes.Load())[key]
	if !ok {
		r = m.resolve(key)
	}
	r.requests.Inc()
	r.duration.Observe(took.Seconds())
}

// resolve adds a route that was not seen before to a copy of the known ones, so
// that reading them needs no lock.
func (m *Metrics) resolve(key route) resolved {
	pattern, method := key.pattern, key.method
	if pattern == "" {
		pattern = "unmatched"
	}
	known := slices.Contains(methods, method)
	if !known {
		method = "other"
	}
	r := resolved{
		requests: m.requests.WithLabelValues(pattern, method, strconv.Itoa(key.status)),
		duration: m.durations.WithLabelValues(pattern, method),
	}
	if !known { // callers make methods up without end
		return r
	}
	m.newRoute.Lock()
	defer m.newRoute.Unlock()
	all := maps.Clone(*m.routes.Load())
	all[key] = r
	m.routes.Store(&all)
	return r
}
