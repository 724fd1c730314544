package kernel_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// formula is the identity of a step as docs/api.md gives it: SHA-256 over five
// fields, each written as <byte length>:<bytes>.
func formula(execution, kind, target, argsHash string, occurrence int) string {
	var b strings.Builder
	for _, field := range []string{execution, kind, target, argsHash, fmt.Sprint(occurrence)} {
		fmt.Fprintf(&b, "%d:%s", len(field), field)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// TestStepIDVectors are for those who derive ids elsewhere: the values come
// from sha256sum, not from this program.
func TestStepIDVectors(t *testing.T) {
	t.Parallel()
	const execution = "01890a5d-ac96-774b-bcce-b302099a8057"
	for _, v := range []struct {
		kind, target, args, argsHash string
		occurrence                   uint32
		want                         string
	}{
		{"tool_call", "send_email", `{"to":"x"}`, "59672d2948aecafc11f8c37637082ee2a14ac660059cc89477127c20f3b55909", 0, "b27eb3de75b4c1a1aa8752b44f8ed07c69bc4c1de134b8bf6f2a143e8ddee606"},
		{"tool_call", "send_email", `{"to":"x"}`, "59672d2948aecafc11f8c37637082ee2a14ac660059cc89477127c20f3b55909", 1, "e377d46cc6392f3a5d9d4b9a51f9520bb449066c5b257dee8176012f3ffa4e87"},
		{"llm_call", "gpt-4o", `null`, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b", 0, "87885d62a4f4aa712f6e21177056742480b0eb436b2cdb4f831cc4213ecee3fb"},
		{"local", "größe:☃", `[9007199254740993,1.0]`, "2d1d74cf9f219852cdba091ac6a873d014df4fec24e942129342e019d82a376d", 12, "3331d00d7054304e137d56d08740ffe5707f18eae1b1fce0a5edcb93715fdb44"},
		{"local", "", `null`, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b", 4294967295, "af5eb35164f1b5d4c14c3b52cee4e3e7d6f674c67aeef58ddb2c185072109aa7"},
	} {
		id, ok := kernel.ParseExecutionID(execution)
		if !ok {
			t.Fatalf("%s is not an execution id", execution)
		}
		kind, _ := kernel.ParseStepKind(v.kind)
		hash := kernel.Digest(canonjson.Digest([]byte(v.args)))
		if got := hash.String(); got != v.argsHash {
			t.Errorf("args_hash of %s: got %s, want %s", v.args, got, v.argsHash)
		}
		if got := kernel.DeriveStepID(id, kind, v.target, hash, v.occurrence).String(); got != v.want {
			t.Errorf("step_id of %s %s %s occurrence %d: got %s, want %s", v.kind, v.target, v.args, v.occurrence, got, v.want)
		}
	}
}

func TestStepIDFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var id kernel.ExecutionID
		copy(id.UUID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "execution"))
		kind := rapid.SampledFrom([]kernel.StepKind{kernel.ToolCall, kernel.LLMCall, kernel.Local}).Draw(t, "kind")
		target := rapid.OneOf(rapid.String(), rapid.StringN(300, 600, -1)).Draw(t, "target")
		hash := kernel.Sum(rapid.SliceOf(rapid.Byte()).Draw(t, "args"))
		occurrence := rapid.Uint32().Draw(t, "occurrence")
		got := kernel.DeriveStepID(id, kind, target, hash, occurrence).String()
		if want := formula(id.String(), kind.String(), target, hash.String(), int(occurrence)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// TestMint: the ids of a command are of version 7, of its moment, and grow,
// whatever the seed.
func TestMint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var seed [10]byte
		copy(seed[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(t, "seed"))
		if rapid.Bool().Draw(t, "near the end of the counter") {
			seed[8], seed[9] = 0xff, 0xff
		}
		at := kernel.Instant(rapid.Int64Range(0, 1<<47*1000).Draw(t, "at"))
		mint := kernel.NewMint(at, seed)
		before := kernel.UUID{}
		for i := range 100 {
			id := mint.UUID()
			if version, variant := id[6]>>4, id[8]>>6; version != 7 || variant != 2 {
				t.Fatalf("%s has version %d and variant %d, want 7 and 2", id, version, variant)
			}
			ms := int64(0)
			for _, b := range id[:6] {
				ms = ms<<8 | int64(b)
			}
			if want := int64(at) / 1000; ms != want {
				t.Fatalf("%s is of %d ms, want %d", id, ms, want)
			}
			if bytes.Compare(id[:], before[:]) <= 0 {
				t.Fatalf("id %d is %s, which does not come after %s (seed %x)", i, id, before, seed)
			}
			before = id
			if parsed, ok := kernel.ParseUUID(id.String()); !ok || parsed != id {
				t.Fatalf("%s reads back as %s, %t", id, parsed, ok)
			}
		}
	})
}

// TestMintIsAValue: deciding a command again mints the same ids.
func TestMintIsAValue(t *testing.T) {
	t.Parallel()
	w := newService().world(t)
	c := &kernel.CreateExecution{Meta: w.meta(), Agent: "a"}
	first, _ := kernel.Decide(&w.state, &w.lease, c)
	second, _ := kernel.Decide(&w.state, &w.lease, c)
	if first.Events[0].ID != second.Events[0].ID || first.Lease.ID != second.Lease.ID {
		t.Errorf("decided again, the same command has other ids: %v and %v", first.Events[0].ID, second.Events[0].ID)
	}
	kernel.Stamp(c, epoch, [10]byte{1})
	third, _ := kernel.Decide(&w.state, &w.lease, c)
	if third.Events[0].ID == first.Events[0].ID {
		t.Errorf("stamped again, the command has the same ids: %v", third.Events[0].ID)
	}
}

func TestParseStepID(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("0123456789abcdef", 4)
	if id, ok := kernel.ParseStepID(good); !ok || id.String() != good {
		t.Errorf("%s reads back as %s, %t", good, id, ok)
	}
	for _, bad := range []string{"", good[:63], good + "0", strings.ToUpper(good), good[:63] + "g", "é" + good[:62]} {
		if id, ok := kernel.ParseStepID(bad); ok || id != (kernel.StepID{}) {
			t.Errorf("%q reads as %s, %t", bad, id, ok)
		}
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 2, 3, 4, 5, 6, 7_000, time.UTC), "2026-02-03T04:05:06.000007Z"},
		{time.Date(2026, 2, 3, 4, 5, 6, 999_999_999, time.UTC), "2026-02-03T04:05:06.999999Z"}, // cut, not rounded
		{time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("", 3600)), "2026-02-03T03:05:06.000000Z"},
		{time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), "9999-12-31T23:59:59.999999Z"},
	} {
		at := kernel.At(v.at)
		if got := at.String(); got != v.want {
			t.Errorf("%s is written %s, want %s", v.at, got, v.want)
		}
		var read kernel.Instant
		if err := read.UnmarshalText([]byte(v.want)); err != nil || read != at {
			t.Errorf("%s reads as %d (%v), want %d", v.want, read, err, at)
		}
	}
	if got := epoch.Add(90 * time.Second).Sub(epoch); got != 90*time.Second {
		t.Errorf("a minute and a half later is %s later", got)
	}
}

// TestNames: every name reads back as what it names, and nothing else does.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, v := range kernel.Statuses() {
		if got, ok := kernel.ParseStatus(v.String()); !ok || got != v {
			t.Errorf("status %s reads as %s, %t", v, got, ok)
		}
		if want := slices.Contains([]string{"completed", "failed", "cancelled"}, v.String()); v.Terminal() != want {
			t.Errorf("%s is terminal: %t, want %t", v, v.Terminal(), want)
		}
	}
	for v := kernel.StepStatusProposed; v <= kernel.StepStatusCancelled; v++ {
		if got, ok := kernel.ParseStepStatus(v.String()); !ok || got != v {
			t.Errorf("step status %s reads as %s, %t", v, got, ok)
		}
		if want := slices.Contains([]string{"succeeded", "failed", "denied", "cancelled"}, v.String()); v.Terminal() != want {
			t.Errorf("step %s is terminal: %t, want %t", v, v.Terminal(), want)
		}
	}
	for v := kernel.ApprovalStatusPending; v <= kernel.ApprovalStatusCancelled; v++ {
		if got, ok := kernel.ParseApprovalStatus(v.String()); !ok || got != v {
			t.Errorf("approval status %s reads as %s, %t", v, got, ok)
		}
	}
	for v := kernel.SafeToRetry; v <= kernel.AtMostOnce; v++ {
		if got, ok := kernel.ParseIdempotency(v.String()); !ok || got != v {
			t.Errorf("idempotency %s reads as %s, %t", v, got, ok)
		}
	}
	for v := kernel.ToolCall; v <= kernel.Local; v++ {
		if got, ok := kernel.ParseStepKind(v.String()); !ok || got != v {
			t.Errorf("kind %s reads as %s, %t", v, got, ok)
		}
	}
	for _, v := range kernel.EventTypes() {
		if got, ok := kernel.ParseEventType(v.String()); !ok || got != v {
			t.Errorf("event type %s reads as %s, %t", v, got, ok)
		}
	}
	for _, unknown := range []string{"", "unknown", "Running", "x"} {
		_, a := kernel.ParseStatus(unknown)
		_, b := kernel.ParseStepStatus(unknown)
		_, c := kernel.ParseApprovalStatus(unknown)
		_, d := kernel.ParseIdempotency(unknown)
		_, e := kernel.ParseStepKind(unknown)
		_, f := kernel.ParseEventType(unknown)
		if a || b || c || d || e || f {
			t.Errorf("%q reads as something: %t %t %t %t %t %t", unknown, a, b, c, d, e, f)
		}
	}
	for _, v := range []fmt.Stringer{
		kernel.Status(99), kernel.StepStatus(99), kernel.ApprovalStatus(99), kernel.DispatchStatus(99), kernel.Idempotency(99),
		kernel.StepKind(99), kernel.EventType(99), kernel.BlockReason(99), kernel.Action(99), kernel.LimitScope(99), kernel.Decision(99), kernel.Code(99),
	} {
		if got := v.String(); got != "unknown" {
			t.Errorf("%T(99) is called %q, want unknown", v, got)
		}
	}
}
