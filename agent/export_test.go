package agent

// What the tests see of parts that have no use outside the package.

// Delta is one request to a step's stream route.
type Delta = delta

// DeltaQueue cuts text into deltas.
type DeltaQueue = deltaQueue

// The bounds of a DeltaQueue.
const (
	MaxDelta      = maxDelta
	MaxDeltaQueue = maxDeltaQueue
)

// Add, Flush and Take are the queue's methods.
func (q *deltaQueue) Add(text string)     { q.add(text) }
func (q *deltaQueue) Flush()              { q.flush() }
func (q *deltaQueue) Take() (Delta, bool) { return q.take() }

// EndsStream feeds chunks to an end detector.
func EndsStream(chunks ...[]byte) (ended, pending bool) {
	var d endDetector
	for _, c := range chunks {
		d.add(c)
	}
	return d.ended(), d.pending()
}

// TextOf feeds chunks to a text filter.
func TextOf(chunks ...[]byte) string {
	var f textFilter
	out := ""
	for _, c := range chunks {
		out += f.add(c)
	}
	return out
}

// Recent is the bounded memory of deliveries; its members here are attempts.
type Recent struct{ set *recent }

// NewRecent returns one of a size.
func NewRecent(size int) Recent { return Recent{newRecent(size)} }

// Has and Add are the set's methods.
func (r Recent) Has(attempt int64) bool { return r.set.has(delivery{attempt: attempt}) }
func (r Recent) Add(attempt int64)      { r.set.add(delivery{attempt: attempt}) }
