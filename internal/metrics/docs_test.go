package metrics_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/metrics"
)

// described is what the page or the registry says of a metric.
type described struct{ Type, Labels string }

// page reads the rows of the tables: | `name` | type | labels | meaning | alert |
func page(t *testing.T) map[string]described {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]described{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `kernelctl_") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name := strings.Trim(cells[0], "`")
		if len(cells) != 5 || cells[3] == "" || cells[4] == "" {
			t.Errorf("the row of %s does not say everything: %q", name, line)
			continue
		}
		if _, twice := all[name]; twice {
			t.Errorf("%s has two rows", name)
		}
		all[name] = described{cells[1], strings.NewReplacer("`", "", "–", "").Replace(cells[2])}
	}
	return all
}

func TestPageAndRegistryAgree(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.HTTP("/", http.MethodGet, 200, time.Millisecond)
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	registered := map[string]described{}
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue // the standard ones, which the page names by their prefix
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		registered[name] = described{strings.ToLower(f.GetType().String()), strings.Join(labels, ", ")}
	}
	if diff := cmp.Diff(registered, page(t)); diff != "" {
		t.Errorf("registry and docs/metrics.md differ (-registry +page)\n%s", diff)
	}
}

// TestPageNamesEveryValue: the values of labels that are words of this service
// stand on the page.
func TestPageNamesEveryValue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	families, err := metrics.New().Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name := f.GetName(); !strings.HasPrefix(name, "kernelctl_") || name == "kernelctl_build_info" || name == "kernelctl_events_total" {
			continue
		}
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				values[l.GetValue()] = true
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(values)) {
		if !strings.Contains(string(text), "`"+v+"`") {
			t.Errorf("docs/metrics.md does not name the value %s", v)
		}
	}
}
