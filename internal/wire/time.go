package wire

import (
	"bytes"
	"fmt"
	"time"
)

// timeLayout is RFC 3339 with the digits that the wire always shows.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a timestamp. It is written as RFC 3339 in UTC with exactly six
// fractional digits and the suffix Z. Reading takes any RFC 3339 timestamp, for
// people type deadlines by hand, and cuts it to the microsecond.
//
// A nullable timestamp is a *Time.
type Time struct{ time.Time }

// At is t as the wire shows it: UTC, cut to the microsecond.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// AppendText appends the wire form. Years outside 0 to 9999 have none.
func (t Time) AppendText(dst []byte) ([]byte, error) {
	u := t.UTC()
	if y := u.Year(); y < 0 || y > 9999 {
		return dst, fmt.Errorf("write timestamp: year %d is outside 0 to 9999", y)
	}
	return u.AppendFormat(dst, timeLayout), nil
}

// MarshalText is the wire form.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// MarshalJSON is the wire form as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) {
	b, err := t.AppendText(append(make([]byte, 0, len(timeLayout)+2), '"'))
	return append(b, '"'), err
}

// UnmarshalText reads any RFC 3339 timestamp.
func (t *Time) UnmarshalText(text []byte) error {
	if bytes.IndexByte(text, ',') >= 0 { // package time takes it for a point, RFC 3339 does not
		return fmt.Errorf("read timestamp: %s has a comma", text)
	}
	var u time.Time
	if err := u.UnmarshalText(text); err != nil {
		return fmt.Errorf("read timestamp: %w", err)
	}
	*t = At(u)
	return nil
}

// UnmarshalJSON reads a JSON string; null leaves t as it is.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("read timestamp: %s is not a string", b)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// String is the wire form.
func (t Time) String() string { return t.UTC().Format(timeLayout) }
