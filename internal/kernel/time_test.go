package kernel_test

import (
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

func FuzzInstantText(f *testing.F) {
	for _, i := range []int64{0, 1, 999_999, 1_000_000, -1, 1_700_000_000_000_000, 1_700_000_000_123_456, 253_402_300_799_999_999} {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		i := kernel.Instant(n)
		text, err := i.AppendText([]byte("at "))
		if want := "at " + time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.000000Z"); err != nil || string(text) != want {
			t.Errorf("%d: %s, %v, want %s", n, text, err, want)
		}
		if i.String() != string(text[3:]) {
			t.Errorf("%d: %s and %s", n, i, text[3:])
		}
	})
}
