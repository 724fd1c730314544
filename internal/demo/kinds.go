package demo

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// kind is a kind of order that comes again and again.
type kind struct {
	name, agent string
	weight      int // how often it comes, against the others
	open        int // no further one comes while so many are blocked
	order       func(r *rand.Rand) order
}

// order is work for an agent.
type order struct {
	input  any
	labels map[string]string
	then   *then
}

// then is what comes to an execution from outside after a while: a signal, or
// without one its cancellation.
type then struct {
	after   time.Duration
	signal  string
	payload string // JSON
}

var kinds = []kind{
	{"study", "research", 5, 6, orderStudy},
	{"deep-study", "research", 1, 2, orderDeepStudy},
	{"survey", "research", 1, 1, orderSurvey},
	{"report", "research", 2, 3, orderReport},
	{"incident", "ops", 2, 2, orderIncident},
	{"schema", "ops", 2, 2, orderSchema},
	{"cleanup", "ops", 1, 1, orderCleanup},
	{"release", "ops", 1, 2, orderRelease},
	{"reindex", "ops", 1, 1, orderReindex},
	{"refund", "billing", 4, 3, orderRefund},
	{"charge", "billing", 2, 1, orderCharge},
	{"transfer", "billing", 1, 2, orderTransfer},
	{"month-end", "billing", 1, 2, orderMonthEnd},
	{"ticket", "support", 5, 1, orderTicket},
	{"key-account", "support", 2, 3, orderKeyAccount},
	{"take-out", "support", 1, 1, orderTakeOut},
	{"follow-up", "support", 2, 3, orderFollowUp},
}

// opening are the kinds of the first orders, one of each matter that a screen
// can show.
var opening = []string{
	"key-account", "incident", "month-end", "release", "deep-study", "refund", "transfer",
	"schema", "follow-up", "reindex", "take-out", "report", "charge", "study", "ticket", "survey",
}

// draw is order n of a seed, and the time from it to the next. It depends on the
// two numbers alone.
func draw(seed, n uint64) (kind, order, time.Duration) {
	r := rand.New(rand.NewPCG(seed, n)) //nolint:gosec // a play, which must be the same each time
	k := pick(r, n)
	o := k.order(r)
	if n < uint64(len(opening)) {
		return k, o, 300 * time.Millisecond // so that there is something to see at once
	}
	return k, o, 3*time.Second + time.Duration(r.Int64N(int64(3*time.Second)))
}

// pick chooses the kind of order n.
func pick(r *rand.Rand, n uint64) kind {
	if n < uint64(len(opening)) {
		for _, k := range kinds {
			if k.name == opening[n] {
				return k
			}
		}
	}
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	at := r.IntN(sum)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k
		}
	}
	return kinds[0]
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// money is an amount with cents between two whole ones.
func money(r *rand.Rand, low, high int) float64 {
	return float64(low*100+r.IntN((high-low)*100)) / 100
}

type customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

func someone(r *rand.Rand) customer {
	return one(
		r,
		customer{"Nordwind Logistics", "it@nordwind.example"},
		customer{"Halvorsen & Søn", "post@halvorsen.example"},
		customer{"株式会社ミライ", "support@mirai.example"},
		customer{"Café Müller", "hallo@cafe-mueller.example"},
		customer{"Blue Harbor Ltd", "accounts@blueharbor.example"},
		customer{"Ateliers Lefèvre", "contact@lefevre.example"},
	)
}

func number(r *rand.Rand, prefix string) string {
	return fmt.Sprintf("%s-%05d", prefix, r.IntN(100000))
}
