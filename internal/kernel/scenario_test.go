package kernel_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata from what the kernel does")

// TestScenarios runs testdata/scenarios: a line that is not indented is a
// command, the indented lines below it are what it came to. README.txt there
// explains the language.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if name == "README" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got; after a change that is meant: go test -run Scenarios -update):\n%s", file, diff)
			}
		})
	}
}

// runScenario repeats the script with what its commands came to.
func runScenario(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	s := newScript(t)
	for no, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		s.line = no + 1
		switch {
		case strings.HasPrefix(line, " "): // an expectation
		case line == "" || line[0] == '#':
			if strings.HasPrefix(line, "# ---") { // a new beginning
				s = newScript(t)
			}
			fmt.Fprintln(&out, line)
		default:
			fmt.Fprintln(&out, line)
			for _, result := range s.run(words(line)) {
				fmt.Fprintln(&out, "  "+result)
			}
		}
	}
	return out.String()
}

// words splits a line at spaces that are not inside quotes, braces or brackets.
func words(line string) []string {
	var list []string
	depth, quoted, start := 0, false, -1
	for i := 0; i <= len(line); i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		}
		switch {
		case c == ' ' && depth == 0 && !quoted:
			if start >= 0 {
				list = append(list, line[start:i])
				start = -1
			}
			continue
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	return list
}

// script is one scenario that runs: its executions, and the short names of ids.
type script struct {
	t      *testing.T
	line   int
	at     *service
	world  *world
	worlds map[string]*world
	names  map[string]*names
	ruling kernel.Ruling
	causes bool
}

// names gives the ids of one execution short names in order of appearance.
type names struct {
	steps      []kernel.StepID
	dispatches []kernel.DispatchID
	approvals  []kernel.ApprovalID
}

func newScript(t *testing.T) *script {
	s := &script{t: t, at: newService(), worlds: map[string]*world{}, names: map[string]*names{}}
	s.ruling = kernel.Ruling{Rule: kernel.RulePermissive, Action: kernel.Allow}
	s.use("E1")
	return s
}

func (s *script) use(name string) {
	if s.worlds[name] == nil {
		s.worlds[name], s.names[name] = s.at.world(s.t), &names{}
	}
	s.world = s.worlds[name]
}

func (s *script) name() *names {
	for name, w := range s.worlds {
		if w.state.ID == s.world.state.ID {
			return s.names[name]
		}
	}
	panic("no such execution")
}

func index[T comparable](list *[]T, id T) int {
	for i := range *list {
		if (*list)[i] == id {
			return i + 1
		}
	}
	*list = append(*list, id)
	return len(*list)
}

func (s *script) step(id kernel.StepID) string {
	return "#" + strconv.Itoa(index(&s.name().steps, id))
}

func (s *script) dispatch(id kernel.DispatchID) string {
	return "D" + strconv.Itoa(index(&s.name().dispatches, id))
}

func (s *script) approval(id kernel.ApprovalID) string {
	return "A" + strconv.Itoa(index(&s.name().approvals, id))
}

func (s *script) attempt(dispatch kernel.DispatchID, n int64) string {
	return s.dispatch(dispatch) + "/" + strconv.FormatInt(n, 10)
}

func (s *script) time(at kernel.Instant) string {
	if at.IsZero() {
		return "never"
	}
	return "+" + at.Sub(epoch).String()
}

// arguments are the words after the command: name=value ones, and the others,
// unquoted (words) and as they stand, for JSON (raw).
type arguments struct {
	s          *script
	words, raw []string
	named      map[string]string
}

func (s *script) arguments(list []string) *arguments {
	a := &arguments{s: s, named: map[string]string{}}
	for _, word := range list {
		name, value, ok := strings.Cut(word, "=")
		if !ok || strings.ContainsAny(name, `"{[`) {
			a.words, a.raw = append(a.words, unquote(word)), append(a.raw, word)
			continue
		}
		a.named[name] = unquote(value)
	}
	return a
}

func unquote(word string) string {
	if strings.HasPrefix(word, `"`) {
		if text, err := strconv.Unquote(word); err == nil {
			return text
		}
	}
	return word
}

func (s *script) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s", s.line, fmt.Sprintf(format, args...))
}

// word is the n-th word that is not name=value, or otherwise.
func (a *arguments) word(n int, otherwise string) string {
	if n < len(a.words) {
		return a.words[n]
	}
	return otherwise
}

// json is the n-th word as it stands, or otherwise.
func (a *arguments) json(n int, otherwise string) string {
	if n < len(a.raw) {
		return a.raw[n]
	}
	return otherwise
}

func (a *arguments) duration(name string, otherwise time.Duration) time.Duration {
	text, ok := a.named[name]
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		a.s.fatalf("%s: %v", name, err)
	}
	return d
}

func (a *arguments) number(name string, otherwise int) int {
	text, ok := a.named[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		a.s.fatalf("%s: %v", name, err)
	}
	return n
}

func (a *arguments) list(name string) []string {
	if a.named[name] == "" {
		return nil
	}
	return strings.Split(a.named[name], ",")
}

// holder reads an attempt such as D1/2; "unknown" is one of no dispatch of
// this execution, "nobody" none at all, "" the newest.
func (a *arguments) holder(text string) kernel.Holder {
	switch text {
	case "":
		return a.s.world.lease.Holder
	case "nobody":
		return kernel.Holder{}
	case "unknown":
		return kernel.Holder{Dispatch: kernel.DispatchID{UUID: kernel.UUID{0xff}}, Attempt: 1}
	}
	dispatch, attempt, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(attempt, 10, 64)
	if err != nil {
		a.s.fatalf("attempt %q: %v", text, err)
	}
	return kernel.Holder{Dispatch: a.s.dispatchOf(dispatch), Attempt: n}
}

func (a *arguments) caller() kernel.Holder { return a.holder(a.named["by"]) }

func (s *script) dispatchOf(name string) kernel.DispatchID {
	return lookup(s, s.name().dispatches, "D", name)
}

func (s *script) stepOf(name string) kernel.StepID {
	if name == "#99" {
		return kernel.StepID{0xff} // one that was never submitted
	}
	return lookup(s, s.name().steps, "#", name)
}

func (s *script) approvalOf(name string) kernel.ApprovalID {
	return lookup(s, s.name().approvals, "A", name)
}

func lookup[T any](s *script, list []T, prefix, name string) T {
	n, err := strconv.Atoi(strings.TrimPrefix(name, prefix))
	if err != nil || n < 1 || n > len(list) {
		s.fatalf("no %q yet", name)
	}
	return list[n-1]
}
