package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

const signaturePrefix = "sha256="

// Secret is a key that is shared with an agent. Printing or logging it shows
// a placeholder; only its JSON and a conversion to string give it away.
type Secret string

const redacted = "[redacted]"

// String is a placeholder.
func (Secret) String() string { return redacted }

// GoString is a placeholder.
func (Secret) GoString() string { return redacted }

// LogValue is a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// Sign is the value of the header Service-Signature for a raw body: "sha256="
// and the HMAC-SHA256 of the body in lower-case hex. A request without a body
// is signed as the empty one. The service signs webhooks the same way.
func Sign(secret Secret, body []byte) string {
	return string(appendSignature(nil, secret, body))
}

// Verify reports whether header is the signature of body. It takes the same
// time whether the first or the last digit is wrong, and refuses any other
// spelling of the right one (upper-case digits, white space).
func Verify(secret Secret, body []byte, header string) bool {
	var stack [len(signaturePrefix) + 2*sha256.Size]byte
	return hmac.Equal(appendSignature(stack[:0], secret, body), []byte(header))
}

func appendSignature(dst []byte, secret Secret, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body) // a hash never fails to be written to
	var sum [sha256.Size]byte
	return hex.AppendEncode(append(dst, signaturePrefix...), mac.Sum(sum[:0]))
}
