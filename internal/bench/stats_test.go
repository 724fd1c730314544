package bench

import (
	"bytes"
	"compress/flate"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make(samples, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond
	}
	for _, tt := range []struct {
		of   samples
		at   float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{samples{7}, 0.5, 7},
		{samples{7}, 1, 7},
		{samples{2, 1}, 0.5, 1},
		{samples{3, 1, 2}, 0.5, 2},
		{hundred, 0, time.Millisecond},
		{hundred, 0.5, 50 * time.Millisecond},
		{hundred, 0.9, 90 * time.Millisecond},
		{hundred, 0.99, 99 * time.Millisecond},
		{hundred, 1, 100 * time.Millisecond},
	} {
		if got := tt.of.sorted().quantile(tt.at); got != tt.want {
			t.Errorf("quantile %v of %d samples = %v, want %v", tt.at, len(tt.of), got, tt.want)
		}
	}
	if hundred[0] != 100*time.Millisecond {
		t.Error("sorting changed what was given")
	}
	if got := hundred.mean(); got != 50500*time.Microsecond {
		t.Errorf("mean %v, want 50.5ms", got)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	const request, flush = 60 * time.Microsecond, 100 * time.Microsecond
	for _, tt := range []struct {
		callers int
		http    float64
		want    float64
	}{
		{1, 16_000, 3125},   // it waits twice for a request and a flush
		{2, 30_000, 6250},   // so do two, side by side
		{64, 70_000, 35000}, // the CPU is the limit: two requests a step
	} {
		if got := closedLoop(tt.callers, request, flush, tt.http); math.Abs(got-tt.want) > 1 {
			t.Errorf("%d callers over %.0f requests/s: %.0f steps/s, want %.0f", tt.callers, tt.http, got, tt.want)
		}
	}
}

// exposition is a histogram as a server shows it.
func exposition(t *testing.T, counts [4]string, sum string) scrape {
	t.Helper()
	p := expfmt.NewTextParser(prometheus.LegacyValidation)
	s, err := p.TextToMetricFamilies(strings.NewReader("# TYPE h histogram\n" +
		`h_bucket{le="1"} ` + counts[0] + "\n" + `h_bucket{le="2"} ` + counts[1] + "\n" + `h_bucket{le="4"} ` + counts[2] + "\n" +
		`h_bucket{le="+Inf"} ` + counts[3] + "\nh_sum " + sum + "\nh_count " + counts[3] + "\n" +
		"# TYPE g gauge\n" + `g{a="1"} 2` + "\n" + `g{a="2"} 3` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	before := exposition(t, [4]string{"5", "5", "5", "5"}, "5")
	now := exposition(t, [4]string{"5", "15", "25", "25"}, "60")
	h := now.since(before, "h") // ten of 1 to 2, ten of 2 to 4
	if h.count != 20 || h.mean() != 2.75 {
		t.Errorf("count %v, mean %v; want 20 and 2.75", h.count, h.mean())
	}
	for q, want := range map[float64]float64{0.25: 1.5, 0.5: 2, 0.75: 3, 1: 4} {
		if got := h.quantile(q); got != want {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if got := exposition(t, [4]string{"0", "0", "0", "3"}, "30").since(scrape{}, "h").quantile(0.5); got != 4 {
		t.Errorf("above all bounds the quantile is %v, want the last bound 4", got)
	}
	if got := now.since(now, "h"); got.mean() != 0 || got.quantile(0.5) != 0 {
		t.Errorf("nothing happened, and mean and median are %v and %v", got.mean(), got.quantile(0.5))
	}
	if got := now.since(before, "unknown").quantile(0.5); got != 0 {
		t.Errorf("of what there is not the median is %v", got)
	}
	if got := now.sum("g"); got != 5 {
		t.Errorf("sum of a gauge %v, want 5", got)
	}
}

func report(figures ...Figure) *Report { return &Report{Figures: figures} }

func TestCompare(t *testing.T) {
	t.Parallel()
	before := report(
		Figure{Scenario: "steps", Case: "c=1", Name: "throughput", Value: 1000, Unit: "steps/s", Better: Higher},
		Figure{Scenario: "steps", Case: "c=1", Name: "submit p99", Value: 2, Unit: "ms", Better: Lower},
		Figure{Scenario: "steps", Case: "c=1", Name: "submit max", Value: 3, Unit: "ms"},
		Figure{Scenario: "idle", Name: "CPU", Value: 0, Unit: "%", Better: Lower},
		Figure{Scenario: "live", Name: "RSS", Value: 5, Unit: "MiB", Better: Lower},
	)
	type verdict struct {
		known, worse bool
	}
	for _, tt := range []struct {
		name  string
		f     Figure
		want  verdict
		times float64
	}{
		{"a tenth slower is within", Figure{Scenario: "steps", Case: "c=1", Name: "throughput", Value: 900, Unit: "steps/s", Better: Higher}, verdict{known: true}, 0.9},
		{"a third slower is not", Figure{Scenario: "steps", Case: "c=1", Name: "throughput", Value: 660, Unit: "steps/s", Better: Higher}, verdict{true, true}, 0.66},
		{"twice as quick", Figure{Scenario: "steps", Case: "c=1", Name: "throughput", Value: 2000, Unit: "steps/s", Better: Higher}, verdict{known: true}, 2},
		{"waits longer", Figure{Scenario: "steps", Case: "c=1", Name: "submit p99", Value: 2.5, Unit: "ms", Better: Lower}, verdict{true, true}, 1.25},
		{"waits less", Figure{Scenario: "steps", Case: "c=1", Name: "submit p99", Value: 1, Unit: "ms", Better: Lower}, verdict{known: true}, 0.5},
		{"the worst of a run is not judged", Figure{Scenario: "steps", Case: "c=1", Name: "submit max", Value: 300, Unit: "ms"}, verdict{known: true}, 100},
		{"from nothing", Figure{Scenario: "idle", Name: "CPU", Value: 1, Unit: "%", Better: Lower}, verdict{true, true}, 1},
		{"another unit is another figure", Figure{Scenario: "live", Name: "RSS", Value: 5000, Unit: "KiB", Better: Lower}, verdict{}, 1},
		{"another case is another figure", Figure{Scenario: "steps", Case: "c=2", Name: "throughput", Value: 1, Unit: "steps/s", Better: Higher}, verdict{}, 1},
	} {
		c := Compare(before, report(tt.f), 0.2)[0]
		if got := (verdict{c.Old != nil, c.Regressed}); got != tt.want || math.Abs(c.Factor-tt.times) > 1e-9 {
			t.Errorf("%s: %+v × %v, want %+v × %v", tt.name, got, c.Factor, tt.want, tt.times)
		}
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	r := report()
	r.Version, r.TakenAt = "1.2.3", wire.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	r.Machine, r.Settings = Machine{OS: "plan9", Arch: "mips", CPUs: 3}, Settings{Steps: 20, Payload: 64, Seconds: 0.5}
	s := section{report: r, scenario: "steps", label: "c=16"}
	s.add("throughput", 8123.4, "steps/s", Higher, of(16000), goal(9000))
	s.latency("submit", samples{time.Millisecond, 2 * time.Millisecond, 12 * time.Millisecond}, bounds(0, 5), ofLatency(samples{4 * time.Millisecond, 24 * time.Millisecond}))
	s.latency("nothing", nil)
	s.add("commit p50", 0.25, "ms", Told)
	section{report: r, scenario: "idle"}.add("CPU", 0.4, "% of a core", Lower, goal(0.5))
	var text, markdown, table strings.Builder
	for _, err := range []error{r.Text(&text), r.Markdown(&markdown), Table(&table, Compare(r, r, 0))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const caption = "kernelctl 1.2.3, 2026-11-21, 3 CPUs, plan9/mips; 20 steps an execution, 64 bytes of args and result, 0.5s a case\n"
	if diff := cmp.Diff(caption+`
steps c=16
  throughput  8123 steps/s  0.51 of 16000  ≥ 9000 missed
  submit      p50 2  p90 12  p99 12  max 12 ms  p50 0.50 of 4, p99 0.50 of 24  p99 ≤ 5 missed
  commit p50  0.25 ms

idle
  CPU         0.4 % of a core  ≤ 0.5 met
`, text.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(caption+`
| scenario | measure | figure | of the machine | goal |
|---|---|---|---|---|
| steps c=16 | throughput | 8123 steps/s | 0.51 of 16000 | ≥ 9000 missed |
| steps c=16 | submit | p50 2  p90 12  p99 12  max 12 ms | p50 0.50 of 4, p99 0.50 of 24 | p99 ≤ 5 missed |
| steps c=16 | commit p50 | 0.25 ms |  |  |
| idle | CPU | 0.4 % of a core |  | ≤ 0.5 met |
`, markdown.String()); diff != "" {
		t.Error(diff)
	}
	if want := "          steps c=16: throughput: 8123 → 8123 steps/s (+0.0%)\n"; !strings.HasPrefix(table.String(), want) {
		t.Errorf("the comparison is\n%s\nwant it to begin with\n%s", &table, want)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.0525: "0.0525", 0.00012: "0.0001", 0.5: "0.5", 1: "1", 1.036: "1.04", 8.25: "8.25", 12.34: "12.3", 99.96: "100", 100.4: "100", 12509.6: "12510",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

// The load's text compresses about as well as what people write, and no two
// texts are alike.
func TestProse(t *testing.T) {
	t.Parallel()
	p := newProse(1)
	a, b := p.text(64<<10), p.text(64<<10)
	if len(a) != 64<<10 || a == b || strings.ContainsAny(a, "\"\\") {
		t.Errorf("texts of %d and %d bytes: %q", len(a), len(b), a[:40])
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(a)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if share := float64(packed.Len()) / float64(len(a)); share < 0.25 || share > 0.6 {
		t.Errorf("it compresses to %.2f, which no real text does", share)
	}
}

func TestBlocksFor(t *testing.T) {
	t.Parallel()
	const block = time.Microsecond
	for _, tt := range []struct {
		name                 string
		left, none, measured time.Duration
		want                 int
	}{
		{"as measured", 2 * time.Millisecond, time.Millisecond, time.Millisecond + measuredBlocks*block, 2000},
		{"no time", 0, time.Millisecond, 5 * time.Millisecond, 0},
		{"quicker than without any work", -time.Millisecond, time.Millisecond, 5 * time.Millisecond, 0},
		{"work that seems to take no time", 30 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 300_000},
		{"work that seems to save time", 30 * time.Millisecond, 5 * time.Millisecond, time.Millisecond, 300_000},
	} {
		if got := blocksFor(tt.left, tt.none, tt.measured); got != tt.want {
			t.Errorf("%s: %d blocks, want %d", tt.name, got, tt.want)
		}
	}
}
