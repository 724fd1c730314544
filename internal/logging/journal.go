package logging

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// journalQueue bounds the commits that wait to be written. Behind a slow
// terminal or a full pipe the journal loses lines, and says how many: the
// writer of the store never waits for it.
const journalQueue = 512

// Journal writes a line for what happened to executions: at info what an
// operator wants to know, at debug every event, at warn what went wrong.
type Journal struct {
	log   *slog.Logger
	queue chan []store.Committed
	lost  atomic.Int64 // events, not written because the queue was full
}

// NewJournal is a journal that writes to log.
func NewJournal(log *slog.Logger) *Journal {
	return &Journal{log: log, queue: make(chan []store.Committed, journalQueue)}
}

// Committed takes what was stored. It never blocks, and costs next to nothing
// when there is no line to write at the log's level.
func (j *Journal) Committed(batch []store.Committed) {
	least, ok := j.level()
	if !ok || !worth(batch, least) {
		return
	}
	select {
	case j.queue <- batch:
	default:
		for i := range batch {
			j.lost.Add(int64(len(batch[i].Records)))
		}
	}
}

// Run writes until ctx ends, and what is queued then.
func (j *Journal) Run(ctx context.Context) error {
	for {
		select {
		case batch := <-j.queue:
			j.write(ctx, batch)
		case <-ctx.Done():
			j.drain(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func (j *Journal) drain(ctx context.Context) {
	for {
		select {
		case batch := <-j.queue:
			j.write(ctx, batch)
		default:
			return
		}
	}
}

func (j *Journal) write(ctx context.Context, batch []store.Committed) {
	for i := range batch {
		c := &batch[i]
		for _, r := range c.Records {
			level := levelOf(r.Event.Type())
			if !j.log.Enabled(ctx, level) {
				continue
			}
			// The line bears the time of the event, not that of its turn in the queue.
			line := slog.NewRecord(r.Event.At.Time(), level, message(r.Event.Type()), 0)
			line.AddAttrs(attrs(c, r.Event)...)
			_ = j.log.Handler().Handle(ctx, line) // as slog itself does: there is nowhere left to say it
		}
	}
	if lost := j.lost.Swap(0); lost > 0 {
		j.log.LogAttrs(ctx, slog.LevelWarn, "the log is too slow: some events have no line", slog.Int64("events", lost))
	}
}

// level is the lowest level that is written; false when none of the journal's is.
func (j *Journal) level() (slog.Level, bool) {
	ctx := context.Background() // slog's handlers look for values only, and there is no request here
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
		if j.log.Enabled(ctx, l) {
			return l, true
		}
	}
	return 0, false
}

func worth(batch []store.Committed, least slog.Level) bool {
	for i := range batch {
		for _, r := range batch[i].Records {
			if levelOf(r.Event.Type()) >= least {
				return true
			}
		}
	}
	return false
}

// notable are the events that an operator wants to know of.
var notable = [...]bool{
	kernel.TypeExecutionCreated:   true,
	kernel.TypeExecutionBlocked:   true,
	kernel.TypeExecutionResumed:   true,
	kernel.TypeExecutionCompleted: true,
	kernel.TypeExecutionFailed:    true,
	kernel.TypeExecutionCancelled: true,
	kernel.TypeApprovalRequested:  true,
	kernel.TypeApprovalGranted:    true,
	kernel.TypeApprovalDenied:     true,
	kernel.TypeApprovalExpired:    true,
}

// levelOf is how much an operator wants to know of an event. A failed
// dispatch, the one thing to worry about, is also what a lapsed lease and a
// dispatch that was given up on are recorded as.
func levelOf(t kernel.EventType) slog.Level {
	switch {
	case t == kernel.TypeDispatchFailed:
		return slog.LevelWarn
	case int(t) < len(notable) && notable[t]:
		return slog.LevelInfo
	}
	return slog.LevelDebug // progress
}
