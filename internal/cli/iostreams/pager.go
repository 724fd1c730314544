package iostreams

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
)

// Pager holds output back until it is known whether it fits on the screen, and
// starts a pager when it does not. Without a command, or when stdout is not a
// terminal, it is stdout itself.
//
// Close must be called: it writes what was held back, or waits for the pager.
func (s *Streams) Pager(ctx context.Context, command string) io.WriteCloser {
	if command == "" || command == "cat" || !s.OutTTY || s.Accessible {
		return nopCloser{s.Out}
	}
	return &pager{ctx: ctx, s: s, command: command}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// pager holds the context of its process for the length of one command.
type pager struct {
	ctx     context.Context //nolint:containedctx // an io.Writer has no parameter for it
	s       *Streams
	command string
	held    bytes.Buffer
	lines   int
	cmd     *exec.Cmd
	in      io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) {
	if p.in != nil {
		return p.in.Write(b)
	}
	p.held.Write(b)
	if p.lines += bytes.Count(b, []byte("\n")); p.lines < p.s.Height {
		return len(b), nil
	}
	if err := p.start(); err != nil {
		return 0, err
	}
	if _, err := p.in.Write(p.held.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *pager) start() error {
	cmd := Shell(p.ctx, p.command)
	cmd.Stdout, cmd.Stderr = p.s.Out, p.s.Err
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start pager %q: %w", p.command, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start pager %q: %w", p.command, err)
	}
	p.cmd, p.in = cmd, in
	return nil
}

// Close shows what was held back, or waits until the reader has left the pager.
func (p *pager) Close() error {
	if p.in == nil {
		_, err := p.s.Out.Write(p.held.Bytes())
		return err
	}
	_ = p.in.Close() // the reader may have left already
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("pager %q: %w", p.command, err)
	}
	return nil
}

// Shell is a command line as the person's shell would run it.
func Shell(ctx context.Context, line string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.CommandContext(ctx, "cmd", "/c", line)
	}
	return exec.CommandContext(ctx, "sh", "-c", line)
}
