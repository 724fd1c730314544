//go:build !linux

package tui

import (
	"testing"
	"time"
)

// cpuClock is the time that passed, where no better clock is at hand.
func cpuClock(*testing.B) func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
