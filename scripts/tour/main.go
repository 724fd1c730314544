package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	if err := record(); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func record() (err error) {
	out := flag.String("out", "docs/tour", "folder to write to")
	bin := flag.String("bin", "", "kernelctl to record; empty: built from this tree")
	listen := flag.String("listen", "127.0.0.1:8080", "address of the server, which the dashboard shows")
	seed := flag.String("seed", "1", "of the work that the agents get")
	columns := flag.Int("columns", 124, "width of the terminal")
	rows := flag.Int("rows", 32, "height of the terminal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	dir, err := os.MkdirTemp("", "tour-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.MkdirAll(*out, 0o755); err != nil { //nolint:gosec // documentation, for everybody
		return err
	}
	if *bin == "" {
		*bin = filepath.Join(dir, "kernelctl")
		build := exec.CommandContext(ctx, "go", "build", "-o", *bin, "./cmd/kernelctl") //nolint:gosec // our own program
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build kernelctl: %w", err)
		}
	}
	if err := settings(dir); err != nil {
		return err
	}
	env := []string{"HOME=" + dir, "TERM=tmux-256color", "LANG=C.UTF-8", "TZ=UTC", "PATH=/usr/bin:/bin"}
	command := []string{*bin, "dev", "--ui", "--by", "alice", "--listen", *listen, "--seed", *seed}
	t, err := openTerminal(ctx, dir, *columns, *rows, env, command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close(context.WithoutCancel(ctx))) }()
	r := &recorder{terminal: t, dir: *out, title: "kernelctl dev --ui"}
	if err := r.play(ctx); err != nil {
		return err
	}
	return r.write()
}

// settings writes the configuration of the user who is recorded.
func settings(home string) error {
	dir := filepath.Join(home, ".config", "kernelctl")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	const text = "ui: {theme: dark, borders: unicode, notify: \"off\"}\n"
	return os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600)
}
