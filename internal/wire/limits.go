package wire

// The limits of requests.
const (
	DefaultMaxBodyBytes = 4 << 20 // of a request body; configurable
	MaxJSONDepth        = 64      // levels of nesting, the outermost value being level 1

	MaxNameBytes           = 128 // of an agent id and of a signal type
	MaxIdempotencyKeyBytes = 255

	MaxLabels          = 32 // pairs
	MaxLabelKeyChars   = 63
	MaxLabelValueChars = 256

	MaxDeltaBytes  = 7000      // of one stream delta's data
	MaxBundleBytes = 256 << 10 // of one policy bundle
	MaxBundleRules = 1000
)

// The page sizes of lists: a limit above the maximum is taken as the maximum.
const (
	DefaultExecutionsLimit = 50
	MaxExecutionsLimit     = 200
	DefaultEventsLimit     = 100
	MaxEventsLimit         = 1000
	DefaultApprovalsLimit  = 100
	MaxApprovalsLimit      = 1000
)

// ValidName reports whether s can name an agent or a type of signal: 1 to 128
// characters of A-Z a-z 0-9 . _ -
func ValidName(s string) bool {
	if s == "" || len(s) > MaxNameBytes {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// ValidIdempotencyKey reports whether s can be the value of the header
// Idempotency-Key: 1 to 255 visible ASCII characters.
func ValidIdempotencyKey(s string) bool {
	if s == "" || len(s) > MaxIdempotencyKeyBytes {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
