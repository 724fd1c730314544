package torture_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/torture"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "kernelctl-torture-test-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		binary = filepath.Join(dir, "kernelctl")
		build := exec.Command("go", "build", "-o", binary, "github.com/agentkernel/kernelctl/cmd/kernelctl")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// TestTorture runs the command, as anybody can: a handful of kills, at every
// moment that takes no long wait.
func TestTorture(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), binary, "torture", "--quick", "--kills", "12", "--seed", "3", "--load", "80", "--dir", t.TempDir(), "-o", "json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("torture: %v\n%s", err, out)
	}
	var report torture.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if report.Kills < 12 || report.Failure != nil || report.Writes < 100 || report.Audited == 0 || report.Verified < 8 {
		t.Errorf("report: %s; want 12 kills, and after them files that verify, and nothing lost of much that was acknowledged", out)
	}
}

// TestFillDisk fills a small disk a few times, where one can be mounted.
func TestFillDisk(t *testing.T) {
	t.Parallel()
	report, err := torture.FillDisk(t.Context(), torture.Options{Binary: binary, Dir: t.TempDir(), Seed: 2, Rate: 80}, 3)
	if errors.Is(err, torture.ErrNoSmallDisk) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if report.Failure != nil || report.Refused == 0 {
		t.Errorf("%s", report.Text())
	}
}

// TestSoak watches a server for a few seconds: too short to judge what grows,
// and long enough to see that it is looked at.
func TestSoak(t *testing.T) {
	t.Parallel()
	samples := 0
	report, err := torture.Soak(t.Context(), torture.SoakOptions{
		Options: torture.Options{Binary: binary, Dir: t.TempDir(), Seed: 2, Rate: 50}, For: 4 * time.Second, Retention: time.Second,
		Sampled: func(s torture.Sample) {
			if samples++; s.RSS == 0 || s.Goroutines == 0 || s.Files == 0 || s.DB == 0 || s.WAL == 0 {
				t.Errorf("sample %v lacks something", s)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if samples == 0 || len(report.Trends) == 0 || report.Steps == 0 {
		t.Errorf("%d samples: %s", samples, report.Text())
	}
}
