package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// The limits of what registers an agent, by the API or by a manifest.
const (
	MaxWebhookURLBytes     = 2048
	MinLeaseTimeoutSeconds = 10 // a smaller value is ignored: the service's default applies
	MaxLeaseTimeoutSeconds = 365 * 24 * 60 * 60
)

// ValidateAgentID says what is wrong with an agent's id; nil for a good one.
func ValidateAgentID(id string) error {
	switch {
	case id == "":
		return errors.New("must not be empty")
	case !ValidName(id):
		return fmt.Errorf("must be 1 to %d characters of A-Z a-z 0-9 . _ -", MaxNameBytes)
	}
	return nil
}

// ValidateSecret says what is wrong with an agent's secret; nil for a good one.
// The error never holds the secret.
func ValidateSecret(s Secret) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// ValidateLeaseTimeoutSeconds says what is wrong with an agent's lease timeout;
// nil for a good one, which a value under ten is, too, although it is ignored.
func ValidateLeaseTimeoutSeconds(n int64) error {
	switch {
	case n < 0:
		return errors.New("must not be negative")
	case n > MaxLeaseTimeoutSeconds:
		return fmt.Errorf("must be at most %d seconds, a year", MaxLeaseTimeoutSeconds)
	}
	return nil
}

// ValidateWebhookURL says what is wrong with an agent's webhook URL: it must be
// an absolute http or https URL with a host, without credentials and without a
// fragment. The error never holds the URL, which might hold a credential.
func ValidateWebhookURL(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	if len(s) > MaxWebhookURLBytes {
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(s), MaxWebhookURLBytes)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("is not a URL: %s", parseReason(err))
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return errors.New("must be an absolute http or https URL, such as https://agent.example/webhook")
	case u.User != nil:
		return errors.New("must not hold credentials: webhooks are signed with the agent's secret")
	case strings.Contains(s, "#"):
		return errors.New("must not have a fragment (#…): it is never sent")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("must have a port from 1 to 65535, or none")
		}
	}
	return nil
}

// parseReason is what url.Parse found, without the text that it found it in.
func parseReason(err error) string {
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err
	}
	var escape url.EscapeError
	var host url.InvalidHostError
	switch {
	case errors.As(err, &escape):
		return "invalid escape after %"
	case errors.As(err, &host):
		return "invalid character in the host name"
	case strings.HasPrefix(err.Error(), "invalid port"):
		return "invalid port after the host"
	}
	return strings.TrimPrefix(err.Error(), "net/url: ")
}
