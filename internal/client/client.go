package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// The defaults of [Options].
const (
	DefaultRequestTimeout = 10 * time.Second
	DefaultTries          = 4
	DefaultStallTimeout   = 45 * time.Second
)

// Options are what a client may be told beside the address of its server. The
// zero value works.
type Options struct {
	Token          string            // sent as a bearer token; empty: none
	UserAgent      string            // empty: "kernelctl"
	RequestTimeout time.Duration     // of one try; zero: DefaultRequestTimeout; negative: none
	Tries          int               // of a request that is safe to repeat; zero: DefaultTries
	Backoff        Backoff           // between the tries of a request
	TailBackoff    Backoff           // between the connections of a tail
	StallTimeout   time.Duration     // a tail this long without a byte is dead; zero: DefaultStallTimeout
	Poll           time.Duration     // how often to ask a service that has no tails; zero: 500 ms
	Transport      http.RoundTripper // nil: one of our own
}

// Client talks to one service.
type Client struct {
	base  *url.URL
	http  *http.Client
	opt   Options
	clock atomic.Int64 // the service's clock minus ours, in nanoseconds
	asked atomic.Bool  // clock is known
}

// New is a client of the service at server, an http or https URL. A missing
// scheme is taken as http for a loopback address and refused otherwise; the
// path prefix /v0 may be part of it or not.
func New(server string, o Options) (*Client, error) {
	base, err := ParseServer(server)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	o.setDefaults()
	return &Client{
		base: base,
		opt:  o,
		// A redirect would carry a request to where it was not meant to go.
		http: &http.Client{
			Transport:     o.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func (o *Options) setDefaults() {
	if o.UserAgent == "" {
		o.UserAgent = "kernelctl"
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = DefaultRequestTimeout
	}
	if o.Tries <= 0 {
		o.Tries = DefaultTries
	}
	o.Backoff.setDefaults(200*time.Millisecond, 5*time.Second)
	o.TailBackoff.setDefaults(500*time.Millisecond, 15*time.Second)
	if o.StallTimeout <= 0 {
		o.StallTimeout = DefaultStallTimeout
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
}

// NewTransport is the transport of a client that was given none; for wrapping.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       60 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// ParseServer reads the address of a service. The result has a scheme, a host
// and perhaps a path, without /v0 and without a slash at its end.
func ParseServer(server string) (*url.URL, error) {
	text := strings.TrimSpace(server)
	if text == "" {
		return nil, errors.New("the server's address is empty")
	}
	if !strings.Contains(text, "://") {
		if !loopbackAddress(text) {
			return nil, fmt.Errorf("server %q: say http:// or https://", server)
		}
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("server: %w", withoutURL(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("server: the scheme is %q, want http or https", u.Scheme)
	case u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("server %q: no host", server)
	case u.User != nil:
		return nil, errors.New("server: the address must not contain a user or a password")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("server %q: neither a query nor a fragment belongs there", server)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v0")
	u.RawPath = ""
	return u, nil
}

// withoutURL drops the URL that package url puts into its errors: it may hold
// a password.
func withoutURL(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

func loopbackAddress(hostport string) bool {
	u, err := url.Parse("http://" + hostport)
	return err == nil && IsLoopback(u)
}

// IsLoopback reports whether the service at u runs on this very machine.
func IsLoopback(u *url.URL) bool {
	host := u.Hostname()
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Server is the address of the service, without /v0.
func (c *Client) Server() string { return c.base.String() }

// HasToken reports whether requests carry a bearer token.
func (c *Client) HasToken() bool { return c.opt.Token != "" }

// ClockOffset is the service's clock minus ours, as its last response showed
// it, to the second; false before the first response.
func (c *Client) ClockOffset() (time.Duration, bool) {
	return time.Duration(c.clock.Load()), c.asked.Load()
}

// noteClock remembers the offset of the service's clock. The header has no
// fractions, so half a second is added: on average that is right.
func (c *Client) noteClock(h http.Header) {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	c.clock.Store(int64(time.Until(t.Add(500 * time.Millisecond))))
	c.asked.Store(true)
}
