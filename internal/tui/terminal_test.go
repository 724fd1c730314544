//go:build linux || darwin

package tui

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clipboards is a screen that writes to a file, with programs for clipboards
// that write to files beside it.
func clipboards(t *testing.T, env map[string]string, tools ...string) (s *screen, wrote func() string, got func(tool string) string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range tools {
		script := fmt.Sprintf("#!/bin/sh\ncat > '%s'\n", filepath.Join(dir, name+".got"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	s = newScreen(out)
	s.env = func(name string) string { return env[name] }
	s.find = func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) }
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return string(b)
	}
	return s, func() string { return read("out") }, func(tool string) string { return read(tool + ".got") }
}

func TestACopyReachesEveryClipboardThereIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxCopy+1)
	for name, tc := range map[string]struct {
		env   map[string]string
		tools []string
		text  string
		how   string
		tool  string // that got the text
	}{
		"terminal only":       {nil, nil, "naïve", "OSC 52", ""},
		"wayland":             {map[string]string{"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, []string{"wl-copy", "xclip"}, "naïve", "OSC 52 and wl-copy", "wl-copy"},
		"x11":                 {map[string]string{"DISPLAY": ":0"}, []string{"wl-copy", "xclip"}, "a", "OSC 52 and xclip", "xclip"},
		"mac":                 {nil, []string{"pbcopy"}, "a", "OSC 52 and pbcopy", "pbcopy"},
		"no desktop":          {nil, []string{"wl-copy", "xclip"}, "a", "OSC 52", ""},
		"far away":            {map[string]string{"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, []string{"xclip"}, "a", "OSC 52", ""},
		"too long, but local": {nil, []string{"pbcopy"}, long, "pbcopy", "pbcopy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, wrote, got := clipboards(t, tc.env, tc.tools...)
			how, err := s.Copy(t.Context(), tc.text)
			if err != nil || how != tc.how {
				t.Fatalf("by %q, %v; want %q", how, err, tc.how)
			}
			want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(tc.text)) + "\a"
			if len(tc.text) > maxCopy {
				want = ""
			}
			if wrote() != want {
				t.Errorf("wrote %.80q, want %.80q", wrote(), want)
			}
			if tc.tool != "" && got(tc.tool) != tc.text {
				t.Errorf("%s got %.80q", tc.tool, got(tc.tool))
			}
		})
	}
	s, _, _ := clipboards(t, nil)
	if how, err := s.Copy(t.Context(), long); err == nil || !strings.Contains(err.Error(), "74995 bytes are too many") {
		t.Errorf("a long text went %q, %v", how, err)
	}
}

// TestClipExeGetsUTF16: it takes other text for that of an old code page.
func TestClipExeGetsUTF16(t *testing.T) {
	t.Parallel()
	s, _, got := clipboards(t, nil, "clip.exe")
	if _, err := s.Copy(t.Context(), "ä€"); err != nil {
		t.Fatal(err)
	}
	if want := "\xff\xfe\xe4\x00\xac\x20"; got("clip.exe") != want {
		t.Errorf("got %q, want %q", got("clip.exe"), want)
	}
}

// TestCopyGoesThroughMultiplexers: both pass on only what is wrapped.
func TestCopyGoesThroughMultiplexers(t *testing.T) {
	t.Parallel()
	s, wrote, _ := clipboards(t, map[string]string{"TMUX": "x"})
	if how, err := s.Copy(t.Context(), "a"); err != nil || how != "OSC 52 through tmux" {
		t.Errorf("%q, %v", how, err)
	}
	if want := "\x1b]52;c;YQ==\a\x1bPtmux;\x1b\x1b]52;c;YQ==\a\x1b\\"; wrote() != want {
		t.Errorf("tmux: wrote %q, want %q", wrote(), want)
	}
	s, wrote, _ = clipboards(t, map[string]string{"STY": "x"})
	if _, err := s.Copy(t.Context(), strings.Repeat("b", 600)); err != nil {
		t.Fatal(err)
	}
	var inner strings.Builder
	for piece := range strings.SplitSeq(strings.TrimSuffix(wrote(), "\x1b\\"), "\x1b\\") {
		body, ok := strings.CutPrefix(piece, "\x1bP")
		if !ok || len(body) > 250 {
			t.Fatalf("screen: piece %q", piece)
		}
		inner.WriteString(body)
	}
	if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("b", 600))) + "\a"; inner.String() != want {
		t.Errorf("screen: the terminal gets %.80q", inner.String())
	}
}

func TestBells(t *testing.T) {
	t.Parallel()
	s, wrote, _ := clipboards(t, nil)
	s.Bell("bell")
	s.Bell("osc9")
	if want := "\a\x1b]9;kernelctl: an approval waits\a"; wrote() != want {
		t.Errorf("wrote %q, want %q", wrote(), want)
	}
	var _ io.Writer = s
}
