package torture

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// SoakOptions are those of a soak; Kills, Duration, Quick and Progress are not used.
type SoakOptions struct {
	Options
	For       time.Duration
	Retention time.Duration
	Sampled   func(Sample) // is told of every sample; may be nil
}

// Sample is one look at the server.
type Sample struct {
	At         float64 `json:"at"` // seconds since the server was ready
	RSS        float64 `json:"rss_bytes"`
	Goroutines float64 `json:"goroutines"`
	Files      float64 `json:"open_files"`
	WAL        float64 `json:"wal_bytes"`
	DB         float64 `json:"db_bytes"`
	Steps      float64 `json:"steps_per_second"` // whose outcome was acknowledged, since the sample before
	CPU        float64 `json:"cpu"`              // seconds a second, since the sample before
}

// SoakReport is what a soak came to.
type SoakReport struct {
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
	Writes  int64    `json:"writes"` // acknowledged
	Steps   int64    `json:"steps"`  // outcomes among them
	Audited int      `json:"audited"`
	Gone    int      `json:"gone"`   // executions that retention had removed when they were audited
	Events  int64    `json:"events"` // in the file at the end, verified
	Samples []Sample `json:"samples"`
	Trends  []Trend  `json:"trends"`
	Failure *Failure `json:"failure"`
}

// sampleEvery is the time between samples; of a short soak, a part of it.
const sampleEvery = 10 * time.Second

// auditEvery is the time between audits, which also make the ledger forget what
// retention removed.
const auditEvery = 20 * time.Second

// bounds say what is flat. The garbage collector moves the resident memory by
// some megabytes, requests and connections under way come and go by dozens,
// and the write-ahead log by a checkpoint, which is due every 4 MiB. The file
// does not shrink, but uses again what retention freed.
var bounds = []struct {
	bound
	of func(*Sample) float64
}{
	{bound{name: "rss_bytes", share: 0.05, least: 8 << 20}, func(s *Sample) float64 { return s.RSS }},
	{bound{name: "goroutines", share: 0.1, least: 20}, func(s *Sample) float64 { return s.Goroutines }},
	{bound{name: "open_files", share: 0.1, least: 20}, func(s *Sample) float64 { return s.Files }},
	{bound{name: "wal_bytes", share: 0, least: 4 << 20}, func(s *Sample) float64 { return s.WAL }},
	{bound{name: "db_bytes", share: 0.05, least: 4 << 20}, func(s *Sample) float64 { return s.DB }},
	{bound{name: "steps_per_second", share: 0.05, falls: true}, func(s *Sample) float64 { return s.Steps }},
}

// Soak runs a server under a steady load, without a kill, and watches it.
func Soak(ctx context.Context, o SoakOptions) (report SoakReport, err error) {
	report.Seed = o.Seed
	s, err := newScene(ctx, &o.Options, filepath.Join(o.Dir, "files"), filepath.Join(o.Dir, "about-files"))
	if err != nil {
		return report, err
	}
	defer s.close()
	t := &torture{opts: o.Options, data: o.Dir, random: source(o.Seed, "soak"), scene: s, round: Round{N: 1, Moment: "soak"}}
	if err := t.start(o.Retention); err != nil {
		return report, err
	}
	if t.arrive(ctx) {
		select {
		case <-s.known:
		case <-s.done: // the ledger knows why
		}
		if err := t.watch(ctx, &o, &report); err != nil {
			return report, err
		}
		if err := t.finishSoak(ctx); err != nil {
			return report, err
		}
	}
	report.Writes, report.Steps = s.ledger.acknowledged()
	report.Audited, report.Gone, report.Events = t.round.Audited, t.round.Gone, t.round.Events
	for i := range bounds {
		values := make([]float64, len(report.Samples))
		for n := range report.Samples {
			values[n] = bounds[i].of(&report.Samples[n])
		}
		trend := bounds[i].trend(values)
		if report.Trends = append(report.Trends, trend); !trend.Flat {
			s.ledger.problem("%s is not flat: it moved by %.4g around %.4g in the second half, which may be %.4g", trend.Name, trend.Growth, trend.Mean, trend.Bound)
		}
	}
	if t.failed() {
		report.Failure = t.report.Failure
	}
	return report, nil
}

// finishSoak ends everything and looks at all of it once more.
func (t *torture) finishSoak(ctx context.Context) error {
	if err := t.scene.end(ctx); err != nil {
		return err
	}
	if err := t.auditAll(ctx); err != nil {
		return err
	}
	if err := t.scene.stop(); err != nil {
		t.scene.ledger.problem("%v", err)
	}
	return t.inspect(ctx)
}

// watch takes samples until the time is over.
func (t *torture) watch(ctx context.Context, o *SoakOptions, report *SoakReport) error {
	every := time.NewTicker(min(sampleEvery, o.For/20))
	defer every.Stop()
	audits := time.NewTicker(min(auditEvery, o.For/4))
	defer audits.Stop()
	began := time.Now()
	defer func() { report.Seconds = time.Since(began).Seconds() }()
	auditing, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for {
			select {
			case <-audits.C:
				if err := t.audit(auditing, shareAgain, math.MaxInt); err != nil {
					done <- err
					return
				}
			case <-auditing.Done():
				done <- nil
				return
			}
		}
	}()
	last, err := t.scene.sample(ctx, began, nil)
	for err == nil && time.Since(began) < o.For && !t.scene.ledger.broken() {
		select {
		case <-every.C:
		case <-ctx.Done():
			err = ctx.Err()
			continue
		}
		if last, err = t.scene.sample(ctx, began, last); err == nil {
			report.Samples = append(report.Samples, last.Sample)
			if o.Sampled != nil {
				o.Sampled(last.Sample)
			}
		}
	}
	stop()
	if auditErr := <-done; auditErr != nil && err == nil && ctx.Err() == nil && auditing.Err() == nil {
		err = auditErr
	}
	return err
}

// counted is a sample with the counters that the next one is taken against.
type counted struct {
	Sample
	steps int64
	cpu   float64
}

func (s *scene) sample(ctx context.Context, began time.Time, before *counted) (*counted, error) {
	text, err := s.api.Metrics(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	m := readMetrics(text)
	c := &counted{cpu: m["process_cpu_seconds_total"], Sample: Sample{
		At: time.Since(began).Seconds(), RSS: m["process_resident_memory_bytes"], Goroutines: m["go_goroutines"], Files: m["process_open_fds"],
		DB: size(s.db()), WAL: size(s.db() + "-wal"),
	}}
	_, c.steps = s.ledger.acknowledged()
	if before != nil {
		took := c.At - before.At
		c.Steps, c.CPU = float64(c.steps-before.steps)/took, (c.cpu-before.cpu)/took
	}
	return c, nil
}

func size(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}

// readMetrics reads the metrics that have no labels.
func readMetrics(text []byte) map[string]float64 {
	all := make(map[string]float64)
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		name, value, ok := strings.Cut(s.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n
		}
	}
	return all
}
