package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
)

// target is the server that is measured: a process of our own, or one that
// runs somewhere.
type target struct {
	url   *url.URL
	token string
	api   *client.Client

	cmd  *exec.Cmd // nil: not ours
	dir  string
	self string
}

// startTimeout is how long a server may take to serve, with a large file after a crash.
const startTimeout = 2 * time.Minute

// newTarget starts a server on an empty database below dir.
func newTarget(ctx context.Context, self, dir string) (*target, error) {
	dir, err := os.MkdirTemp(dir, "kernelctl-bench-*")
	if err != nil {
		return nil, err
	}
	t := &target{dir: dir, self: self, token: rand.Text()}
	if err = os.WriteFile(filepath.Join(dir, "token"), []byte(t.token+"\n"), 0o600); err == nil {
		_, err = t.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// start runs the server and says how long it took until it was ready.
func (t *target) start(ctx context.Context) (time.Duration, error) {
	logPath := filepath.Join(t.dir, "server.log")
	log, err := os.Create(logPath) //nolint:gosec // in the folder that was made for it
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	listen := "127.0.0.1:0"
	if t.url != nil {
		listen = t.url.Host // where its agent and its readers look for it
	}
	cmd := exec.Command(t.self, "serve", "--listen", listen, "--db", filepath.Join(t.dir, "kernel.db"), //nolint:gosec,noctx // our own binary; stop ends it in order
		"--bearer-token-file", filepath.Join(t.dir, "token"), "--log-format", "json", "--log-level", "info")
	cmd.Env, cmd.Stderr = environment(), log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start a server: %w", err)
	}
	t.cmd = cmd
	if err := t.awaitReady(ctx, logPath); err != nil {
		return 0, errors.Join(err, t.kill())
	}
	return time.Since(began), nil
}

// environment is ours without what would configure the server.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SERVICE_") {
			env = append(env, v)
		}
	}
	return env
}

// awaitReady waits until the server says in its log where it serves, and then
// until it can commit.
func (t *target) awaitReady(ctx context.Context, logPath string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		log, err := os.ReadFile(logPath) //nolint:gosec // our own
		if err != nil {
			return err
		}
		if at := serving(log); at != "" {
			if err := t.connect(at); err != nil {
				return err
			}
			_, err := t.api.Ready(ctx)
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the server does not start: %w\n%s", ctx.Err(), log)
		}
	}
}

// serving finds the address in the line that says that the server is up.
func serving(log []byte) string {
	for line := range bytes.Lines(log) {
		var said struct{ Msg, URL string }
		if json.Unmarshal(line, &said) == nil && said.Msg == "serving" {
			return said.URL
		}
	}
	return ""
}

func (t *target) connect(at string) (err error) {
	if t.url, err = client.ParseServer(at); err != nil {
		return err
	}
	t.api, err = client.New(at, client.Options{Token: t.token, RequestTimeout: answerTimeout})
	return err
}

// ours reports whether the server can be stopped and started.
func (t *target) ours() bool { return t.self != "" }

// stop ends the server in order.
func (t *target) stop() error {
	if t.cmd == nil {
		return nil
	}
	if err := t.cmd.Process.Signal(os.Interrupt); err != nil { // there is no such signal everywhere
		return t.kill()
	}
	cmd := t.cmd
	t.cmd = nil
	return cmd.Wait()
}

// kill ends the server as a crash would.
func (t *target) kill() error {
	if t.cmd == nil {
		return nil
	}
	cmd := t.cmd
	t.cmd = nil
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	return nil // it ended as we wanted
}

// close ends a server of ours and removes its files.
func (t *target) close() error {
	if !t.ours() {
		return nil
	}
	return errors.Join(t.kill(), os.RemoveAll(t.dir))
}
