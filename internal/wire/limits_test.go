package wire_test

import (
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestValidName(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"a": true, "A-z_0.9": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a/b": false, "é": false, "a\x00": false,
	}
	for in, want := range tests {
		if got := wire.ValidName(in); got != want {
			t.Errorf("ValidName(%q) = %t, want %t", in, got, want)
		}
	}
}

func TestValidIdempotencyKey(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"k": true, "!~": true, strings.Repeat("x", 255): true,
		"": false, strings.Repeat("x", 256): false, "a b": false, "\x7f": false, "é": false, "a\n": false,
	}
	for in, want := range tests {
		if got := wire.ValidIdempotencyKey(in); got != want {
			t.Errorf("ValidIdempotencyKey(%q) = %t, want %t", in, got, want)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range wire.ExecutionStatuses() {
		if s.Terminal() {
			got = append(got, string(s))
		}
	}
	for _, e := range wire.EventTypes() {
		if e.EndsExecution() {
			got = append(got, string(e))
		}
	}
	want := "completed failed cancelled execution.completed execution.failed execution.cancelled"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("terminal = %s, want %s", s, want)
	}
}
