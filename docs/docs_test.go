package docs_test

import (
	"os"
	"path/filepath"
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

var link = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)

// TestLinksLead: relative links of the pages name files that are there, and
// anchors headings that are there.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, dir := range []string{".", "cli", "schemas"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text := read(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, anchor := m[1], strings.TrimPrefix(m[2], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, file, err)
				continue
			}
			if anchor != "" && !strings.Contains(anchors(read(t, target)), " "+anchor+" ") {
				t.Errorf("%s links to %s#%s: no such heading", page, file, anchor)
			}
		}
	}
}

var dropped = regexp.MustCompile("[^a-z0-9 _-]")

// anchors are the headings of a page as links name them, with spaces around each.
func anchors(text string) string {
	all := " "
	for line := range strings.Lines(text) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			name := strings.ToLower(strings.TrimSpace(heading))
			all += strings.ReplaceAll(dropped.ReplaceAllString(name, ""), " ", "-") + " "
		}
	}
	return all
}

func TestPagesStandAlone(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`\.\./\.\.|[Dd]ecisions? §|not shown`)
	for _, page := range []string{"api.md", "events.md", "operations.md", "policy.md", "openapi.yaml"} {
		if found := outside.FindString(read(t, page)); found != "" {
			t.Errorf("%s refers outside of the project: %q", page, found)
		}
	}
}
