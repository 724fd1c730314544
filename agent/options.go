package agent

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// What an Options field means when it is left zero.
const (
	defaultRequestTimeout = 30 * time.Second
	defaultConcurrentRuns = 256
	defaultQueuedRuns     = 1024
	defaultRetryElapsed   = time.Minute
	defaultRetryBase      = 100 * time.Millisecond
	defaultRetryMax       = 5 * time.Second
)

// Options is what [New] needs to know. BaseURL, AgentID and Secret are
// required; every other field works when left zero.
type Options struct {
	// BaseURL is where the kernel answers, without /v0: http or https, no
	// credentials, no query.
	BaseURL string
	// AgentID is the id under which the agent is registered: 1 to 128
	// characters of A-Z a-z 0-9 . _ -
	AgentID string
	// Secret is the agent's registered HMAC secret. It signs every request and
	// verifies every webhook; it is never sent, logged or put into an error.
	Secret string `json:"-"`

	// HTTPClient carries the requests to the kernel. Nil means a client of the
	// agent's own, which follows no redirects.
	HTTPClient *http.Client
	// Logger gets what the SDK has to say. Nil means slog.Default().
	Logger *slog.Logger
	// Retry says how requests to the kernel are repeated.
	Retry RetryPolicy
	// RequestTimeout bounds one try of one request. 0 means 30s.
	RequestTimeout time.Duration
	// MaxConcurrentRuns is how many agent functions run at once. 0 means 256,
	// a negative value no limit. A run above the limit is acknowledged and
	// waits; its lease is kept alive meanwhile.
	MaxConcurrentRuns int
	// MaxQueuedRuns is how many runs may wait for their turn. 0 means 1024, a
	// negative value none. A webhook that finds the queue full is answered
	// 503, and the kernel delivers again later.
	MaxQueuedRuns int
}

// RetryPolicy says how a request to the kernel is repeated after a network
// error or a status of 429, 502, 503 or 504. All requests of the SDK are safe
// to repeat. The wait before repetition n is random in
// [0, min(MaxDelay, BaseDelay·2ⁿ)], and at least what Retry-After asks for.
type RetryPolicy struct {
	// MaxElapsed is how long one request keeps being repeated, counted from
	// its first try. 0 means one minute, a negative value no repetition.
	MaxElapsed time.Duration
	// BaseDelay is the bound of the first wait. 0 means 100ms.
	BaseDelay time.Duration
	// MaxDelay is the bound of every wait that Retry-After does not set. 0
	// means 5s.
	MaxDelay time.Duration
}

// Format prints the options without the secret, whatever the verb.
func (o Options) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, o.text())
}

// LogValue is what slog prints: the options without the secret.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.text()) }

func (o Options) text() string {
	return fmt.Sprintf("agent.Options{BaseURL: %q, AgentID: %q}", o.BaseURL, o.AgentID)
}

func (o Options) validate() error {
	var problems []error
	add := func(field, problem string) {
		problems = append(problems, fmt.Errorf("%s: %s", field, problem))
	}
	if problem := baseURLProblem(o.BaseURL); problem != "" {
		add("BaseURL", problem)
	}
	if !validName(o.AgentID) {
		add("AgentID", "want 1 to 128 characters of A-Z a-z 0-9 . _ -")
	}
	if o.Secret == "" {
		add("Secret", "missing; it is what the agent was registered with")
	}
	return errors.Join(problems...)
}

// withDefaults fills the fields that were left zero, the HTTP client aside.
func (o Options) withDefaults() Options {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.RequestTimeout = orDefault(o.RequestTimeout, defaultRequestTimeout)
	o.MaxConcurrentRuns = orDefault(o.MaxConcurrentRuns, defaultConcurrentRuns)
	o.MaxQueuedRuns = max(orDefault(o.MaxQueuedRuns, defaultQueuedRuns), 0)
	o.Retry.MaxElapsed = orDefault(o.Retry.MaxElapsed, defaultRetryElapsed)
	o.Retry.BaseDelay = orDefault(o.Retry.BaseDelay, defaultRetryBase)
	o.Retry.MaxDelay = orDefault(o.Retry.MaxDelay, defaultRetryMax)
	return o
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// ownHTTPClient keeps more idle connections than the standard client, whose two
// per host would make a busy agent dial for every other request. It follows no
// redirect: a signed write must end where it was sent.
func ownHTTPClient() *http.Client {
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if std, ok := http.DefaultTransport.(*http.Transport); ok {
		t := std.Clone()
		t.MaxIdleConnsPerHost = 64
		client.Transport = t
	}
	return client
}

// baseURLProblem says what is wrong with a base URL, "" for nothing.
func baseURLProblem(raw string) string {
	if raw == "" {
		return "missing"
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "not a URL" // the parser's error repeats the text, which may hold a password
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "want an absolute http or https URL"
	case u.User != nil:
		return "must not hold credentials; requests are signed with Secret"
	case u.RawQuery != "" || u.Fragment != "":
		return "must not have a query or a fragment"
	case path.Base(u.Path) == "v0":
		return "must not end in /v0; the SDK adds it"
	}
	return ""
}

// validName says whether s is a name of the kernel's grammar for agent ids and
// signal types.
func validName(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
