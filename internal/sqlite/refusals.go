package sqlite

import (
	"log/slog"
	"time"
)

// refusals keeps the log of a full disk short: every caller is told that its
// write was refused, the log now and then, and once when it is over.
type refusals struct {
	count  int       // of writes that were refused
	logged time.Time // when the log was told; zero: writes are taken
	last   time.Time // when one was refused
}

// calm is how long the log says nothing new, and how long no write may have been
// refused before it says that they are taken again: on a disk that is almost
// full, small ones fit in between large ones.
const calm = time.Second

func (r *refusals) refused(log *slog.Logger, err error) {
	now := time.Now()
	r.count, r.last = r.count+1, now
	if now.Sub(r.logged) < calm {
		return
	}
	r.logged = now
	log.Error("the database refuses to write", slog.Int("refused", r.count), slog.Any("err", explain(err)))
}

// committed is called when a batch that wrote was committed.
func (r *refusals) committed(log *slog.Logger) {
	if r.logged.IsZero() || time.Since(r.last) < calm {
		return
	}
	log.Info("the database takes writes again", slog.Int("refused", r.count))
	*r = refusals{}
}
