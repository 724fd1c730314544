package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written out of the commands into docs is as the commands are now.
// With -update it is written anew.
func TestReference(t *testing.T) {
	t.Parallel()
	for _, of := range []struct{ what, dir, ext string }{
		{"docs", filepath.Join("..", "..", "docs", "cli"), ".md"},
		{"schemas", filepath.Join("..", "..", "docs", "schemas"), ".json"},
	} {
		t.Run(of.what, func(t *testing.T) {
			t.Parallel()
			made := t.TempDir()
			if code, stderr := run(t, "gen", of.what, made); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			want, got := files(t, made, of.ext), files(t, of.dir, of.ext)
			for name, text := range want {
				for _, dir := range []string{"/tmp", os.Getenv("TMPDIR"), os.Getenv("HOME")} {
					if dir != "" && strings.Contains(text, "default "+dir) {
						t.Errorf("%s names %s, which is a folder of this machine", name, dir)
					}
				}
			}
			if *update {
				replace(t, of.dir, want, got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is stale; go test ./cmd/kernelctl -run TestReference -update writes it anew (-want +got):\n%s", of.dir, diff)
			}
		})
	}
}

// files are those of a directory that end in ext, by name.
func files(t *testing.T, dir, ext string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+ext))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range paths {
		if base := filepath.Base(path); base != "README.md" {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found[base] = string(b)
		}
	}
	return found
}

func replace(t *testing.T, dir string, want, got map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every command that is shown has a manual page that says what it is and how it
// is called.
func TestManual(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	if code, stderr := run(t, "gen", "man", made); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	pages := files(t, made, ".1")
	for _, c := range commands(tree()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, ok := pages[name]
		delete(pages, name)
		switch hidden := c.Hidden || c.HasParent() && c.Parent().Hidden; {
		case hidden && ok:
			t.Errorf("%s: a hidden command has a page", name)
		case !hidden && (!strings.Contains(page, ".SH SYNOPSIS") || !strings.Contains(page, ".SH EXAMPLES")):
			t.Errorf("%s is missing or incomplete", name)
		}
	}
	delete(pages, "kernelctl-help.1") // cobra adds the command when it runs
	for name := range pages {
		t.Errorf("%s belongs to no command", name)
	}
}
