package torture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is a line about a round.
func (r Round) String() string {
	ready := "-"
	if r.Ready > 0 {
		ready = fmt.Sprintf("%.0fms", 1000*r.Ready)
	}
	text := fmt.Sprintf("round %3d  %-15s kills %3d  starts %d  ready %6s  acknowledged %6d  audited %4d  gone %3d  verified %6d events in %.2fs  backups %d",
		r.N, r.Moment, r.Kills, r.Starts, ready, r.Writes, r.Audited, r.Gone, r.Events, r.VerifySecond, r.Backups)
	if r.Recovery > 0 {
		text += fmt.Sprintf("  went on %.0fms after space was freed", 1000*r.Recovery)
	}
	return text
}

// Text is the report for a person.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d rounds, %d kills, %d starts in %d empty folders, %.0fs\n", r.Seed, r.Rounds, r.Kills, r.Starts, r.Folders, r.Seconds)
	var moments []string
	for _, m := range slices.Sorted(maps.Keys(r.Moments)) {
		moments = append(moments, fmt.Sprintf("%s %d", m, r.Moments[m]))
	}
	fmt.Fprintf(&b, "  rounds        %s\n", strings.Join(moments, ", "))
	fmt.Fprintf(&b, "  acknowledged  %d writes, %d of them outcomes of steps; %d requests were refused with 503\n", r.Writes, r.Steps, r.Refused)
	fmt.Fprintf(&b, "  audited       %d executions, read back as they were acknowledged; %d more had been removed by retention\n", r.Audited, r.Gone)
	fmt.Fprintf(&b, "  verified      %d files as the kill had left them, and %d backups\n", r.Verified, r.Backups)
	fmt.Fprintf(&b, "  ready after   %.0f ms in the middle, %.0f ms at most\n", 1000*r.ReadyP50, 1000*r.ReadyMax)
	return b.String() + r.Failure.text()
}

// Failed is what was wrong; nil: nothing.
func (r *Report) Failed() *Failure { return r.Failure }

func (f *Failure) text() string {
	if f == nil {
		return "ok: nothing that was acknowledged was lost or changed\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "FAIL in round %d (%s): %d problems; the files are in %s\n", f.Round, f.Moment, f.Found, f.Dir)
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	return b.String()
}

const mib = 1 << 20

// String is a line about a sample.
func (s Sample) String() string {
	return fmt.Sprintf("%6.0fs  rss %6.1f MiB  goroutines %4.0f  files %4.0f  wal %6.1f MiB  db %7.1f MiB  steps %6.1f/s  cpu %4.2f",
		s.At, s.RSS/mib, s.Goroutines, s.Files, s.WAL/mib, s.DB/mib, s.Steps, s.CPU)
}

// Text is the report for a person.
func (r *SoakReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %.0fs, %d writes acknowledged, %d of them outcomes of steps\n", r.Seed, r.Seconds, r.Writes, r.Steps)
	fmt.Fprintf(&b, "  audited %d executions, %d more had been removed by retention; verified %d events at the end\n", r.Audited, r.Gone, r.Events)
	fmt.Fprintf(&b, "  %-17s %14s %14s %14s\n", "second half", "mean", "moved by", "bound")
	for _, t := range r.Trends {
		verdict := "flat"
		if !t.Flat {
			verdict = "NOT FLAT"
		}
		fmt.Fprintf(&b, "  %-17s %14.1f %14.1f %14.1f  %s\n", t.Name, t.Mean, t.Growth, t.Bound, verdict)
	}
	return b.String() + r.Failure.text()
}

// Failed is what was wrong; nil: nothing.
func (r *SoakReport) Failed() *Failure { return r.Failure }
