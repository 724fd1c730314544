package torture

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// moment is what a server is in the middle of when it is killed.
type moment int

const (
	midWork       moment = iota // anything
	midStart                    // starting, several times in a row, on a file with something to recover
	midFresh                    // starting in an empty folder, several times: the schema is being made
	midBackup                   // while a backup is made by another process, which may be killed as well
	midRetention                // removing what has expired
	midCheckpoint               // copying its log into the file
	midStop                     // stopping
	afterLapse                  // anything, after leases have lapsed
	notAtAll                    // it is stopped, and must stop cleanly
)

func (m moment) String() string {
	switch m {
	case midWork:
		return "work"
	case midStart:
		return "start"
	case midFresh:
		return "fresh start"
	case midBackup:
		return "backup"
	case midRetention:
		return "retention"
	case midCheckpoint:
		return "checkpoint"
	case midStop:
		return "stop"
	case afterLapse:
		return "lapse"
	case notAtAll:
		return "clean stop"
	}
	return fmt.Sprintf("moment %d", int(m))
}

// round is one life of the server, or several short ones, and its end.
type round struct {
	moment    moment
	works     time.Duration   // how long it works after it was audited
	starts    []time.Duration // first it is started and killed so long after
	retention time.Duration   // 0: for ever
	delay     time.Duration   // from the moment to the kill
	verified  bool            // another process verifies the live file
	other     bool            // the other process is killed as well
}

// deck is what rounds are drawn from: every moment comes in each deck, the rare
// and slow ones once. A deck begins in an empty folder.
var deck = []moment{
	midWork, midWork, midWork, midStart, midStart, midBackup, midBackup, midBackup,
	midRetention, midRetention, midCheckpoint, midCheckpoint, midCheckpoint, midStop, midStop, notAtAll, afterLapse,
}

// quickDeck is a deck for a handful of kills.
var quickDeck = []moment{midWork, midStart, midBackup, midCheckpoint, midRetention, midStop, notAtAll}

// planner draws rounds.
type planner struct {
	random *rand.Rand
	cards  []moment
	left   []moment
}

func (p *planner) next() round {
	if len(p.left) == 0 {
		p.left = append([]moment{}, p.cards...)
		p.random.Shuffle(len(p.left), func(i, j int) { p.left[i], p.left[j] = p.left[j], p.left[i] })
		p.left = append(p.left, midFresh) // comes first
	}
	m := p.left[len(p.left)-1]
	p.left = p.left[:len(p.left)-1]
	return drawRound(p.random, m)
}

func drawRound(r *rand.Rand, m moment) round {
	x := round{moment: m, works: 50*time.Millisecond + upTo(r, 1500*time.Millisecond), verified: r.IntN(4) == 0, other: r.IntN(2) == 0}
	switch m {
	case midFresh:
		for range 4 + r.IntN(3) {
			x.starts = append(x.starts, 8*time.Millisecond+time.Duration(r.Int64N(int64(50*time.Millisecond))))
		}
	case midStart:
		for range 2 + r.IntN(3) {
			x.starts = append(x.starts, 10*time.Millisecond+time.Duration(r.Int64N(int64(100*time.Millisecond))))
		}
	case midBackup:
		x.delay = time.Duration(r.Int64N(int64(250 * time.Millisecond)))
	case midRetention:
		x.retention = 200*time.Millisecond + upTo(r, time.Second)
		x.delay = time.Duration(r.Int64N(int64(300 * time.Millisecond)))
	case midCheckpoint:
		x.delay = upTo(r, 4*time.Millisecond)
	case midStop:
		x.delay = upTo(r, 80*time.Millisecond)
	case afterLapse:
		x.works = (leaseSeconds + 2) * time.Second
	case midWork, notAtAll:
	}
	return x
}
