package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const longLog = "01930c2e-7a10-7c55-b2aa-0f1ec2d0e911"

// longLogServer has one execution with very many events, because making them
// for real takes longer than the test.
func longLogServer(t *testing.T, events int) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.Atoi(r.URL.Query().Get("after_seq"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		w.Header().Set("Content-Type", "application/json")
		b := bufio.NewWriter(w)
		defer func() { _ = b.Flush() }()
		_ = b.WriteByte('[')
		for n := after + 1; n <= min(after+limit, events); n++ {
			if n > after+1 {
				_ = b.WriteByte(',')
			}
			_, _ = fmt.Fprintf(b, `{"id":"01930c2e-0000-7000-8000-%012d","execution_id":%q,"event_seq":%d,"type":"step.proposed","schema_version":1,"occurred_at":"2026-11-21T12:00:00.000000Z","causation_id":null,"correlation_id":"","payload":{"step_id":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","step_type":"tool_call","target":"search_web"}}`, n, longLog, n)
		}
		_ = b.WriteByte(']')
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A log of any length passes through in constant memory, in every format that
// a pipe gets.
func TestLongListsTakeConstantMemory(t *testing.T) {
	t.Parallel()
	events := 100_000
	if underRace {
		events = 5_000
	}
	url := longLogServer(t, events)
	for _, format := range []string{"jsonl", "tsv", "json", "table", "name"} {
		t.Run(format, func(t *testing.T) {
			cmd := exec.Command("kernelctl", "events", "list", longLog, "-o", format, "-s", url)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			var lines lineCounter
			cmd.Stdout = &lines
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			if lines.n < events {
				t.Errorf("%d lines, want %d or more", lines.n, events)
			}
			usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			if !ok || runtime.GOOS != "linux" || underRace {
				return
			}
			if mb := usage.Maxrss >> 10; mb > 100 {
				t.Errorf("peak memory %d MB, want 100 or less", mb)
			}
		})
	}
}

type lineCounter struct{ n int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

// A reader that leaves ends the command, silently and well.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	url := longLogServer(t, 100_000)
	for _, format := range []string{"jsonl", "table", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("kernelctl", "events", "list", longLog, "-o", format, "-s", url)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
				t.Errorf("%v, stderr %q; want neither", err, &stderr)
			}
		})
	}
}

// version answers at once on a terminal and asks it nothing, whatever else is
// linked into the program.
func TestVersionIsQuick(t *testing.T) {
	t.Parallel()
	const enough = 100 * time.Millisecond
	best := time.Hour
	for range 10 { // the machine may be busy; the program must be able to be quick
		cmd := exec.Command("kernelctl", "version")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=xterm-256color", "CI=", "NO_COLOR=")
		began := time.Now()
		shown, err := onTerminal(cmd, "")
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		if strings.ContainsRune(shown, '\x1b') || !strings.HasPrefix(shown, "kernelctl ") {
			t.Fatalf("it showed %q", shown)
		}
		if best < enough || underRace {
			return
		}
	}
	t.Errorf("it took %s, want less than %s", best, enough)
}
