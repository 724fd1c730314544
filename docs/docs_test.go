package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReferenceNamesEverything: nothing that the wire has is left out of the
// pages for people.
func TestReferenceNamesEverything(t *testing.T) {
	t.Parallel()
	api, events := read(t, "api.md"), read(t, "events.md")
	for _, route := range routes {
		_, path, _ := strings.Cut(route, " ")
		if !strings.Contains(api, path) {
			t.Errorf("api.md does not name %s", path)
		}
	}
	for _, c := range wire.ErrorCodes() {
		if !strings.Contains(api, "`"+string(c)+"`") {
			t.Errorf("api.md does not name the code %s", c)
		}
	}
	for _, d := range wire.DecisionNames() {
		if !strings.Contains(api, string(d)) {
			t.Errorf("api.md does not name the decision %s", d)
		}
	}
	for _, e := range wire.EventTypes() {
		if !strings.Contains(events, "| `"+string(e)+"` |") {
			t.Errorf("events.md has no row for %s", e)
		}
	}
}

func TestPagesStandAlone(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`\.\./\.\.|[Dd]ecisions? §|not shown`)
	for _, page := range []string{"api.md", "events.md", "operations.md", "openapi.yaml"} {
		if found := outside.FindString(read(t, page)); found != "" {
			t.Errorf("%s refers outside of the project: %q", page, found)
		}
	}
}
