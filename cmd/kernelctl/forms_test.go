package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// The ways in which the scripts must have run every command.
const (
	onScreen = "on a terminal"
	inPipe   = "in a pipe"
	asJSON   = "as JSON, validated against its schema"
	gone     = "with an error"
)

// without are the forms that a command does not have, and why.
var without = map[string]string{
	"completion/" + asJSON:  "it prints a script",
	"config path/" + asJSON: "it prints a path",
	"config set/" + asJSON:  "it prints nothing",
	"config use/" + asJSON:  "it prints nothing",
	"export/" + asJSON:      "its own format, which verify --file checks",
	"help/" + asJSON:        "it is text",
	"serve/" + asJSON:       "it prints a log",
	"serve/" + onScreen:     "it prints a log",
	"dev/" + asJSON:         "it prints a log",
	"dev/" + onScreen:       "it prints a log",
	"ui/" + asJSON:          "it is a dashboard",
	"ui/" + inPipe:          "it is a dashboard",
	"ui/" + onScreen:        "the tests of the dashboard have it",
}

// call is one run of the program in a script.
type call struct {
	path  string // of the command, without the program's name
	forms []string
	code  int
}

// calls are the runs of the program in all scripts.
func calls(t *testing.T) (found []call) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	for _, script := range scripts {
		b, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(txtar.Parse(b).Comment), "\n")
		beside := map[string]call{} // by name; what became of it is told later
		for i, line := range lines {
			next := ""
			if i+1 < len(lines) {
				next = lines[i+1]
			}
			switch words := strings.Fields(line); {
			case len(words) > 2 && words[0] == "start":
				beside[words[1]], _ = callOf(line, "")
			case len(words) > 2 && words[0] == "finish":
				c := beside[words[1]]
				if c.code, err = strconv.Atoi(words[2]); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(next, "schema ") && strings.HasSuffix(next, " "+words[1]+".out") {
					c.forms = append(c.forms, asJSON)
				}
				found = append(found, c)
			default:
				if c, ok := callOf(line, next); ok {
					found = append(found, c)
				}
			}
		}
	}
	return found
}

// callOf reads a line of a script, and from the next whether a schema is held
// against what it prints.
func callOf(line, next string) (c call, ok bool) {
	before, rest, ok := strings.Cut(strings.TrimPrefix(line, "! "), "kernelctl")
	if !ok || rest != "" && !strings.HasPrefix(rest, " ") {
		return c, false
	}
	how := strings.Fields(before)
	if len(how) == 0 || strings.HasPrefix(how[0], "#") {
		return c, false
	}
	words, _ := shellWords(rest)
	at, args, err := tree().Find(words)
	if err != nil || at.ParseFlags(args) != nil {
		at, _, _ = tree().Find(words[:min(len(words), 2)]) // a mistake on purpose
	}
	c.path = strings.TrimPrefix(strings.TrimPrefix(at.CommandPath(), "kernelctl"), " ")
	output := ""
	if f := at.Flags().Lookup("output"); f != nil {
		output = f.Value.String()
	}
	switch how[0] {
	case "rc":
		c.code, _ = strconv.Atoi(how[1])
	case "exec", "pty", "start", "server":
	default:
		return c, false
	}
	if c.code != 0 && c.code != int(exit.ExecutionFailed) && c.code != int(exit.ExecutionCancelled) {
		c.forms = append(c.forms, gone)
	}
	switch schema := strings.HasPrefix(next, "schema "); {
	case how[0] == "pty":
		c.forms = append(c.forms, onScreen)
	case output == "" && !slices.Contains(c.forms, gone):
		c.forms = append(c.forms, inPipe)
	case (output == "json" || output == "jsonl") && schema && !strings.HasPrefix(next, "schema error"):
		c.forms = append(c.forms, asJSON)
	}
	return c, true
}

// TestEveryForm holds the scripts to having every command in every form.
func TestEveryForm(t *testing.T) {
	t.Parallel()
	seen := map[string]map[string]bool{}
	for _, c := range calls(t) {
		if seen[c.path] == nil {
			seen[c.path] = map[string]bool{}
		}
		for _, form := range c.forms {
			seen[c.path][form] = true
		}
	}
	unused := maps.Clone(without)
	for _, c := range commands(tree()) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "kernelctl"), " ")
		if c.Hidden || c.HasSubCommands() && path != "stream" || c.HasParent() && c.Parent().Hidden {
			continue
		}
		for _, form := range []string{onScreen, inPipe, asJSON, gone} {
			delete(unused, path+"/"+form)
			if without[path+"/"+form] == "" && !seen[path][form] {
				t.Errorf("no script runs %s %s", path, form)
			}
		}
	}
	for name := range unused {
		if !strings.HasPrefix(name, "help/") { // cobra adds the command when it runs
			t.Errorf("%s is no form of a command", name)
		}
	}
}

// TestEveryExitCode holds the scripts to having every exit code of the table.
func TestEveryExitCode(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for _, c := range calls(t) {
		seen[c.code] = true
	}
	for _, r := range exit.Table() {
		if !seen[int(r.Code)] {
			t.Errorf("no script has exit code %s", fmt.Sprintf("%d: %s", r.Code, r.Meaning))
		}
		delete(seen, int(r.Code))
	}
	for code := range seen {
		t.Errorf("exit code %d is not in the table", code)
	}
}
