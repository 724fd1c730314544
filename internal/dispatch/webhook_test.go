package dispatch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/dispatch"
	"github.com/agentkernel/kernelctl/internal/engine"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const secret = "a secret"

func delivery(url string) engine.Delivery {
	id, _ := kernel.ParseUUID("019e1f0a-7c3b-7d10-9a4e-3f2b8c5d6e7f")
	return engine.Delivery{
		Execution: kernel.ExecutionID{UUID: id}, Attempt: kernel.Holder{Dispatch: kernel.DispatchID{UUID: id}, Attempt: 3},
		Lease: 90 * time.Second, WebhookURL: url, Secret: secret,
	}
}

func newWebhook(t *testing.T, o dispatch.WebhookOptions) *dispatch.Webhook {
	t.Helper()
	w := dispatch.NewWebhook(o)
	t.Cleanup(w.Close)
	return w
}

// TestWebhookRequest is what the agent gets, byte for byte.
func TestWebhookRequest(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !wire.Verify(secret, body, r.Header.Get("Service-Signature")) {
			t.Errorf("signature %q", r.Header.Get("Service-Signature"))
		}
		got <- fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Content-Type"), " ", r.UserAgent(), " ", r.ContentLength == int64(len(body)), " ", string(body))
	}))
	t.Cleanup(agent.Close)
	if err := newWebhook(t, dispatch.WebhookOptions{UserAgent: "kernelctl/test"}).Deliver(t.Context(), delivery(agent.URL+"/hook?x=1&y=%2F")); err != nil {
		t.Fatal(err)
	}
	const id = "019e1f0a-7c3b-7d10-9a4e-3f2b8c5d6e7f"
	want := `POST /hook?x=1&y=%2F application/json kernelctl/test true {"execution_id":"` + id + `","dispatch_id":"` + id + `","dispatch_attempt":3,"lease_timeout_seconds":90}`
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWebhookLease: always a positive integer, whatever the lease is.
func TestWebhookLease(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]string{
		time.Millisecond: `"lease_timeout_seconds":1}`, 10 * time.Second: `"lease_timeout_seconds":10}`, 10900 * time.Millisecond: `"lease_timeout_seconds":10}`,
	} {
		agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); !strings.HasSuffix(string(body), want) {
				t.Errorf("a lease of %s: %s, want %s", lease, body, want)
			}
		}))
		d := delivery(agent.URL)
		d.Lease = lease
		if err := newWebhook(t, dispatch.WebhookOptions{}).Deliver(t.Context(), d); err != nil {
			t.Error(err)
		}
		agent.Close()
	}
}

// raw answers every connection with a text, and then does as after says.
func raw(t *testing.T, answer string, after func(net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
			}
			_, _ = io.WriteString(conn, answer)
			after(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return "http://" + listener.Addr().String()
}

func hangUp(net.Conn) {}

// untilItLeaves reads until the other side has closed.
func untilItLeaves(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// withoutEnd writes until the other side has closed.
func withoutEnd(c net.Conn) {
	for {
		if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
			return
		}
	}
}

// TestHostileAgents: whatever an agent does, it costs one attempt and ends soon;
// the status alone says whether it took the dispatch.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(elsewhere.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	const head = "HTTP/1.1 200 OK\r\n"
	for _, tt := range []struct {
		name   string
		url    string
		status int
		says   string // "": it took it
	}{
		{"fine", raw(t, head+"Content-Length: 2\r\n\r\nok", hangUp), 200, ""},
		{"fine, and never ends", raw(t, head+"\r\n", withoutEnd), 200, ""},
		{"fine, and never goes on", raw(t, head+"Content-Length: 100\r\n\r\n", untilItLeaves), 200, ""},
		{"fine, and lies about the length", raw(t, head+"Content-Length: 100\r\n\r\nshort", hangUp), 200, ""},
		{"fine, in the end", raw(t, "HTTP/1.1 102 Processing\r\n\r\n"+head+"Content-Length: 0\r\n\r\n", hangUp), 200, ""},
		{"created", raw(t, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", hangUp), 201, "201"},
		{"no content", raw(t, "HTTP/1.1 204 No Content\r\n\r\n", hangUp), 204, "204"},
		{"redirect", raw(t, "HTTP/1.1 302 Found\r\nLocation: "+elsewhere.URL+"\r\nContent-Length: 0\r\n\r\n", hangUp), 302, "302"},
		{"redirect of the post", raw(t, "HTTP/1.1 307 Temporary Redirect\r\nLocation: "+elsewhere.URL+"\r\nContent-Length: 0\r\n\r\n", hangUp), 307, "307"},
		{"redirect to nowhere", raw(t, "HTTP/1.1 308 Permanent Redirect\r\nContent-Length: 0\r\n\r\n", hangUp), 308, "308"},
		{"refusal", raw(t, "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", hangUp), 500, "500"},
		{"refusal without end", raw(t, "HTTP/1.1 404 x\r\n\r\n", withoutEnd), 404, "404"},
		{"hangs up", raw(t, "", hangUp), 0, "EOF"},
		{"half an answer", raw(t, "HTTP/1.1 2", hangUp), 0, "malformed"},
		{"no HTTP", raw(t, "hello\r\n\r\n", hangUp), 0, "malformed"},
		{"never answers", raw(t, "", untilItLeaves), 0, "no answer within"},
		{"headers without end", raw(t, head+"X: ", withoutEnd), 0, "header"},
		{"many headers", raw(t, head+strings.Repeat("X: y\r\n", 10_000)+"\r\n", hangUp), 0, "header"},
		{"interim answers without end", raw(t, strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("y", 100)+"\r\n\r\n", 1000), hangUp), 0, ""},
		{"nobody there", closed.URL, 0, "refused"},
		{"no such host", "http://host.invalid/", 0, "host.invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := newWebhook(t, dispatch.WebhookOptions{Timeout: 2 * time.Second}).Deliver(t.Context(), delivery(tt.url))
			var u *dispatch.Undelivered
			switch {
			case tt.status == http.StatusOK:
				if err != nil {
					t.Errorf("%v, want that it took it", err)
				}
			case !errors.As(err, &u):
				t.Errorf("%v, want that it was not delivered", err)
			case u.HTTPStatus != tt.status || !strings.Contains(u.Reason, tt.says):
				t.Errorf("status %d, %q: want %d, and that it says %q", u.HTTPStatus, u.Reason, tt.status, tt.says)
			}
		})
	}
	t.Cleanup(func() {
		if reached {
			t.Error("a redirect was followed")
		}
	})
}

// TestWebhookIsCutOff when the service cannot wait any longer.
func TestWebhookIsCutOff(t *testing.T) {
	t.Parallel()
	ctx, cut := context.WithCancel(t.Context())
	url := raw(t, "", func(c net.Conn) { cut(); untilItLeaves(c) })
	if err := newWebhook(t, dispatch.WebhookOptions{}).Deliver(ctx, delivery(url)); err == nil {
		t.Error("delivered, want that it was cut off")
	}
}

// TestForbiddenAddresses are refused by what a name means, not by the name; the
// rest is nobody's business.
func TestForbiddenAddresses(t *testing.T) {
	t.Parallel()
	w := newWebhook(t, dispatch.WebhookOptions{Timeout: time.Second})
	for _, host := range []string{
		"169.254.169.254", "169.254.170.2", "[::ffff:169.254.169.254]", "[fe80::1]", "[fe80::1%25lo]", "[fd00:ec2::254]", "[fd00:ec2::23]", "[fd20:ce::254]",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "[ff02::1]", "[64:ff9b::a9fe:a9fe]",
	} {
		err := w.Deliver(t.Context(), delivery("http://"+host+":1/"))
		var u *dispatch.Undelivered
		if !errors.As(err, &u) || !strings.Contains(u.Reason, "refused") || !strings.Contains(u.Reason, "never go to") {
			t.Errorf("%s: %v, want that it is refused", host, err)
		}
	}
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(agent.Close)
	if err := w.Deliver(t.Context(), delivery(agent.URL)); err != nil {
		t.Errorf("loopback: %v", err)
	}
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(agent.Close)
	for _, tt := range []struct {
		allow []string
		ok    bool
	}{
		{nil, true},
		{[]string{"127.0.0.1"}, true},
		{[]string{"127.*"}, true},
		{[]string{"127.0.0.?"}, true},
		{[]string{"*.example.com", "*"}, true},
		{[]string{"*.example.com"}, false},
		{[]string{"27.0.0.1"}, false},
		{[]string{"127.0.0.1:80"}, false},
		{[]string{""}, false},
		{[]string{"["}, false},
	} {
		err := newWebhook(t, dispatch.WebhookOptions{Allow: tt.allow}).Deliver(t.Context(), delivery(agent.URL))
		if (err == nil) != tt.ok {
			t.Errorf("allow %q: %v", tt.allow, err)
		}
	}
	upper := strings.Replace(agent.URL, "127.0.0.1", "LOCALHOST", 1)
	err := newWebhook(t, dispatch.WebhookOptions{Allow: []string{"LocalHost"}, Timeout: time.Second}).Deliver(t.Context(), delivery(upper))
	if err != nil && strings.Contains(err.Error(), "allow") {
		t.Errorf("hosts have no case: %v", err)
	}
}

// TestNothingOfTheURLIsTold: it may hold what should not be in a log.
func TestNothingOfTheURLIsTold(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://127.0.0.1:1/topsecret?key=topsecret", "http://127.0.0.1:1/%zztopsecret", "http://[topsecret/", "\x7f://topsecret"} {
		err := newWebhook(t, dispatch.WebhookOptions{Timeout: time.Second, Allow: []string{"*"}}).Deliver(t.Context(), delivery(url))
		if err == nil || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
