package iostreams

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/mattn/go-isatty"
)

// LookupEnv is os.LookupEnv, or a test's own.
type LookupEnv func(name string) (value string, ok bool)

// Streams are the three standard streams and what is known of them.
type Streams struct {
	In  io.Reader
	Out io.Writer // data only
	Err io.Writer // everything else

	InTTY, OutTTY, ErrTTY bool
	Width, Height         int // of the terminal; 0 when there is none

	NoInput    bool // never ask
	Quiet      bool // no chatter
	Accessible bool // no redrawing
	Color      ColorMode

	env   LookupEnv
	lines *bufio.Reader // of In, for answers
	mu    sync.Mutex    // of Err: the spinner and a note must not mix
	spin  *spinner
}

// New looks at the streams. Env must not be nil.
func New(in io.Reader, out, err io.Writer, env LookupEnv) *Streams {
	s := &Streams{
		In: in, Out: out, Err: err, env: env,
		InTTY: isTerminal(in), OutTTY: isTerminal(out), ErrTTY: isTerminal(err),
		Accessible: set(env, "ACCESSIBLE"),
	}
	if s.OutTTY {
		s.Width, s.Height = size(out)
		enableColor(out)
	}
	if s.ErrTTY {
		enableColor(err)
	}
	if n, convErr := strconv.Atoi(value(env, "KERNELCTL_FORCE_TTY")); convErr == nil && n > 0 {
		s.InTTY, s.OutTTY, s.ErrTTY = true, true, true
		s.Width, s.Height = n, 40
	}
	if s.OutTTY && s.Width <= 0 {
		s.Width, s.Height = 80, 24
	}
	return s
}

type file interface{ Fd() uintptr }

func isTerminal(v any) bool {
	f, ok := v.(file)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// set reports whether a variable is there and says neither no nor nothing.
func set(env LookupEnv, name string) bool {
	switch value(env, name) {
	case "", "0", "false":
		return false
	}
	return true
}

func value(env LookupEnv, name string) string {
	v, _ := env(name)
	return v
}

// CI reports whether the command runs under continuous integration, where
// nobody can answer.
func (s *Streams) CI() bool { return set(s.env, "CI") }

// Dumb reports whether the terminal can do nothing but print.
func (s *Streams) Dumb() bool { return value(s.env, "TERM") == "dumb" }

// Env is the value of a variable; empty when it is not set.
func (s *Streams) Env(name string) string { return value(s.env, name) }

// CanPrompt reports whether a person can be asked.
func (s *Streams) CanPrompt() bool { return s.InTTY && s.ErrTTY && !s.NoInput && !s.CI() }

// Notef writes a line to stderr, unless chatter is off.
func (s *Streams) Notef(format string, args ...any) {
	if !s.Quiet {
		s.Warnf(format, args...)
	}
}

// Warnf writes a line to stderr, also when chatter is off.
func (s *Streams) Warnf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spin.clear(s.Err)
	_, _ = fmt.Fprintf(s.Err, format+"\n", args...) // nobody is left to tell
}

// Bell rings the terminal's bell.
func (s *Streams) Bell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprint(s.Err, "\a") // nobody is left to hear it
}
