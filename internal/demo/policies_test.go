package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/policy"
)

// TestPolicies runs the cases of every policy, which exercise all its rules.
func TestPolicies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no policies:", err)
	}
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			bundle, err := policy.Compile(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			cases, err := policy.ParseCases(read(t, filepath.Join("testdata", id+".cases.yaml")))
			if err != nil {
				t.Fatal(err)
			}
			report := policy.RunCases(bundle, id, cases)
			for _, r := range report.Results {
				if !r.Pass {
					t.Errorf("%s: %s", r.Name, r.Failure)
				}
			}
			if len(report.UnexercisedRules) > 0 {
				t.Errorf("no case reaches %v", report.UnexercisedRules)
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
