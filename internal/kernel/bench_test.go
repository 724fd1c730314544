package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// long is a running execution with many steps, all but the last finished, and
// its submit and report as the shell makes them.
func long(b *testing.B, steps int) (*world, *kernel.SubmitStep, *kernel.FinishStep) {
	b.Helper()
	w := newService().world(b)
	situations()["claimed"](w)
	by := w.lease.Holder
	var last kernel.StepID
	for i := range steps {
		last = w.plain(w.submitCommand(&submission{caller: by, kind: kernel.ToolCall, target: "search", args: fmt.Sprintf(`{"query":"%d"}`, i), ruling: rulings[0]})).answer.Step
		if i+1 < steps {
			w.plain(&kernel.FinishStep{Meta: w.meta(), Caller: by, Step: last, Succeeded: true, Outcome: kernel.NewBody([]byte(`{}`))})
		}
	}
	submit := w.submitCommand(&submission{caller: by, kind: kernel.ToolCall, target: "search", args: `{"query":"new"}`, ruling: rulings[0]})
	finish := &kernel.FinishStep{Meta: w.meta(), Caller: by, Step: last, Succeeded: true, Outcome: kernel.NewBody([]byte(`{"ok":true}`))}
	return w, submit, finish
}

// plain is do without the audit, whose cost grows with the execution.
func (w *world) plain(c kernel.Command) outcome {
	plan, err := kernel.Decide(&w.state, &w.lease, c)
	if err != nil {
		w.t.Fatalf("%T: %v", c, err)
	}
	for i := range plan.Events {
		w.pos++
		plan.Events[i].Pos = w.pos
		w.state.Fold(&plan.Events[i])
	}
	plan.Settle(&w.lease)
	return outcome{answer: plan.Answer, events: plan.Events}
}

func BenchmarkDecide(b *testing.B) {
	for _, steps := range []int{2, 1000} {
		w, submit, finish := long(b, steps)
		decide := func(name string, c kernel.Command) {
			b.Run(fmt.Sprintf("%s/steps=%d", name, steps), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := kernel.Decide(&w.state, &w.lease, c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		decide("submit", submit)
		decide("finish", finish)
		decide("heartbeat", &kernel.Heartbeat{Meta: w.meta(), Caller: w.lease.Holder})
		w.lease.Memory = &kernel.Memory{} // as in a next attempt
		decide("replay", w.submitCommand(&submission{
			caller: kernel.Holder{Dispatch: w.lease.ID, Attempt: 1}, kind: kernel.ToolCall, target: "search", args: `{"query":"0"}`, ruling: rulings[0],
		}))
	}
}

func BenchmarkFold(b *testing.B) {
	w, submit, finish := long(b, 1)
	started, _ := kernel.Decide(&w.state, &w.lease, submit)
	ended, _ := kernel.Decide(&w.state, &w.lease, finish)
	events := append(started.Events, ended.Events...)
	b.ReportAllocs()
	for b.Loop() {
		for i := range events {
			w.state.Fold(&events[i])
		}
	}
	b.ReportMetric(float64(len(events)), "events/op")
}

func BenchmarkAppendPayload(b *testing.B) {
	w, submit, _ := long(b, 1)
	plan, _ := kernel.Decide(&w.state, &w.lease, submit)
	var payload []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range plan.Events {
			payload = kernel.AppendPayload(payload[:0], w.state.ID, plan.Events[i].Data)
		}
	}
	b.ReportMetric(float64(len(plan.Events)), "events/op")
}

func BenchmarkDecodePayload(b *testing.B) {
	payload := kernel.AppendPayload(nil, kernel.ExecutionID{}, &kernel.StepProposed{StepRef: kernel.StepRef{Kind: kernel.ToolCall, Target: "search", Attempt: 1}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kernel.DecodePayload(kernel.TypeStepProposed, payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChain(b *testing.B) {
	w, submit, _ := long(b, 1)
	plan, _ := kernel.Decide(&w.state, &w.lease, submit)
	payload := kernel.AppendPayload(nil, w.state.ID, plan.Events[0].Data)
	var chain kernel.Chain
	head := kernel.Digest{}
	b.ReportAllocs()
	for b.Loop() {
		head = chain.Next(head, w.state.ID, &plan.Events[0], payload)
	}
}

func BenchmarkDeriveStepID(b *testing.B) {
	var execution kernel.ExecutionID
	b.ReportAllocs()
	for b.Loop() {
		kernel.DeriveStepID(execution, kernel.ToolCall, "search_the_web", kernel.Digest{}, 3)
	}
}

func BenchmarkTake(b *testing.B) {
	limit := &kernel.RateLimit{MaxCalls: 100, Window: time.Minute}
	bucket, at := &kernel.Bucket{}, epoch
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(time.Second)
		bucket.Take(limit, at)
	}
}
