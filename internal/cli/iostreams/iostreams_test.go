package iostreams_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
)

func env(pairs ...string) iostreams.LookupEnv {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func streams(in string, pairs ...string) (*iostreams.Streams, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return iostreams.New(strings.NewReader(in), &out, &errs, env(pairs...)), &out, &errs
}

func TestColor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode iostreams.ColorMode
		env  []string
		want bool
	}{
		{"", nil, false},
		{"", []string{"KERNELCTL_FORCE_TTY", "80"}, true},
		{"", []string{"KERNELCTL_FORCE_TTY", "80", "TERM", "dumb"}, false},
		{"", []string{"KERNELCTL_FORCE_TTY", "80", "NO_COLOR", "1"}, false},
		{"", []string{"KERNELCTL_FORCE_TTY", "80", "NO_COLOR", ""}, true},
		{"", []string{"CLICOLOR_FORCE", "1"}, true},
		{"", []string{"CLICOLOR_FORCE", "1", "TERM", "dumb"}, true},
		{"", []string{"CLICOLOR_FORCE", "1", "NO_COLOR", "1"}, false},
		{iostreams.ColorAlways, []string{"NO_COLOR", "1"}, true},
		{iostreams.ColorNever, []string{"CLICOLOR_FORCE", "1"}, false},
	}
	for _, tt := range tests {
		s, _, _ := streams("", tt.env...)
		s.Color = tt.mode
		if got := s.ColorOut(); got != tt.want {
			t.Errorf("mode %q, environment %v: %v, want %v", tt.mode, tt.env, got, tt.want)
		}
	}
}

func TestWhoCanBeAsked(t *testing.T) {
	t.Parallel()
	s, _, _ := streams("")
	if s.CanPrompt() {
		t.Error("a pipe can be asked")
	}
	if _, err := s.Ask(t.Context(), "?", ""); !errors.Is(err, iostreams.ErrNoPrompt) {
		t.Errorf("Ask = %v", err)
	}
	s, _, _ = streams("", "KERNELCTL_FORCE_TTY", "100")
	if !s.CanPrompt() || s.Width != 100 {
		t.Errorf("a terminal cannot be asked, width %d", s.Width)
	}
	s.NoInput = true
	if s.CanPrompt() {
		t.Error("--no-input is not heeded")
	}
	s, _, _ = streams("", "KERNELCTL_FORCE_TTY", "100", "CI", "true")
	if s.CanPrompt() {
		t.Error("CI is asked")
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "n\n": false, "": false, "sure\n": false} {
		s, out, errs := streams(answer, "KERNELCTL_FORCE_TTY", "80")
		got, err := s.Confirm(t.Context(), "Do it?")
		if err != nil || got != want {
			t.Errorf("answer %q: %v, %v; want %v", answer, got, err, want)
		}
		if out.Len() > 0 || !strings.HasPrefix(errs.String(), "Do it? [y/N] ") {
			t.Errorf("stdout %q, stderr %q", out, errs)
		}
	}
	s, _, _ := streams("one\n\n", "KERNELCTL_FORCE_TTY", "80")
	first, _ := s.Ask(t.Context(), "?", "x")
	second, _ := s.Ask(t.Context(), "?", "x")
	if first != "one" || second != "x" {
		t.Errorf("answers %q, %q; want one and the suggestion", first, second)
	}
}

func TestAskEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	s := iostreams.New(r, &bytes.Buffer{}, &bytes.Buffer{}, env("KERNELCTL_FORCE_TTY", "80"))
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(mine)
	if _, err := s.Ask(ctx, "?", ""); !errors.Is(err, mine) {
		t.Errorf("Ask = %v, want the cause", err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s, _, errs := streams("")
	s.Notef("a %s", "note")
	s.Quiet = true
	s.Notef("chatter")
	s.Warnf("warning")
	if got := errs.String(); got != "a note\nwarning\n" {
		t.Errorf("stderr %q", got)
	}
}

// pass lets time go by on the clock of a bubble.
func pass(d time.Duration) { <-time.After(d) }

// The spinner shows up only when something takes long, and leaves no trace.
func TestSpinner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, errs := streams("", "KERNELCTL_FORCE_TTY", "80", "TERM", "xterm")
		stop := s.Spin("asking")
		pass(300 * time.Millisecond)
		stop()
		if errs.Len() > 0 {
			t.Errorf("after 300 ms it showed %q", errs)
		}
		stop = s.Spin("asking")
		pass(time.Second)
		s.Notef("a note")
		stop()
		stop()
		shown := errs.String()
		if !strings.Contains(shown, "asking") || !strings.Contains(shown, "\r\x1b[Ka note\n") || !strings.HasSuffix(shown, "\r\x1b[K") && !strings.HasSuffix(shown, "a note\n") {
			t.Errorf("it showed %q", shown)
		}
		quiet, _, errs := streams("", "KERNELCTL_FORCE_TTY", "80", "CI", "1")
		stop = quiet.Spin("asking")
		pass(time.Second)
		stop()
		if errs.Len() > 0 {
			t.Errorf("under CI it showed %q", errs)
		}
	})
}

func TestPager(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		command string
		env     []string
		lines   int
		paged   bool
	}{
		{"none asked for", "", []string{"KERNELCTL_FORCE_TTY", "80"}, 100, false},
		{"it fits", "sed s/^/p:/", []string{"KERNELCTL_FORCE_TTY", "80"}, 5, false},
		{"too tall", "sed s/^/p:/", []string{"KERNELCTL_FORCE_TTY", "80"}, 100, true},
		{"a pipe", "sed s/^/p:/", nil, 100, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, out, _ := streams("", tt.env...)
			p := s.Pager(t.Context(), tt.command)
			for i := range tt.lines {
				if _, err := fmt.Fprintf(p, "line %d\n", i); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(out.String(), "\n"); got != tt.lines {
				t.Errorf("%d lines, want %d", got, tt.lines)
			}
			if got := strings.HasPrefix(out.String(), "p:line 0\np:line 1\n"); got != tt.paged {
				t.Errorf("paged: %v, want %v", got, tt.paged)
			}
		})
	}
}
