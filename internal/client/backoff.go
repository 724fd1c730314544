package client

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds how long a service can make a client wait.
const maxRetryAfter = time.Minute

// Backoff is an exponential pause with jitter: between half and all of
// Min·2ⁿ, at most Max.
type Backoff struct {
	Min, Max time.Duration // zero: the default of its use
}

func (b *Backoff) setDefaults(shortest, longest time.Duration) {
	if b.Min <= 0 {
		b.Min = shortest
	}
	if b.Max <= 0 {
		b.Max = max(longest, b.Min)
	}
}

// pause is how long to wait after failures in a row, of which there is at
// least one.
func (b Backoff) pause(failures int) time.Duration {
	d := b.Max
	if shift := failures - 1; shift < 30 && b.Min<<shift < b.Max {
		d = b.Min << shift
	}
	return d/2 + rand.N(d/2+1)
}

// Sleep waits for d; it gives the cause of a context that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter reads the header Retry-After: seconds or a date (RFC 9110
// §10.2.3); zero when there is none.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.Atoi(v); err == nil {
		return min(max(time.Duration(s)*time.Second, 0), maxRetryAfter)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(time.Until(t), 0), maxRetryAfter)
	}
	return 0
}
