package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestTimeIsWrittenWithSixDigits(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`"2026-11-21T10:00:00Z"`, `"2026-11-21T10:00:00.000000Z"`},
		{`"2026-11-21T10:00:00.123456Z"`, `"2026-11-21T10:00:00.123456Z"`},
		{`"2026-11-21T10:00:00.1Z"`, `"2026-11-21T10:00:00.100000Z"`},
		{`"2026-11-21T10:00:00.123456789Z"`, `"2026-11-21T10:00:00.123456Z"`},
		{`"2026-11-21T12:00:00.000001+02:00"`, `"2026-11-21T10:00:00.000001Z"`},
		{`"0000-01-01T00:00:00Z"`, `"0000-01-01T00:00:00.000000Z"`},
		{`"9999-12-31T23:59:59.999999Z"`, `"9999-12-31T23:59:59.999999Z"`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			var at wire.Time
			if err := json.Unmarshal([]byte(tt.in), &at); err != nil {
				t.Fatalf("Unmarshal: %v", err)
			}
			got, err := json.Marshal(at)
			if err != nil || string(got) != tt.want {
				t.Errorf("Marshal = %s, %v, want %s", got, err, tt.want)
			}
			if s := `"` + at.String() + `"`; s != tt.want {
				t.Errorf("String = %s, want %s", s, tt.want)
			}
		})
	}
}

func TestTimeRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`""`, `5`, `{}`, `"2026-11-21"`, `"2026-11-21 10:00:00Z"`, `"2026-11-21T10:00:00"`,
		`"2026-11-21T10:00:00,5Z"`, `"2026-02-30T10:00:00Z"`, `"now"`,
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			var at wire.Time
			if err := json.Unmarshal([]byte(in), &at); err == nil {
				t.Errorf("Unmarshal = %v, want an error", at)
			}
		})
	}
	late := wire.At(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
	if b, err := json.Marshal(late); err == nil {
		t.Errorf("Marshal of year 10000 = %s, want an error", b)
	}
}

func TestTimeIsNullable(t *testing.T) {
	t.Parallel()
	e := wire.Execution{DeadlineAt: new(wire.Time)}
	if err := json.Unmarshal([]byte(`{"deadline_at":null}`), &e); err != nil {
		t.Fatalf("Unmarshal: %v", err)
	}
	if e.DeadlineAt != nil {
		t.Errorf("deadline_at = %v, want nil", e.DeadlineAt)
	}
}
