package printer

import (
	"fmt"
	"time"
)

// Duration is a duration for a person: 0s, 41s, 4m12s, 2h5m, 3d4h.
func Duration(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%s%ds", sign, s)
	case s < 10*60:
		return fmt.Sprintf("%s%dm%ds", sign, s/60, s%60)
	case s < 3600:
		return fmt.Sprintf("%s%dm", sign, s/60)
	case s < 24*3600:
		return fmt.Sprintf("%s%dh%dm", sign, s/3600, s%3600/60)
	}
	return fmt.Sprintf("%s%dd%dh", sign, s/86400, s%86400/3600)
}

// Since is a duration as the past: 3m ago.
func Since(d time.Duration) string {
	if d < 0 { // two clocks that differ a little
		d = 0
	}
	return Duration(d) + " ago"
}

// Left is a duration as what remains: 4m12s, or over.
func Left(d time.Duration) string {
	if d <= 0 {
		return "over"
	}
	return Duration(d)
}

// Took is a duration that was measured: 3ms, 2.1s, 4m12s.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Duration(d)
}
