package stream_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func execution(n byte) kernel.ExecutionID { return kernel.ExecutionID{UUID: kernel.UUID{n}} }

// commit is one operation that wrote events.
func commit(id kernel.ExecutionID, agent kernel.AgentID, events ...kernel.Event) []store.Committed {
	c := store.Committed{Execution: id, Agent: agent, Status: kernel.StatusRunning}
	for i := range events {
		c.Records = append(c.Records, kernel.Record{Event: &events[i], Payload: `{"n":1}`})
		if events[i].Type() == kernel.TypeExecutionCompleted {
			c.Status = kernel.StatusCompleted
		}
	}
	return []store.Committed{c}
}

func event(seq int64, d kernel.Data) kernel.Event {
	return kernel.Event{Seq: seq, Pos: 100 + seq, ID: kernel.EventID{UUID: kernel.UUID{byte(seq)}}, At: 5, Data: d, Body: []byte("7")}
}

// take receives what is there.
func take[T any](s *stream.Subscription[T]) []T { return s.Take().Values }

func TestEvents(t *testing.T) {
	t.Parallel()
	h := stream.NewHub()
	one, two := execution(1), execution(2)
	h.Committed(commit(one, "a", event(1, &kernel.ExecutionStarted{}))) // nobody is there
	first, second, feed := h.Events(one), h.Events(two), h.Feed()
	defer feed.Close()
	batch := append(commit(one, "a", event(2, &kernel.StepExecuting{}), event(3, &kernel.StepFailed{})), commit(two, "b", event(1, &kernel.ExecutionCompleted{}))...)
	h.Committed(batch)
	first.Close()
	first.Close()
	h.Committed(commit(one, "a", event(4, &kernel.StepExecuting{})))

	want := func(id kernel.ExecutionID, seq int64, kind kernel.EventType, body []byte) store.Event {
		return store.Event{Execution: id, Seq: seq, ID: kernel.EventID{UUID: kernel.UUID{byte(seq)}}, Type: kind, At: 5, Payload: `{"n":1}`, Body: body}
	}
	// Only what readers see of a body is sent.
	executing, failed := want(one, 2, kernel.TypeStepExecuting, nil), want(one, 3, kernel.TypeStepFailed, []byte("7"))
	completed := want(two, 1, kernel.TypeExecutionCompleted, []byte("7"))
	if diff := cmp.Diff([]store.Event{executing, failed}, take(first)); diff != "" {
		t.Errorf("execution 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]store.Event{completed}, take(second)); diff != "" {
		t.Errorf("execution 2 (-want +got):\n%s", diff)
	}
	all := []stream.FeedEvent{
		{Event: executing, Agent: "a"},
		{Event: failed, Agent: "a"},
		{Event: completed, Agent: "b"},
		{Event: want(one, 4, kernel.TypeStepExecuting, nil), Agent: "a"},
	}
	if diff := cmp.Diff(all, take(feed)); diff != "" {
		t.Errorf("feed (-want +got):\n%s", diff)
	}
	if n := h.Subscribers(); n != 2 {
		t.Errorf("%d subscribers, want 2", n)
	}
	second.Close()
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	h := stream.NewHub()
	one := execution(1)
	h.Publish(one, stream.Delta{Seq: 1})
	a, b := h.Deltas(one), h.Deltas(one)
	h.Publish(one, stream.Delta{Seq: 2, Data: "x"})
	h.Publish(execution(2), stream.Delta{Seq: 3})
	b.Close()
	h.Publish(one, stream.Delta{Seq: 4})
	for _, s := range []struct {
		*stream.Subscription[stream.Delta]
		want []stream.Delta
	}{{a, []stream.Delta{{Seq: 2, Data: "x"}, {Seq: 4}}}, {b, []stream.Delta{{Seq: 2, Data: "x"}}}} {
		if diff := cmp.Diff(s.want, take(s.Subscription)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	h.Committed(commit(execution(2), "a", event(1, &kernel.ExecutionCompleted{})))
	h.Committed(commit(one, "a", event(1, &kernel.StepFailed{})))
	if got := a.Take(); got.Ended != 0 {
		t.Errorf("nothing came, and it says %+v", got)
	}
	h.Committed(commit(one, "a", event(2, &kernel.ExecutionCompleted{})))
	if got := a.Take(); got.Ended != kernel.StatusCompleted {
		t.Errorf("it ended, and this says: %+v", got)
	}
	if b.Take().Ended != 0 {
		t.Error("whoever left is told of the end")
	}
	a.Close()
}

// TestSlowSubscriberLoses the newest, is told, and blocks nobody.
func TestSlowSubscriberLoses(t *testing.T) {
	t.Parallel()
	h := stream.NewHub()
	one := execution(1)
	slow, events := h.Deltas(one), h.Events(one)
	defer slow.Close()
	defer events.Close()
	const n = 300
	for i := range n {
		h.Publish(one, stream.Delta{Seq: int64(i)})
		h.Committed(commit(one, "a", event(int64(i), &kernel.StepExecuting{})))
	}
	if len(slow.Ready) != 1 || len(events.Ready) != 1 {
		t.Error("something waits, and nothing says so")
	}
	deltas := slow.Take()
	got := deltas.Values
	const room = 256
	if len(got) != room || got[room-1].Seq != room-1 || h.Dropped() != n-room {
		t.Errorf("%d deltas, %d dropped: want %d and %d", len(got), h.Dropped(), room, n-room)
	}
	if all := events.Take(); !deltas.Lost || !all.Lost || len(all.Values) != room {
		t.Error("it lags, and nothing says so")
	}
	if slow.Take().Lost || events.Take().Lost {
		t.Error("it is told twice")
	}
	h.Publish(one, stream.Delta{Seq: n})
	if got := slow.Take(); len(got.Values) != 1 || got.Lost {
		t.Errorf("after it caught up: %v", got)
	}
	// The end arrives however full the buffer is.
	for range n {
		h.Publish(one, stream.Delta{})
	}
	h.Committed(commit(one, "a", event(1, &kernel.ExecutionCompleted{})))
	if slow.Take().Ended != kernel.StatusCompleted {
		t.Error("the end was lost")
	}
}

// TestManyAtOnce: those who publish, come and leave do not get in each other's
// way; run it with the race detector.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := stream.NewHub()
	var publishers, readers sync.WaitGroup
	stop := make(chan struct{})
	for p := range byte(4) {
		publishers.Go(func() {
			for seq := int64(0); ; seq++ {
				select {
				case <-stop:
					return
				default:
				}
				h.Publish(execution(p), stream.Delta{Seq: seq})
				h.Committed(commit(execution(p), "a", event(seq, &kernel.StepExecuting{})))
			}
		})
	}
	for r := range 4 {
		readers.Go(func() {
			id := execution(byte(r % 4))
			for range 10 {
				deltas, events, feed := h.Deltas(id), h.Events(id), h.Feed()
				last := int64(-1)
				for range 10 {
					<-deltas.Ready
					for _, d := range take(deltas) {
						if d.Seq <= last {
							t.Errorf("seq %d after %d", d.Seq, last)
						}
						last = d.Seq
					}
					<-events.Ready
					for _, e := range take(events) {
						if e.Execution != id {
							t.Errorf("an event of %s", e.Execution)
						}
					}
				}
				deltas.Close()
				events.Close()
				feed.Close()
			}
		})
	}
	readers.Wait()
	close(stop)
	publishers.Wait()
	if n := h.Subscribers(); n != 0 {
		t.Errorf("%d subscribers are left", n)
	}
}
