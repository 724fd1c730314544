package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
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

// measureHTTP puts signed JSON bodies of a size to a bare server.
func measureHTTP(ctx context.Context, self string, callers, size int, d time.Duration) (p probe, err error) {
	used, err := withEcho(ctx, self, func(ctx context.Context, e *echoServer) (err error) {
		began := time.Now()
		p.latency, err = e.load(ctx, callers, size, func() bool { return time.Since(began) < d })
		p.perSecond = float64(len(p.latency)) / time.Since(began).Seconds()
		return err
	})
	if n := len(p.latency); n > 0 {
		p.cpu = used / time.Duration(n)
	}
	return p, err
}

// echoServer is an [Echo] that runs.
type echoServer struct{ url *url.URL }

// withEcho runs fn beside an echo in a process of its own, and says how much CPU that used.
func withEcho(ctx context.Context, self string, fn func(context.Context, *echoServer) error) (cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, self, EchoCommand) //nolint:gosec // our own binary
	cmd.Env = environment()
	in, err := cmd.StdinPipe() // its end ends the echo
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the echo: %w", err)
	}
	var e echoServer
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		e.url, err = url.Parse(strings.TrimSpace(line))
	}
	if err == nil {
		err = fn(ctx, &e)
	}
	err = errors.Join(err, in.Close(), cmd.Wait())
	if state := cmd.ProcessState; state != nil {
		cpu = state.UserTime() + state.SystemTime()
	}
	return cpu, err
}

func (e *echoServer) dial(ctx context.Context) (*conn, error) {
	return dial(ctx, e.url, &identity{secret: echoSecret})
}

// load has so many callers put bodies of a size while more says so, but each at least one.
func (e *echoServer) load(ctx context.Context, callers, size int, more func() bool) (taken samples, err error) {
	body := fmt.Appendf(nil, `{"kind":"tool_call","target":"lookup","args":{"q":"%s"}}`, strings.Repeat("x", size))
	var mu sync.Mutex
	err = each(ctx, callers, func(ctx context.Context, _ int) error {
		c, err := e.dial(ctx)
		if err != nil {
			return err
		}
		defer c.close()
		var mine samples
		for len(mine) == 0 || more() && ctx.Err() == nil {
			from := time.Now()
			if _, err := c.asAgent(attempt{execution: "0"}, "/steps", body); err != nil {
				return err
			}
			mine = append(mine, time.Since(from))
		}
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, mine...)
		return nil
	})
	return taken, err
}

// Echo serves the least that a signed JSON API does: it reads a body, checks its
// signature, decodes it and answers with it encoded again. A GET is a read that is
// nothing but work (see workPath). It writes its address to out and ends with in.
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
	if r.Method == http.MethodGet {
		work(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.DefaultMaxBodyBytes))
	var step wire.SubmitStep
	if err != nil || !wire.Verify(echoSecret, body, r.Header.Get(wire.HeaderSignature)) || json.Unmarshal(body, &step) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	encoded, err := json.Marshal(step)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	answer(w, encoded)
}

func answer(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h.Set("Content-Type", wire.ContentTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone is its own business
}

// workPath is where the echo hashes so many blocks of 1 KiB and answers with so many bytes.
func workPath(blocks, size int) string { return fmt.Sprintf("/work?blocks=%d&size=%d", blocks, size) }

// blank is what a read that is nothing but work answers with.
var blank [1 << 20]byte

func work(w http.ResponseWriter, r *http.Request) {
	blocks, err := strconv.Atoi(r.FormValue("blocks"))
	size, sizeErr := strconv.Atoi(r.FormValue("size"))
	if err != nil || sizeErr != nil || size < 0 || size > len(blank) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h := sha256.New()
	for range blocks {
		h.Write(blank[:1<<10])
	}
	answer(w, blank[:size])
}
