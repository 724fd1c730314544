package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// wait is how long to pause before try n+1 (n counts from 0) after err.
func (p RetryPolicy) wait(n int, err error) time.Duration {
	bound := p.MaxDelay
	if n < 30 && p.BaseDelay<<n < p.MaxDelay && p.BaseDelay<<n > 0 {
		bound = p.BaseDelay << n
	}
	wait := time.Duration(0)
	if bound > 0 {
		// The whole range and not its upper half: agents that lost the same
		// kernel at the same moment must not come back together.
		wait = rand.N(bound + 1)
	}
	var busy *busyError
	if errors.As(err, &busy) {
		wait = max(wait, busy.after)
	}
	return wait
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3): seconds or a date. 0
// means absent, past or unreadable.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// sleep waits for d, or returns the cause of a ctx that ended first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
