package logging

import (
	"log/slog"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// sensitive are the last words of names that hold a credential.
var sensitive = []string{"secret", "token", "authorization", "signature", "password", "cookie"}

// Sensitive reports whether an attribute of that name is kept out of the log:
// its last word is secret, token, authorization, signature, password or cookie,
// however the words are joined (bearer_token, Service-Signature, webhookSecret).
// Counts such as input_tokens are not meant.
func Sensitive(name string) bool {
	return slices.ContainsFunc(sensitive, func(word string) bool {
		at := len(name) - len(word)
		if at < 0 || !strings.EqualFold(name[at:], word) {
			return false
		}
		return at == 0 || !isLower(name[at-1]) || !isLower(name[at])
	})
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// redact is the guard behind everything that is logged: a type that hides
// itself is better, but a plain string must not get through either.
func redact(groups []string, a slog.Attr) slog.Attr {
	if Sensitive(a.Key) || slices.ContainsFunc(groups, Sensitive) {
		return slog.String(a.Key, redacted)
	}
	return a
}
