package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// EchoCommand is the hidden command that runs [Echo] in a process of its own.
const EchoCommand = "bench-echo"

const (
	page       = 4 << 10                // what a flush writes
	flushFile  = 4 << 20                // what is overwritten, again and again
	probeTime  = 400 * time.Millisecond // at most, of each limit
	echoSecret = wire.Secret("the echo's own")
)

// probe is bare HTTP under the same client.
type probe struct {
	perSecond float64
	cpu       time.Duration // of the echo's process, a request
	latency   samples
}

// measureFlush overwrites a page of a file that has its size already and makes
// it durable: the least that a commit to a reused log costs.
func measureFlush(ctx context.Context, dir string, d time.Duration) (taken samples, err error) {
	f, err := os.CreateTemp(dir, "kernelctl-bench-flush-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, flushFile)); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	data := make([]byte, page)
	_, _ = rand.Read(data) // never fails (crypto/rand)
	for began, at := time.Now(), int64(0); (len(taken) == 0 || time.Since(began) < d) && ctx.Err() == nil; at = (at + page) % flushFile {
		from := time.Now()
		if _, err := f.WriteAt(data, at); err != nil {
			return nil, err
		}
		if err := flush(f); err != nil {
			return nil, err
		}
		taken = append(taken, time.Since(from))
	}
	return taken, ctx.Err()
}

// measureHTTP puts signed JSON bodies of a size to an echo in a process of its own.
func measureHTTP(ctx context.Context, self string, callers, size int, d time.Duration) (p probe, err error) {
	cmd := exec.CommandContext(ctx, self, EchoCommand) //nolint:gosec // our own binary
	cmd.Env = environment()
	in, err := cmd.StdinPipe() // its end ends the echo
	if err != nil {
		return p, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return p, err
	}
	if err := cmd.Start(); err != nil {
		return p, fmt.Errorf("start the echo: %w", err)
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	var n int
	if readErr == nil {
		p, n, err = loadEcho(ctx, strings.TrimSpace(line), callers, size, d)
	}
	err = errors.Join(readErr, err, in.Close(), cmd.Wait())
	if state := cmd.ProcessState; state != nil && n > 0 {
		p.cpu = (state.UserTime() + state.SystemTime()) / time.Duration(n)
	}
	return p, err
}

func loadEcho(ctx context.Context, at string, callers, size int, d time.Duration) (p probe, n int, err error) {
	server, err := url.Parse(at)
	if err != nil {
		return p, 0, err
	}
	body := fmt.Appendf(nil, `{"kind":"tool_call","target":"lookup","args":{"q":"%s"}}`, strings.Repeat("x", size))
	var mu sync.Mutex
	began := time.Now()
	err = each(ctx, callers, func(ctx context.Context, _ int) error {
		c, err := dial(ctx, server, &identity{secret: echoSecret})
		if err != nil {
			return err
		}
		defer c.close()
		var mine samples
		for len(mine) == 0 || time.Since(began) < d && ctx.Err() == nil {
			from := time.Now()
			if _, err := c.asAgent(attempt{execution: "0"}, "/steps", body); err != nil {
				return err
			}
			mine = append(mine, time.Since(from))
		}
		mu.Lock()
		defer mu.Unlock()
		p.latency = append(p.latency, mine...)
		return nil
	})
	p.perSecond = float64(len(p.latency)) / time.Since(began).Seconds()
	return p, len(p.latency), err
}

// Echo serves the least that a signed JSON API does: it reads a body, checks its
// signature, decodes it and answers with it encoded again. It writes its address
// to out and ends with in.
func Echo(ctx context.Context, in io.Reader, out io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	_, err = fmt.Fprintln(out, "http://"+l.Addr().String())
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	err = errors.Join(err, web.Close())
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.DefaultMaxBodyBytes))
	var step wire.SubmitStep
	if err != nil || !wire.Verify(echoSecret, body, r.Header.Get(wire.HeaderSignature)) || json.Unmarshal(body, &step) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer, err := json.Marshal(step)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", wire.ContentTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer) // a client that is gone is its own business
}
