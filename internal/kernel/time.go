package kernel

import (
	"strconv"
	"time"
)

// Instant is a moment in microseconds since the Unix epoch; zero means "none".
// The store keeps it, the wire shows it as RFC 3339 in UTC with six digits.
type Instant int64

const (
	instantLayout = "2006-01-02T15:04:05.000000Z"
	secondLayout  = "2006-01-02T15:04:05Z07:00" // RFC 3339, which package time writes several times as fast
)

// At is t as an Instant, cut to the microsecond.
func At(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time is the Instant in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Add is the Instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// Sub is the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Microsecond }

// IsZero reports whether there is no moment.
func (i Instant) IsZero() bool { return i == 0 }

// AppendText appends the wire form: RFC 3339, UTC, always six digits.
func (i Instant) AppendText(dst []byte) ([]byte, error) {
	t := i.Time()
	dst = t.AppendFormat(dst, secondLayout)
	const micros = 1_000_000
	from := len(dst) - len("Z")
	dst = strconv.AppendInt(dst[:from], int64(t.Nanosecond()/1000+micros), 10)
	dst[from] = '.' // in place of the digit that kept the zeros
	return append(dst, 'Z'), nil
}

// String is the wire form.
func (i Instant) String() string { return i.Time().Format(instantLayout) }
