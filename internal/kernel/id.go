package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// UUID is a 16-byte identifier; every id the service mints is version 7
// (RFC 9562 §5.7) and its text form is lower case.
type UUID [16]byte

// The ids of the service. They are types, so that one is never taken for another.
type (
	// ExecutionID names an execution.
	ExecutionID struct{ UUID }
	// DispatchID names a dispatch.
	DispatchID struct{ UUID }
	// ApprovalID names an approval.
	ApprovalID struct{ UUID }
	// EventID names an event.
	EventID struct{ UUID }
	// SignalID names a delivered signal.
	SignalID struct{ UUID }
	// AgentID is the name of an agent: 1–128 characters of A-Z a-z 0-9 . _ -
	AgentID string
	// Digest is a SHA-256 sum; the zero Digest means "none".
	Digest [sha256.Size]byte
	// StepID identifies a step by what it does ([DeriveStepID]); its text form is 64 hex characters.
	StepID [sha256.Size]byte
)

const uuidTextLen = 36

// AppendText appends the canonical text form.
func (u UUID) AppendText(dst []byte) ([]byte, error) {
	var text [uuidTextLen]byte
	hex.Encode(text[:8], u[:4])
	text[8] = '-'
	hex.Encode(text[9:13], u[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], u[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], u[8:10])
	text[23] = '-'
	hex.Encode(text[24:], u[10:])
	return append(dst, text[:]...), nil
}

// String is the canonical lower-case text form.
func (u UUID) String() string {
	text, _ := u.AppendText(make([]byte, 0, uuidTextLen)) // never fails
	return string(text)
}

// IsZero reports whether the id is absent.
func (u UUID) IsZero() bool { return u == UUID{} }

// ParseUUID reads the canonical lower-case form; anything else, upper case
// included, is not an id of this service.
func ParseUUID(s string) (u UUID, ok bool) {
	if len(s) != uuidTextLen {
		return UUID{}, false
	}
	at := 0
	for i := 0; i < len(s); {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return UUID{}, false
			}
			i++
			continue
		}
		hi, okHi := lowerHex(s[i])
		lo, okLo := lowerHex(s[i+1])
		if !okHi || !okLo {
			return UUID{}, false
		}
		u[at] = hi<<4 | lo
		at++
		i += 2
	}
	return u, true
}

// ParseExecutionID is [ParseUUID] for executions.
func ParseExecutionID(s string) (ExecutionID, bool) { u, ok := ParseUUID(s); return ExecutionID{u}, ok }

// ParseApprovalID is [ParseUUID] for approvals.
func ParseApprovalID(s string) (ApprovalID, bool) { u, ok := ParseUUID(s); return ApprovalID{u}, ok }

// ParseDispatchID is [ParseUUID] for dispatches.
func ParseDispatchID(s string) (DispatchID, bool) { u, ok := ParseUUID(s); return DispatchID{u}, ok }

// String is the lower-case hex form.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is the lower-case hex form.
func (id StepID) String() string { return hex.EncodeToString(id[:]) }

// ParseStepID reads 64 lower-case hex characters.
func ParseStepID(s string) (id StepID, ok bool) {
	if len(s) != 2*len(id) {
		return StepID{}, false
	}
	for i := range id {
		hi, okHi := lowerHex(s[2*i])
		lo, okLo := lowerHex(s[2*i+1])
		if !okHi || !okLo {
			return StepID{}, false
		}
		id[i] = hi<<4 | lo
	}
	return id, true
}

func lowerHex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// Sum is the SHA-256 digest of b.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// DeriveStepID is the identity of a step: SHA-256 over the five fields, each
// written as <byte length>:<bytes>, the occurrence in decimal.
func DeriveStepID(execution ExecutionID, kind StepKind, target string, argsHash Digest, occurrence uint32) StepID {
	var stack [512]byte
	b := append(stack[:0], "36:"...)
	b, _ = execution.AppendText(b) // never fails
	b = appendField(b, kind.String())
	b = appendField(b, target)
	b = append(b, "64:"...)
	b = hex.AppendEncode(b, argsHash[:])
	b = appendField(b, strconv.FormatUint(uint64(occurrence), 10))
	return sha256.Sum256(b)
}

func appendField(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}

// Mint makes the ids of one command: version 7 UUIDs of one moment that differ
// in a counter (RFC 9562 §6.2, method 2). The seed is drawn outside the core.
type Mint struct {
	at   Instant
	seed [10]byte
	next uint16
}

// NewMint is a mint for a command given at at, with ten random bytes.
func NewMint(at Instant, seed [10]byte) Mint { return Mint{at: at, seed: seed} }

// UUID is the next id, above the one before. A command mints far fewer than 32,768.
func (m *Mint) UUID() UUID {
	var u UUID
	ms := uint64(m.at) / 1000
	u[0], u[1], u[2], u[3], u[4], u[5] = byte(ms>>40), byte(ms>>32), byte(ms>>24), byte(ms>>16), byte(ms>>8), byte(ms)
	copy(u[6:], m.seed[:])
	u[6] = 0x70 | u[6]&0x0f
	u[8] = 0x80 | u[8]&0x3f
	// The counter begins in the lower half of its range, so that it grows and never wraps.
	count := uint16(u[14]&0x7f)<<8 | uint16(u[15])
	count += m.next
	u[14], u[15] = byte(count>>8), byte(count)
	m.next++
	return u
}
