package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const (
	maxResponse     = 4 << 10 // what is read of an answer
	maxHeaders      = 16 << 10
	drainFor        = time.Second
	defaultTimeout  = 30 * time.Second
	idleConnTimeout = 4 * time.Second // below the 5 s after which common servers close: a POST on a closed connection is a failed delivery
)

// Webhook delivers over HTTP: one POST, signed, no redirects, only status 200
// counts.
type Webhook struct {
	client *http.Client
	opts   WebhookOptions
}

// WebhookOptions tune the deliverer.
type WebhookOptions struct {
	Timeout   time.Duration // of one delivery; default 30s
	Allow     []string      // host patterns (* and ?) that webhooks may go to; empty: any
	UserAgent string        // default "kernelctl"
}

// NewWebhook is a webhook deliverer.
func NewWebhook(o WebhookOptions) *Webhook {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "kernelctl"
	}
	dialer := &net.Dialer{Timeout: o.Timeout, Control: refuseForbidden}
	return &Webhook{
		opts: o,
		client: &http.Client{
			Transport: &http.Transport{
				DialContext:            dialer.DialContext,
				DisableCompression:     true,
				IdleConnTimeout:        idleConnTimeout,
				MaxIdleConns:           256,
				MaxIdleConnsPerHost:    64,
				MaxResponseHeaderBytes: maxHeaders,
				TLSHandshakeTimeout:    o.Timeout,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close drops the idle connections.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }

// Deliver implements [Deliverer].
func (w *Webhook) Deliver(ctx context.Context, d engine.Delivery) error {
	if err := w.allowed(d.WebhookURL); err != nil {
		return err
	}
	body, err := json.Marshal(wire.Webhook{
		ExecutionID: d.Execution.String(), DispatchID: d.Attempt.Dispatch.String(), DispatchAttempt: d.Attempt.Attempt,
		LeaseTimeoutSeconds: max(1, int64(d.Lease/time.Second)),
	})
	if err != nil {
		return fmt.Errorf("encode webhook: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.WebhookURL, bytes.NewReader(body))
	if err != nil {
		return &Undelivered{Reason: "bad webhook_url: " + bare(err)}
	}
	req.Header.Set("Content-Type", wire.ContentTypeJSON)
	req.Header.Set("User-Agent", w.opts.UserAgent)
	req.Header.Set(wire.HeaderSignature, wire.Sign(wire.Secret(d.Secret), body))
	resp, err := w.client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return &Undelivered{Reason: fmt.Sprintf("no answer within %s", w.opts.Timeout)}
		}
		return &Undelivered{Reason: bare(err)}
	}
	// The status is the answer. The rest is read so that the connection can be
	// used again, but not for long.
	drain := time.AfterFunc(drainFor, cancel)
	defer drain.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxResponse)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &Undelivered{Reason: fmt.Sprintf("the agent answered %d, want 200", resp.StatusCode), HTTPStatus: resp.StatusCode}
	}
	return nil
}

func (w *Webhook) allowed(webhookURL string) error {
	if len(w.opts.Allow) == 0 {
		return nil
	}
	u, err := url.Parse(webhookURL)
	if err != nil {
		return &Undelivered{Reason: "bad webhook_url: " + bare(err)}
	}
	host := strings.ToLower(u.Hostname())
	for _, pattern := range w.opts.Allow {
		if ok, err := path.Match(strings.ToLower(pattern), host); err == nil && ok {
			return nil
		}
	}
	return &Undelivered{Reason: fmt.Sprintf("webhooks may not go to host %q: no --webhook-allow pattern matches", host)}
}

// metadata are the addresses at which clouds hand out credentials, beside the
// link-local ones.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS over IPv6
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google over IPv6
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
}

// nat64 is where gateways make IPv4 addresses out of the last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// refuseForbidden sees the address after the name was resolved, so that no
// name can hide it.
func refuseForbidden(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	ip := at.Addr().Unmap().WithZone("")
	if nat64.Contains(ip) {
		all := ip.As16()
		ip = netip.AddrFrom4([4]byte(all[12:]))
	}
	hands := func(p netip.Prefix) bool { return p.Contains(ip) }
	if ip.IsLinkLocalUnicast() || ip.IsMulticast() || slices.ContainsFunc(metadata, hands) {
		return fmt.Errorf("webhooks never go to %s: link-local and cloud metadata addresses are refused", ip)
	}
	return nil
}

// bare is the cause without the URL, which may carry what should not be logged.
func bare(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
