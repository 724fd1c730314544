package tui

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const docsPage = "../../docs/tui.md"

// TestDocsHaveTheKeys: the tables of the page are those of the program.
func TestDocsHaveTheKeys(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	want := between(page, "keys", keysTable())
	want = between(want, "palette", paletteTable())
	if *update {
		if err := os.WriteFile(docsPage, []byte(want), 0o644); err != nil { //nolint:gosec // it is a page
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, page); d != "" {
		t.Errorf("docs/tui.md (-want +got), go test -frames writes it:\n%s", d)
	}
}

// between puts a table between the marks of a name.
func between(page, name, table string) string {
	head, rest, _ := strings.Cut(page, "<!-- "+name+":")
	mark, rest, _ := strings.Cut(rest, "\n")
	_, tail, _ := strings.Cut(rest, "<!-- /"+name+" -->")
	return head + "<!-- " + name + ":" + mark + "\n" + table + "<!-- /" + name + " -->" + tail
}

func keysTable() string {
	var b strings.Builder
	b.WriteString("| keys | action | what it does | where |\n|---|---|---|---|\n")
	for _, k := range defaultKeys() {
		where := "everywhere"
		if len(k.on) > 0 {
			var names []string
			for _, s := range k.on {
				names = append(names, screenNames[s])
			}
			where = strings.Join(names, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", strings.ReplaceAll(k.key.Help().Key, " ", "` `"), k.act, k.key.Help().Desc, where)
	}
	return b.String()
}

func paletteTable() string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, c := range commands() {
		line := ":" + strings.Join(c.names, "`, `:")
		if c.args != "" {
			line += " " + c.args
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", line, c.help)
	}
	return b.String()
}
