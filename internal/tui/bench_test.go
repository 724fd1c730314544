package tui

import (
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// exposition is a scrape of a real service.
//
//go:embed testdata/metrics.txt
var exposition string

// crowd is a service with 10,000 executions and 500 approvals.
func crowd() *fake {
	f := typical()
	f.executions, f.approvals = nil, f.approvals[:1]
	for n := range 10000 {
		f.executions = append(f.executions, wire.Execution{
			ID: id(8, n), AgentID: fmt.Sprint("agent-", n%20), Status: wire.ExecutionStatuses()[n%6], Labels: wire.Labels{"env": "prod", "run": fmt.Sprint(n)},
			Input: []byte(`{"task":"` + fmt.Sprint(n) + `"}`), CreatedAt: wire.At(noon.Add(-time.Duration(n) * time.Second)), UpdatedAt: wire.At(noon), LastEventSeq: 9,
		})
	}
	for n := 1; n < 500; n++ {
		a := f.approvals[0]
		a.ID, a.ExecutionID, a.TimeoutAt = id(9, n), id(8, n), wire.At(noon.Add(time.Duration(n)*time.Second))
		f.approvals = append(f.approvals, a)
	}
	return f
}

// BenchmarkKeyToFrame is the time from a key to its frame: what the slowest of a
// hundred take, of computing (p99-cpu-ms) and on the wall (p99-ms), which what
// else runs on the machine makes longer.
func BenchmarkKeyToFrame(b *testing.B) {
	for _, tc := range []struct {
		name string
		open func(r *rig)
		keys []string
	}{
		{"approvals", func(r *rig) { r.press("1") }, []string{"j", "j", "j", "k", "pgdown", "end", "home"}},
		{"executions", func(r *rig) { r.press("2") }, []string{"j", "j", "k", "pgdown", "end", "home"}},
		{"sort", func(r *rig) { r.press("2") }, []string{"s", "S"}},
		{"filter", func(r *rig) { r.press("2") }, []string{"/", "p", "r", "o", "d", "esc"}},
		{"detail", (*rig).openLong, []string{"j", "k", "home", "pgdown", "end", "t", "j", "enter", "o", "i", "e"}},
		{"screens", (*rig).openLong, []string{"1", "2", "3", "4", "[", "[", "[", "["}},
		{"question", func(r *rig) { r.press("1", "g") }, []string{"a", "pgdown", "tab", "pgup", "shift+tab", "backspace"}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			r := newRig(b, crowd(), 140, 40).online()
			tc.open(r)
			var took, computed []time.Duration
			cpu := cpuClock(b)
			b.ResetTimer()
			for i := range b.N {
				r.now = r.now.Add(time.Second) // what is dropped costs nothing
				began, worked := time.Now(), cpu()
				r.m.Update(keyMsg(tc.keys[i%len(tc.keys)]))
				_ = r.m.View()
				took, computed = append(took, time.Since(began)), append(computed, cpu()-worked)
			}
			for unit, all := range map[string][]time.Duration{"p99-ms": took, "p99-cpu-ms": computed} {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, unit)
			}
		})
	}
}

// openLong opens an execution with 10,000 events.
func (r *rig) openLong() {
	r.openTypical()
	rows := make(eventsMsg, 10000)
	for i := range rows {
		rows[i] = typicalEvents(id(2, 1))[4]
		rows[i].EventSeq = int64(i + 11)
	}
	r.send(sourceMsg{r.m.de.tail, rows})
}

// BenchmarkBurst is one batch of 500 events and its frame: ten of them a second
// are 5,000 events a second.
func BenchmarkBurst(b *testing.B) {
	r := newRig(b, crowd(), 140, 40).online()
	r.press("2")
	seq := int64(100)
	b.ResetTimer()
	for range b.N {
		cs := make(changesMsg, 500)
		seq++
		for i := range cs {
			cs[i] = change{exec: id(8, i*7), seq: seq, typ: wire.EventStepProposed, step: "send_email", at: wire.At(noon)}
		}
		r.m.Update(sourceMsg{r.m.feed, cs})
		_ = r.m.View()
	}
}

// BenchmarkFirstFrame is the time from nothing to the first frame.
func BenchmarkFirstFrame(b *testing.B) {
	for range b.N {
		r := newRig(b, &fake{}, 140, 40)
		_ = r.m.View()
	}
}

// BenchmarkMemory is what 10,000 executions and 500 approvals hold.
func BenchmarkMemory(b *testing.B) {
	f := crowd()
	for range b.N {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r := newRig(b, f, 140, 40).online()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/(1<<20), "MB")
		runtime.KeepAlive(r)
	}
}

// BenchmarkIdleSecond is what a second costs in which nothing happens: the clock
// and half an answer of health, each with a frame.
func BenchmarkIdleSecond(b *testing.B) {
	for _, key := range []string{"1", "2", "4"} {
		b.Run("screen "+key, func(b *testing.B) {
			f := crowd()
			f.metrics = exposition
			r := newRig(b, f, 140, 40).online()
			r.press(key)
			cpu := cpuClock(b)
			b.ResetTimer()
			began := cpu()
			for range b.N {
				r.now = r.now.Add(time.Second)
				r.send(tickMsg(r.now))
				_ = r.m.View()
			}
			b.ReportMetric(float64((cpu()-began).Microseconds())/1000/float64(b.N), "cpu-ms/s")
		})
	}
}
