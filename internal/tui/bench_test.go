package tui

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

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

// BenchmarkKeyToFrame is the time from a key to its frame; p99-ms is what the
// slowest of a hundred take.
func BenchmarkKeyToFrame(b *testing.B) {
	for _, tc := range []struct {
		name string
		keys []string
	}{
		{"approvals", []string{"j", "j", "j", "k", "pgdown", "end", "home"}},
		{"executions", []string{"j", "j", "k", "pgdown", "end", "home"}},
		{"sort", []string{"s", "S"}},
		{"filter", []string{"/", "p", "r", "o", "d", "esc"}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			r := newRig(b, crowd(), 140, 40).online()
			if tc.name != "approvals" {
				r.press("2")
			}
			var took []time.Duration
			b.ResetTimer()
			for i := range b.N {
				began := time.Now()
				r.m.Update(keyMsg(tc.keys[i%len(tc.keys)]))
				_ = r.m.View()
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
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
