package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// terminal is a tmux server of its own with one window.
type terminal struct {
	socket        string
	columns, rows int
}

const (
	conf = "set -g status off\nset -g default-terminal tmux-256color\nset -g remain-on-exit on\nset -sg escape-time 0\n"
	pane = "tour"
)

// openTerminal runs a command in a terminal of a size, with nothing of the
// environment but what env says.
func openTerminal(ctx context.Context, dir string, columns, rows int, env, command []string) (*terminal, error) {
	path := filepath.Join(dir, "tmux.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	t := &terminal{socket: filepath.Join(dir, "tmux"), columns: columns, rows: rows}
	args := []string{"-f", path, "new-session", "-d", "-s", pane, "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "--", "env", "-i"}
	_, err := t.tmux(ctx, append(append(args, env...), command...)...)
	return t, err
}

func (t *terminal) tmux(ctx context.Context, args ...string) (string, error) {
	var said strings.Builder
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", t.socket}, args...)...) //nolint:gosec // its arguments are ours
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w %s", args[0], err, said.String())
	}
	return string(out), nil
}

func (t *terminal) close(ctx context.Context) error {
	_, err := t.tmux(ctx, "kill-server")
	return err
}

// press sends keys by their names in tmux.
func (t *terminal) press(ctx context.Context, keys ...string) error {
	_, err := t.tmux(ctx, append([]string{"send-keys", "-t", pane}, keys...)...)
	return err
}

// enter sends text as it is.
func (t *terminal) enter(ctx context.Context, text string) error {
	_, err := t.tmux(ctx, "send-keys", "-t", pane, "-l", text)
	return err
}

// dates of the recording become one that says nothing of it.
var dates = regexp.MustCompile(`\b20\d\d-\d\d-\d\d`)

const someDay = "2026-01-15"

// capture is what the screen shows, as text and with its styles.
func (t *terminal) capture(ctx context.Context) (string, frame, error) {
	plain, err := t.tmux(ctx, "capture-pane", "-p", "-t", pane)
	if err != nil {
		return "", nil, err
	}
	styled, err := t.tmux(ctx, "capture-pane", "-e", "-N", "-p", "-t", pane)
	return plain, parse(dates.ReplaceAllString(styled, someDay)), err
}

var errLate = errors.New("it did not come in time")

// until waits until the screen satisfies a condition.
func (t *terminal) until(ctx context.Context, what string, ok func(screen string) bool) error {
	const patience, pause = 3 * time.Minute, 40 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	late := time.After(patience)
	for {
		screen, _, err := t.capture(ctx)
		if err != nil {
			return err
		}
		if ok(screen) {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("%s: %w:\n%s", what, errLate, screen)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
