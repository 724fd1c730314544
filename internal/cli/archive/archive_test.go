package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/cli/archive"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func execution(id string) wire.Execution {
	return wire.Execution{ID: id, AgentID: "demo", Status: wire.ExecutionCompleted, Input: []byte(`"<a>"`), Output: []byte(`1.50`), Labels: wire.Labels{}, LastEventSeq: 3}
}

func write(t *testing.T, ids ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		check(w.Begin(execution(id)))
		for i, typ := range []wire.EventType{wire.EventExecutionCreated, wire.EventExecutionStarted, wire.EventExecutionCompleted} {
			check(w.Event(wire.Event{ExecutionID: id, EventSeq: int64(i) + 1, Type: typ, Payload: []byte(`{}`)}))
		}
		check(w.Step(wire.Step{ExecutionID: id, StepID: "s", Args: []byte(`null`)}))
		check(w.Approval(wire.Approval{ExecutionID: id, ID: "a", Args: []byte(`null`)}))
		check(w.End())
	}
	check(w.Cursor("there"))
	return b.String()
}

func read(text string) (ids []string, problems []string, cursor string) {
	r := archive.NewReader(strings.NewReader(text))
	for {
		s, err := r.Next()
		switch p := (*archive.Problem)(nil); {
		case errors.Is(err, io.EOF):
			return ids, problems, r.Cursor()
		case errors.As(err, &p):
			problems = append(problems, p.Problem)
		case err != nil:
			return ids, append(problems, err.Error()), ""
		default:
			ids = append(ids, s.Execution.ID)
			problems = append(problems, s.Check()...)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	text := write(t, "one", "two")
	ids, problems, cursor := read(text)
	if diff := cmp.Diff([]string{"one", "two"}, ids); diff != "" || len(problems) > 0 || cursor != "there" {
		t.Errorf("problems %v, cursor %q, ids (-want +got):\n%s", problems, cursor, diff)
	}
	s, err := archive.NewReader(strings.NewReader(text)).Next()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(execution("one"), s.Execution); diff != "" || len(s.Events) != 3 || len(s.Steps) != 1 || len(s.Approvals) != 1 {
		t.Errorf("section (-want +got):\n%s", diff)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	good := write(t, "one", "two")
	lines := strings.SplitAfter(good, "\n")
	tests := []struct {
		name    string
		text    string
		ids     []string
		problem string
	}{
		{"a changed byte", strings.Replace(good, "1.50", "1.51", 1), []string{"two"}, "was changed"},
		{"a missing line", strings.Join(append(append([]string{}, lines[:2]...), lines[3:]...), ""), []string{"two"}, "was changed"},
		{"cut in a section", strings.Join(lines[:9], ""), []string{"one"}, "in the middle"},
		{"cut in a line", good[:len(good)-len(lines[len(lines)-2])-40], []string{"one"}, "not a line"},
		{"cut behind a section", strings.Join(lines[:7], ""), []string{"one"}, "was cut short"},
		{"nothing", "", nil, "was cut short"},
		{"no end", strings.Join(append(append([]string{}, lines[:6]...), lines[7:]...), ""), []string{"two"}, "has no end"},
		{"another file", "hello\n", nil, "not a line"},
		{"another schema", strings.ReplaceAll(good, `"schema":"v0"`, `"schema":"v9"`), nil, "schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ids, problems, _ := read(tt.text)
			if !cmp.Equal(tt.ids, ids) || len(problems) == 0 || !strings.Contains(strings.Join(problems, "\n"), tt.problem) {
				t.Errorf("read %v with problems %q; want %v and %q", ids, problems, tt.ids, tt.problem)
			}
		})
	}
}

func TestUnknownKindsAreSkipped(t *testing.T) {
	t.Parallel()
	text := `{"kind":"greeting","x":1}` + "\n\n" + write(t, "one")
	if ids, problems, _ := read(text); len(ids) != 1 || len(problems) > 0 {
		t.Errorf("read %v with problems %q", ids, problems)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	event := func(seq int64, typ wire.EventType) wire.Event {
		return wire.Event{ExecutionID: "one", EventSeq: seq, Type: typ}
	}
	created, done := event(1, wire.EventExecutionCreated), event(2, wire.EventExecutionCompleted)
	tests := []struct {
		name   string
		events []wire.Event
		want   string
	}{
		{"good", []wire.Event{created, done, event(3, wire.EventDispatchDiscarded)}, ""},
		{"gap", []wire.Event{created, event(3, wire.EventExecutionCompleted)}, "event 3 stands where 2 should"},
		{"after the end", []wire.Event{created, done, event(3, wire.EventStepProposed)}, "comes after the end"},
		{"status", []wire.Event{created, event(2, wire.EventExecutionStarted), event(3, wire.EventStepProposed)}, "by the log it is running"},
		{"count", []wire.Event{created, done}, "last_event_seq is 3"},
		{"another's", []wire.Event{created, done, {ExecutionID: "two", EventSeq: 3, Type: wire.EventDispatchDiscarded}}, "of execution two"},
	}
	for _, tt := range tests {
		s := archive.Section{Execution: execution("one"), Events: tt.events}
		got := fmt.Sprint(s.Check())
		if (tt.want == "" && got != "[]") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: Check() = %s, want %q", tt.name, got, tt.want)
		}
	}
}

// An export can be gone on with behind its last mark, wherever it was cut.
func TestScan(t *testing.T) {
	t.Parallel()
	page := write(t, "one", "two")
	long := page + write(t, "three")
	ended := strings.Replace(page, `"there"`, `""`, 1)
	want := archive.Progress{Bytes: int64(len(page)), Cursor: "there"}
	for cut := len(page); cut < len(long); cut += 1 + (len(long)-cut)/100 { // closer together towards the end
		if got, err := archive.Scan(strings.NewReader(long[:cut])); err != nil || got != want {
			t.Fatalf("cut at %d: %+v, %v; want %+v", cut, got, err, want)
		}
	}
	tests := []struct {
		name, text string
		want       archive.Progress
		problem    string
	}{
		{"complete", ended, archive.Progress{Bytes: int64(len(ended)), Complete: true}, ""},
		{"in its first page", page[:len(page)/2], archive.Progress{}, ""},
		{"nothing yet", "", archive.Progress{}, ""},
		{"damaged before its mark", strings.Replace(page, "1.50", "1.51", 1), archive.Progress{}, "was changed"},
		{"something else", "dear diary\n", archive.Progress{}, "not a line of an export"},
	}
	for _, tt := range tests {
		got, err := archive.Scan(strings.NewReader(tt.text))
		if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) || err == nil && got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v, %q", tt.name, got, err, tt.want, tt.problem)
		}
	}
}
