package torture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/freeport"
)

const token = "torture-token-torture-token"

// place is where servers are run, one after the other.
type place struct {
	binary string
	dir    string // of the database and what belongs to it
	aside  string // folder of what is kept about it, never on a full disk
	listen string // host:port
	api    *client.Client
}

func newPlace(ctx context.Context, binary, dir, aside string) (*place, error) {
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(aside, 0o700)); err != nil {
		return nil, err
	}
	listen, err := freeport.Loopback(ctx)
	if err != nil {
		return nil, err
	}
	p := &place{binary: binary, dir: dir, aside: aside, listen: listen}
	p.api, err = api("http://"+p.listen, token, sessions)
	return p, err
}

func (p *place) db() string  { return filepath.Join(p.dir, "kernel.db") }
func (p *place) log() string { return filepath.Join(p.aside, "server.log") }

// command is this program run again, with nothing of our own settings.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...) //nolint:gosec,noctx // ourselves; killed by hand, at the right moment
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SERVICE_") && !strings.HasPrefix(v, "KERNELCTL_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "SERVICE_BEARER_TOKEN="+token)
	return cmd
}

// process is a child.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	done    chan struct{} // closed when it has ended
	err     error         // of its end
	out     bytes.Buffer  // what it said; of those that are no server
}

func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, started: time.Now(), done: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stdout, cmd.Stderr = &p.out, &p.out
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// serve starts a server.
func (p *place) serve(retention time.Duration) (*process, error) {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := p.command("serve", "--db", p.db(), "--listen", p.listen, "--retention", retention.String(),
		"--dispatch-max-attempts", fmt.Sprint(maxAttempts), "--log-level", "warn", "--log-format", "json")
	cmd.Stderr = log
	s, err := launch(cmd)
	return s, errors.Join(err, log.Close())
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// stop asks the process to end, and waits.
func (p *process) stop(grace time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("a clean stop: %w", p.err)
		}
		return nil
	case <-t.C:
		p.kill()
		return fmt.Errorf("the server did not stop within %s", grace)
	}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

var errEnded = errors.New("the server ended by itself")

// ready waits until the server is ready, and says how long that took from its start.
func (p *place) ready(ctx context.Context, s *process, within time.Duration) (time.Duration, error) {
	for {
		_, err := p.api.Ready(ctx)
		took := time.Since(s.started)
		switch {
		case err == nil:
			return took, nil
		case !s.running():
			return took, fmt.Errorf("%w: %w; %s", errEnded, s.err, p.lastWords())
		case took > within:
			return took, fmt.Errorf("the server was not ready within %s: %w", within, err)
		}
		if err := client.Sleep(ctx, time.Millisecond); err != nil {
			return took, err
		}
	}
}

// lastWords is the end of the server's log.
func (p *place) lastWords() string {
	b, err := os.ReadFile(p.log())
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(b[max(0, len(b)-most):])
}

// complaints are the lines of the server's log, from an offset on, that no
// sound server writes.
func (p *place) complaints(from int64) (lines []string, to int64, err error) {
	f, err := os.Open(p.log())
	if err != nil {
		return nil, from, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(from, 0); err != nil {
		return nil, from, err
	}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		from += int64(len(line)) + 1
		if strings.Contains(line, `"level":"ERROR"`) || strings.HasPrefix(line, "panic") || strings.HasPrefix(line, "fatal error") || strings.Contains(line, "DATA RACE") {
			lines = append(lines, line)
		}
	}
	return lines, from, s.Err()
}
