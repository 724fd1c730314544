package bench

import (
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Schema is the version of the JSON of a [Report]. Within it fields are only added.
const Schema = "v0"

// Better says which way a figure improves.
type Better string

// The ways to improve. A figure without one is told and never judged.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
	Told   Better = ""
)

// Figure is one thing that was measured.
type Figure struct {
	Scenario string   `json:"scenario"` // steps, dispatch, …; machine for the machine's own
	Case     string   `json:"case"`     // of several of one scenario, such as c=16; may be empty
	Name     string   `json:"name"`     // such as submit p99
	Value    float64  `json:"value"`
	Unit     string   `json:"unit"`
	Better   Better   `json:"better"`
	Limit    *float64 `json:"limit"` // what the machine allows by itself, in the same unit; null: not known
	Ratio    *float64 `json:"ratio"` // value over limit
	Goal     *float64 `json:"goal"`  // the bound that the figure is meant to keep; null: none
}

// Key names a figure across reports.
func (f *Figure) Key() string {
	if f.Case == "" {
		return f.Scenario + ": " + f.Name
	}
	return f.Scenario + " " + f.Case + ": " + f.Name
}

// Met reports whether the figure keeps its goal; one without a goal does.
func (f *Figure) Met() bool {
	switch {
	case f.Goal == nil:
		return true
	case f.Better == Higher:
		return f.Value >= *f.Goal
	}
	return f.Value <= *f.Goal
}

// Machine is what the figures were taken on.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// Settings are what the load was told.
type Settings struct {
	Concurrency []int   `json:"concurrency"`
	Steps       int     `json:"steps"`   // an execution
	Payload     int     `json:"payload"` // bytes of args and of a result
	Seconds     float64 `json:"seconds"` // of one case
	Server      string  `json:"server"`  // address; empty: one of its own for each scenario
}

// Report is one run.
type Report struct {
	Schema   string    `json:"schema"`
	TakenAt  wire.Time `json:"taken_at"`
	Version  string    `json:"version"` // of the server
	Machine  Machine   `json:"machine"`
	Settings Settings  `json:"settings"`
	Figures  []Figure  `json:"figures"`
}

// Find is the figure of that key, or nil.
func (r *Report) Find(key string) *Figure {
	for i := range r.Figures {
		if r.Figures[i].Key() == key {
			return &r.Figures[i]
		}
	}
	return nil
}

// section adds the figures of one case of one scenario.
type section struct {
	report   *Report
	scenario string
	label    string
}

func (s section) add(name string, value float64, unit string, better Better, more ...func(*Figure)) {
	f := Figure{Scenario: s.scenario, Case: s.label, Name: name, Value: value, Unit: unit, Better: better}
	for _, m := range more {
		m(&f)
	}
	s.report.Figures = append(s.report.Figures, f)
}

// goal is a bound that is meant to be kept.
func goal(bound float64) func(*Figure) { return func(f *Figure) { f.Goal = &bound } }

// of is what the machine allows.
func of(limit float64) func(*Figure) {
	return func(f *Figure) {
		if limit > 0 {
			ratio := f.Value / limit
			f.Limit, f.Ratio = &limit, &ratio
		}
	}
}

// latency adds the percentiles of one operation, in milliseconds. The median
// and the 99th percentile are judged; the worst case of a run is told.
func (s section) latency(operation string, taken samples, more ...func(*Figure)) {
	if len(taken) == 0 {
		return
	}
	taken = taken.sorted()
	for _, q := range []struct {
		name   string
		at     float64
		better Better
	}{{"p50", 0.5, Lower}, {"p90", 0.9, Told}, {"p99", 0.99, Lower}, {"max", 1, Told}} {
		s.add(operation+" "+q.name, milliseconds(taken.quantile(q.at)), "ms", q.better, more...)
	}
}

// ofLatency is what the machine allows of a latency, percentile by percentile.
func ofLatency(limit samples) func(*Figure) {
	limit = limit.sorted()
	return func(f *Figure) {
		switch {
		case strings.HasSuffix(f.Name, " p50"):
			of(milliseconds(limit.quantile(0.5)))(f)
		case strings.HasSuffix(f.Name, " p99"):
			of(milliseconds(limit.quantile(0.99)))(f)
		}
	}
}

// bounds are the goals of a latency: of its median and of its 99th percentile,
// in milliseconds; zero: none.
func bounds(p50, p99 float64) func(*Figure) {
	return func(f *Figure) {
		switch {
		case p50 > 0 && strings.HasSuffix(f.Name, " p50"):
			f.Goal = &p50
		case p99 > 0 && strings.HasSuffix(f.Name, " p99"):
			f.Goal = &p99
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
