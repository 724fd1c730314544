package kernel_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
)

// source makes values of any bytes; when they are used up, zero ones.
type source struct{ b []byte }

func (s *source) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

func (s *source) bool() bool { return s.byte()&1 == 1 }

func (s *source) int(n int) int { return int(s.byte()) % n }

func (s *source) int64() int64 {
	var b [8]byte
	for i := range b {
		b[i] = s.byte()
	}
	return int64(binary.BigEndian.Uint64(b[:]))
}

// text is valid UTF-8, as all texts of the service are.
func (s *source) text() string {
	n := min(s.int(12), len(s.b))
	text := strings.ToValidUTF8(string(s.b[:n]), "\uFFFD")
	s.b = s.b[n:]
	return text
}

// instant is one that RFC 3339 can say, or none.
func (s *source) instant() kernel.Instant {
	const years = 253_402_300_800_000_000 // up to the year 9999
	return kernel.Instant(uint64(s.int64()) % years)
}

func (s *source) uuid() (u kernel.UUID) {
	for i := range u {
		u[i] = s.byte()
	}
	return u
}

func (s *source) digest() (d kernel.Digest) {
	for i := range d {
		d[i] = s.byte()
	}
	return d
}

func (s *source) ref() kernel.StepRef {
	return kernel.StepRef{
		Step: kernel.StepID(s.digest()), Kind: kernel.StepKind(1 + s.int(3)), Target: s.text(),
		Dispatch: kernel.DispatchID{UUID: s.uuid()}, Attempt: s.int64(),
	}
}

func (s *source) texts() (list []string) {
	for range s.int(4) {
		list = append(list, s.text())
	}
	return list
}

func (s *source) pairs() map[string]string {
	var m map[string]string
	for range s.int(4) {
		if m == nil {
			m = map[string]string{}
		}
		m[s.text()] = s.text()
	}
	return m
}

// data is a payload of the type with every field set to anything it can be.
func (s *source) data(t kernel.EventType) kernel.Data {
	dispatch := func() kernel.DispatchID { return kernel.DispatchID{UUID: s.uuid()} }
	approval := func() kernel.ApprovalID { return kernel.ApprovalID{UUID: s.uuid()} }
	step := func() kernel.StepID { return kernel.StepID(s.digest()) }
	switch t {
	case kernel.TypeExecutionCreated:
		return &kernel.ExecutionCreated{Agent: kernel.AgentID(s.text()), Labels: s.pairs(), Deadline: s.instant()}
	case kernel.TypeExecutionStarted:
		return &kernel.ExecutionStarted{Dispatch: dispatch(), Attempt: s.int64()}
	case kernel.TypeExecutionBlocked:
		if s.bool() {
			return &kernel.ExecutionBlocked{Reason: kernel.BlockedOnSignal, Step: step(), Signal: s.text(), TimeoutAt: s.instant()}
		}
		return &kernel.ExecutionBlocked{Reason: kernel.BlockedOnApproval, Step: step(), Approval: approval()}
	case kernel.TypeExecutionResumed:
		return &kernel.ExecutionResumed{Reason: s.text()}
	case kernel.TypeExecutionCompleted:
		return &kernel.ExecutionCompleted{}
	case kernel.TypeExecutionFailed:
		return &kernel.ExecutionFailed{Reason: s.text()}
	case kernel.TypeExecutionCancelled:
		return &kernel.ExecutionCancelled{Reason: s.text()}
	case kernel.TypeDispatchQueued:
		return &kernel.DispatchQueued{Dispatch: dispatch(), Attempt: s.int64(), Reason: s.text()}
	case kernel.TypeDispatchAcked:
		return &kernel.DispatchAcked{Dispatch: dispatch(), Attempt: s.int64()}
	case kernel.TypeDispatchFailed:
		status := kernel.DispatchFailed
		if s.bool() {
			status = kernel.DispatchExhausted
		}
		return &kernel.DeliveryFailed{Dispatch: dispatch(), Attempt: s.int64(), Status: status, Error: s.text(), HTTPStatus: s.int(256), NextAttemptAt: s.instant()}
	case kernel.TypeDispatchDiscarded:
		return &kernel.DeliveryDiscarded{Dispatch: dispatch(), Attempt: s.int64()}
	case kernel.TypeStepProposed:
		return &kernel.StepProposed{StepRef: s.ref(), ArgsHash: s.digest(), Occurrence: uint32(s.int64()), Idempotency: kernel.Idempotency(1 + s.int(2))}
	case kernel.TypeStepAllowed:
		return &kernel.StepAllowed{StepRef: s.ref(), Rule: s.text()}
	case kernel.TypeStepDenied:
		return &kernel.StepDenied{StepRef: s.ref(), Rule: s.text(), Reason: s.text()}
	case kernel.TypeStepAwaitingApproval:
		return &kernel.StepAwaitingApproval{StepRef: s.ref(), Rule: s.text()}
	case kernel.TypeStepRateLimited:
		return &kernel.StepRateLimited{StepRef: s.ref(), Rule: s.text(), Reason: s.text(), Parked: s.bool(), RetryAt: s.instant()}
	case kernel.TypeStepExecuting:
		return &kernel.StepExecuting{StepRef: s.ref()}
	case kernel.TypeStepSucceeded:
		d := &kernel.StepSucceeded{StepRef: s.ref()}
		if s.bool() {
			d.Usage = &kernel.Usage{InputTokens: s.int64(), OutputTokens: s.int64()}
		}
		return d
	case kernel.TypeStepFailed:
		return &kernel.StepFailed{StepRef: s.ref(), Indeterminate: s.bool()}
	case kernel.TypeStepCancelled:
		return &kernel.StepCancelled{StepRef: s.ref()}
	case kernel.TypeApprovalRequested:
		return &kernel.ApprovalRequested{
			Approval: approval(), Step: step(), Rule: s.text(), Reason: s.text(), Message: s.text(), Approvers: s.texts(), TimeoutAt: s.instant(),
		}
	case kernel.TypeApprovalGranted:
		return &kernel.ApprovalGranted{Approval: approval(), Step: step(), DecidedBy: s.text(), Rationale: s.text()}
	case kernel.TypeApprovalDenied:
		return &kernel.ApprovalDenied{Approval: approval(), Step: step(), DecidedBy: s.text(), Rationale: s.text()}
	case kernel.TypeApprovalExpired:
		return &kernel.ApprovalExpired{Approval: approval(), Step: step()}
	case kernel.TypeSignalReceived:
		return &kernel.SignalReceived{Signal: kernel.SignalID{UUID: s.uuid()}, SignalType: s.text(), Key: s.text()}
	}
	return nil
}

// FuzzEventCodec: what is written reads back as it was, for every type.
func FuzzEventCodec(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x05\"\\\x00\u2028é\xff\xfe\x80abc\x03\x04long text with words and \xf0\x9f\x98\x80 in it\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	for i := range 8 {
		f.Add([]byte(strings.Repeat(string(rune('0'+i*9)), 40*(i+1))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, typ := range kernel.EventTypes() {
			s := &source{b}
			execution := kernel.ExecutionID{UUID: s.uuid()}
			written := s.data(typ)
			if written == nil || written.Type() != typ {
				t.Fatalf("no payload of type %s is made here: %T", typ, written)
			}
			payload := kernel.AppendPayload([]byte("before"), execution, written)[len("before"):]
			if err := canonjson.Check(payload); err != nil {
				t.Fatalf("the payload of %s is not JSON: %v\n%s", typ, err, payload)
			}
			read, err := kernel.DecodePayload(typ, payload)
			if err != nil {
				t.Fatalf("decode %s: %v\n%s", typ, err, payload)
			}
			if diff := cmp.Diff(written, read); diff != "" {
				t.Fatalf("decode(encode(%s)) (-written +read):\n%s\n%s", typ, diff, payload)
			}
		}
	})
}

// FuzzDecodePayload: no text is the end of the reader; what it accepts, it
// writes in a form that it reads as the same.
func FuzzDecodePayload(f *testing.F) {
	for _, d := range examples() {
		f.Add(byte(d.Type()), kernel.AppendPayload(nil, kernel.ExecutionID{}, d))
	}
	f.Add(byte(0), []byte(`{}`))
	f.Add(byte(99), []byte(`{}`))
	f.Add(byte(1), []byte(`{"deadline_at":"0000-01-01T00:00:00Z"}`))
	f.Add(byte(12), []byte(`{"step_id":"ZZ","usage":{"input_tokens":1e99}}`))
	f.Fuzz(func(t *testing.T, typ byte, payload []byte) {
		read, err := kernel.DecodePayload(kernel.EventType(typ), payload)
		if err != nil {
			if read != nil {
				t.Fatalf("an error (%v) and a payload %+v", err, read)
			}
			return
		}
		if read.Type() != kernel.EventType(typ) {
			t.Fatalf("type %d reads as %s", typ, read.Type())
		}
		written := kernel.AppendPayload(nil, kernel.ExecutionID{}, read)
		again, err := kernel.DecodePayload(kernel.EventType(typ), written)
		if err != nil {
			t.Fatalf("%s is written as %s, which does not read: %v", payload, written, err)
		}
		if diff := cmp.Diff(read, again); diff != "" {
			t.Fatalf("%s (-read +read again):\n%s", payload, diff)
		}
	})
}

// examples are payloads of every type, with and without what may be absent.
func examples() []kernel.Data {
	dispatch := kernel.DispatchID{UUID: kernel.UUID{0x01, 0x89, 0x0a, 0x5d, 0xac, 0x96, 0x77, 0x4b, 0xbc, 0xce, 0xb3, 0x02, 0x09, 0x9a, 0x80, 0x57}}
	approval := kernel.ApprovalID(dispatch)
	step, later := kernel.StepID{0xab, 31: 0xcd}, epoch.Add(90*time.Second)
	ref := kernel.StepRef{Step: step, Kind: kernel.ToolCall, Target: "send \"email\"", Dispatch: dispatch, Attempt: 2}
	llm := kernel.StepRef{Step: step, Kind: kernel.LLMCall, Target: "größe", Dispatch: dispatch, Attempt: 2}
	return []kernel.Data{
		&kernel.ExecutionCreated{Agent: "mailer", Labels: map[string]string{"team": "a", "env": "prod"}, Deadline: later},
		&kernel.ExecutionCreated{Agent: "mailer"},
		&kernel.ExecutionStarted{Dispatch: dispatch, Attempt: 1},
		&kernel.ExecutionBlocked{Reason: kernel.BlockedOnApproval, Step: step, Approval: approval},
		&kernel.ExecutionBlocked{Reason: kernel.BlockedOnSignal, Step: step, Signal: "go", TimeoutAt: later},
		&kernel.ExecutionBlocked{Reason: kernel.BlockedOnSignal, Step: step, Signal: "go"},
		&kernel.ExecutionResumed{Reason: kernel.ReasonApprovalGranted},
		&kernel.ExecutionCompleted{},
		&kernel.ExecutionFailed{Reason: "no such mailbox"},
		&kernel.ExecutionCancelled{Reason: kernel.ReasonDeadline},
		&kernel.DispatchQueued{Dispatch: dispatch, Reason: kernel.ReasonCreated},
		&kernel.DispatchQueued{Dispatch: dispatch, Attempt: 1, Reason: kernel.ReasonLeaseLapsed},
		&kernel.DispatchAcked{Dispatch: dispatch, Attempt: 1},
		&kernel.DeliveryFailed{Dispatch: dispatch, Attempt: 1, Status: kernel.DispatchFailed, Error: "not 200", HTTPStatus: 503, NextAttemptAt: later},
		&kernel.DeliveryFailed{Dispatch: dispatch, Attempt: 5, Status: kernel.DispatchExhausted, Error: kernel.ReasonLeaseLapsed},
		&kernel.DeliveryDiscarded{Dispatch: dispatch, Attempt: 1},
		&kernel.StepProposed{StepRef: ref, ArgsHash: kernel.Digest(step), Occurrence: 1, Idempotency: kernel.AtMostOnce},
		&kernel.StepAllowed{StepRef: ref, Rule: "r1"},
		&kernel.StepDenied{StepRef: ref, Rule: "r1", Reason: kernel.ReasonPolicyDenied},
		&kernel.StepAwaitingApproval{StepRef: ref, Rule: "r1"},
		&kernel.StepRateLimited{StepRef: ref, Rule: "r1", Reason: kernel.ReasonRateLimited, Parked: true, RetryAt: later},
		&kernel.StepRateLimited{StepRef: ref, Rule: "r1", Reason: kernel.ReasonRateLimited},
		&kernel.StepExecuting{StepRef: ref},
		&kernel.StepSucceeded{StepRef: ref},
		&kernel.StepSucceeded{StepRef: llm, Usage: &kernel.Usage{InputTokens: 7, OutputTokens: 0}},
		&kernel.StepFailed{StepRef: ref},
		&kernel.StepFailed{StepRef: ref, Indeterminate: true},
		&kernel.StepCancelled{StepRef: ref},
		&kernel.ApprovalRequested{
			Approval: approval, Step: step, Rule: "r1", Reason: "writes need a look", Message: "check the path",
			Approvers: []string{"alice", "bob"}, TimeoutAt: later,
		},
		&kernel.ApprovalRequested{Approval: approval, Step: step, Rule: "r1", TimeoutAt: later},
		&kernel.ApprovalGranted{Approval: approval, Step: step, DecidedBy: "alice", Rationale: "looks right"},
		&kernel.ApprovalDenied{Approval: approval, Step: step, DecidedBy: "bob"},
		&kernel.ApprovalExpired{Approval: approval, Step: step},
		&kernel.SignalReceived{Signal: kernel.SignalID(dispatch), SignalType: "go", Key: "k-1"},
		&kernel.SignalReceived{Signal: kernel.SignalID(dispatch), SignalType: "go"},
	}
}

// TestPayloads holds the exact payload of every type: what readers of the log,
// and the hash chain, rely on.
func TestPayloads(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	execution := kernel.ExecutionID{UUID: kernel.UUID{0x01, 0x89, 6: 0x70, 8: 0x80, 15: 0x01}}
	shown := map[kernel.EventType]bool{}
	for _, d := range examples() {
		payload := kernel.AppendPayload(nil, execution, d)
		if err := canonjson.Check(payload); err != nil {
			t.Errorf("%s: not JSON: %v: %s", d.Type(), err, payload)
		}
		fmt.Fprintf(&out, "%s\n  %s\n", d.Type(), payload)
		shown[d.Type()] = true
	}
	for _, typ := range kernel.EventTypes() {
		if !shown[typ] {
			t.Errorf("no example of %s", typ)
		}
	}
	const file = "testdata/payloads.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got; a change here breaks logs that are written already):\n%s", file, diff)
	}
}

// TestBodyField: the payload field that a body is shown under is not one that
// the lean payload has.
func TestBodyField(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, typ := range kernel.EventTypes() {
		field := typ.BodyField()
		if field == "" {
			continue
		}
		got[typ.String()] = field
		var lean map[string]any
		if err := json.Unmarshal(kernel.AppendPayload(nil, kernel.ExecutionID{}, (&source{}).data(typ)), &lean); err != nil {
			t.Fatal(err)
		}
		if _, twice := lean[field]; twice {
			t.Errorf("the lean payload of %s has a field %s of its own", typ, field)
		}
	}
	want := map[string]string{
		"execution.completed": "output", "step.failed": "error", "step.denied": "error", "step.cancelled": "error", "signal.received": "payload",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields that show a body (-want +got):\n%s", diff)
	}
}

func TestTerminalEvents(t *testing.T) {
	t.Parallel()
	var got []string
	for _, typ := range kernel.EventTypes() {
		if typ.Terminal() {
			got = append(got, typ.String())
		}
	}
	if diff := cmp.Diff([]string{"execution.completed", "execution.failed", "execution.cancelled"}, got); diff != "" {
		t.Errorf("events that end an execution (-want +got):\n%s", diff)
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("01890a5d-ac96-774b-bcce-b302099a8057")
	f.Add("01890A5D-ac96-774b-bcce-b302099a8057")
	f.Add("01890a5dac96774bbcceb302099a8057")
	f.Add("{01890a5d-ac96-774b-bcce-b302099a805}")
	f.Add("01890a5d_ac96-774b-bcce-b302099a8057")
	f.Add("01890a5d-ac96-774bb-cce-b302099a8057")
	f.Add("01890a5d-ac96-774b-bcce-b302099a805é")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		u, ok := kernel.ParseUUID(text)
		if ok != isUUID(text) {
			t.Fatalf("%q is an id: got %t, want %t", text, ok, !ok)
		}
		if !ok && !u.IsZero() {
			t.Fatalf("%q is no id, and reads as %s", text, u)
		}
		if ok && u.String() != text {
			t.Fatalf("%q reads as %s", text, u)
		}
		var read kernel.UUID
		if err := read.UnmarshalText([]byte(text)); (err == nil) != ok || read != u {
			t.Fatalf("%q unmarshals as %s, %v", text, read, err)
		}
		a, okA := kernel.ParseApprovalID(text)
		d, okD := kernel.ParseDispatchID(text)
		if okA != ok || okD != ok || a.UUID != u || d.UUID != u {
			t.Fatalf("%q reads as approval %s, %t and dispatch %s, %t", text, a, okA, d, okD)
		}
	})
}

// isUUID is the grammar, written anew: 8-4-4-4-12 lower-case hex digits.
func isUUID(text string) bool {
	groups := strings.Split(text, "-")
	if len(groups) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(groups[i]) != n || strings.Trim(groups[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}
