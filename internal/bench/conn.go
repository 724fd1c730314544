package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// answerTimeout bounds one request: a server that hangs must not hang the benchmark.
const answerTimeout = 60 * time.Second

// conn is one lasting connection that carries one request after another. It
// writes HTTP/1.1 itself. A conn belongs to one goroutine.
type conn struct {
	net  net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte // of the last answer
	mac  hash.Hash
	sum  [sha256.Size]byte
	who  *identity
	host string
}

// identity is what requests carry.
type identity struct {
	token  string
	agent  string
	secret wire.Secret
}

// attempt is what an agent's webhook was told: whom it works for.
type attempt struct {
	execution string
	dispatch  string
	number    int64
}

// refused is an answer that is no success.
type refused struct {
	status int
	what   string
	body   string
}

func (e *refused) Error() string { return fmt.Sprintf("%s: HTTP %d: %s", e.what, e.status, e.body) }

// refusedWith tells the status of a refusal; 0 for anything else.
func refusedWith(err error) int {
	if r := (*refused)(nil); errors.As(err, &r) {
		return r.status
	}
	return 0
}

func dial(ctx context.Context, server *url.URL, who *identity) (*conn, error) {
	address := server.Host
	if server.Port() == "" {
		address = net.JoinHostPort(server.Hostname(), map[string]string{"http": "80", "https": "443"}[server.Scheme])
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil && server.Scheme == "https" {
		t := tls.Client(c, &tls.Config{ServerName: server.Hostname(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
		c, err = t, t.HandshakeContext(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &conn{
		net: c, in: bufio.NewReaderSize(c, 8<<10), who: who, host: server.Host,
		mac: hmac.New(sha256.New, []byte(string(who.secret))),
	}, nil
}

func (c *conn) close() { _ = c.net.Close() }

// asClient makes a request with the bearer token. The answer's body is valid
// until the next request.
func (c *conn) asClient(method, path string, body []byte, headers ...string) ([]byte, error) {
	c.begin(method, path, body)
	c.line("Authorization: Bearer ", c.who.token)
	for _, h := range headers {
		c.line(h, "")
	}
	return c.exchange(method, path, body)
}

// asAgent makes a signed request for an attempt.
func (c *conn) asAgent(a attempt, path string, body []byte) ([]byte, error) {
	const method = "POST"
	path = "/v0/executions/" + a.execution + path
	c.begin(method, path, body)
	c.line(wire.HeaderAgentID+": ", c.who.agent)
	c.line(wire.HeaderDispatchID+": ", a.dispatch)
	c.out = append(append(c.out, wire.HeaderDispatchAttempt+": "...), strconv.FormatInt(a.number, 10)...)
	c.out = append(append(c.out, "\r\n"...), wire.HeaderSignature+": sha256="...)
	c.mac.Reset()
	c.mac.Write(body)
	c.out = hex.AppendEncode(c.out, c.mac.Sum(c.sum[:0]))
	c.out = append(c.out, "\r\n"...)
	return c.exchange(method, path, body)
}

func (c *conn) begin(method, path string, body []byte) {
	c.out = append(c.out[:0], method...)
	c.out = append(append(append(c.out, ' '), path...), " HTTP/1.1\r\n"...)
	c.line("Host: ", c.host)
	if body == nil {
		return
	}
	c.out = append(append(c.out, "Content-Type: application/json\r\nContent-Length: "...), strconv.Itoa(len(body))...)
	c.out = append(c.out, "\r\n"...)
}

func (c *conn) line(name, value string) {
	c.out = append(append(append(c.out, name...), value...), "\r\n"...)
}

func (c *conn) exchange(method, path string, body []byte) ([]byte, error) {
	if err := c.send(body); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	status, length, err := c.head()
	if err == nil {
		err = c.read(length)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	if status >= 300 {
		return nil, &refused{status: status, what: method + " " + path, body: string(c.body)}
	}
	return c.body, nil
}

func (c *conn) send(body []byte) error {
	if err := c.net.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	c.out = append(append(c.out, "\r\n"...), body...)
	_, err := c.net.Write(c.out)
	return err
}

// head reads the status line and the headers. The length is -1 for a stream.
func (c *conn) head() (status, length int, err error) {
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		switch {
		case err != nil:
			return 0, 0, err
		case first && (len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 "))):
			return 0, 0, fmt.Errorf("this is no HTTP/1.1: %q", line)
		case first:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, 0, err
			}
			continue
		case len(line) <= 2:
			return status, length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -1
		}
	}
}

func (c *conn) read(length int) error {
	if length < 0 {
		return errors.New("the answer has no length")
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.in, c.body)
	return err
}

// text is the value of a string of that name in an answer of the service, which
// writes no space and escapes none of the names and ids that are asked for.
func text(answer []byte, name string) string {
	_, rest, ok := bytes.Cut(answer, []byte(`"`+name+`":"`))
	if !ok {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(value)
}
