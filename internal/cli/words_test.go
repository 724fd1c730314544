package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"list", "get", "create", "watch", "wait", "cancel", "deny"}
	for typed, want := range map[string]string{
		"lst": "list", "lsit": "list", "creat": "create", "ccancel": "cancel", "wat": "watch", "WATCH": "watch", "dney": "deny",
		"qqqqqqqq": "", "x": "", "grant": "", "": "",
	} {
		if got := nearest(typed, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestTypeFilter(t *testing.T) {
	t.Parallel()
	f, err := typeFilter([]string{"step.*,execution.created", "approval.granted"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, typ := range wire.EventTypes() {
		if f(typ) && !strings.HasPrefix(string(typ), "step.") {
			got = append(got, string(typ))
		}
	}
	if diff := cmp.Diff([]string{"execution.created", "approval.granted"}, got); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	if all, err := typeFilter(nil); err != nil || !all("anything.new") {
		t.Errorf("no filter lets not everything through: %v", err)
	}
}

func TestParseDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "12h": 12 * time.Hour, "0.5d": 12 * time.Hour} {
		if got, err := parseDays(text); err != nil || got != want {
			t.Errorf("parseDays(%s) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "0d", "soon", "-3h", "1y"} {
		if got, err := parseDays(text); err == nil {
			t.Errorf("parseDays(%q) = %s, want an error", text, got)
		}
	}
}

func TestParseDeadline(t *testing.T) {
	t.Parallel()
	if at, n, err := parseDeadline("1m30s500ms"); err != nil || at != nil || *n != 91 {
		t.Errorf("a duration: %v, %v", err, n)
	}
	if at, n, err := parseDeadline("2026-11-20T18:00:00+01:00"); err != nil || n != nil || at.String() != "2026-11-20T17:00:00.000000Z" {
		t.Errorf("a timestamp: %v, %v", err, at)
	}
	for _, bad := range []string{"soon", "10ms", "-1h", "2026-11-20"} {
		if _, _, err := parseDeadline(bad); err == nil {
			t.Errorf("parseDeadline(%q) = nil", bad)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"alice": "alice", "al ice": "'al ice'", "o'brien": `'o'\''brien'`, "": "''", "$(x)": "'$(x)'"} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestByNumber(t *testing.T) {
	t.Parallel()
	rows := []wire.Approval{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for answer, want := range map[string]string{"1": "a", "3 1": "ca", "1,2,1": "ab", "0": "", "4": "", "x": "", "1 x": "", " ": ""} {
		got := ""
		chosen, ok := byNumber(rows, answer)
		for _, a := range chosen {
			got += a.ID
		}
		if got != want || ok != (want != "") {
			t.Errorf("byNumber(%q) = %q, %v; want %q", answer, got, ok, want)
		}
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb\tc": "a\nb\tc", "\x1b[31mred\n": "\\x1b[31mred\n", "line\r\n": "line\n", "over\rwrite": "over\\rwrite", "\u202e": "\\u202e",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// An event of a type that this version does not know still says what it says.
func TestEventDetail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ typ, payload, want string }{
		{"tomorrow.came", `{"a":1}`, `{"a":1}`},
		{"execution.completed", `{"output":{"n":1.50}}`, `{"n":1.50}`},
		{"step.failed", `{"step_id":"s","step_type":"tool_call","target":"t","error":{"reason":"x"}}`, `tool_call t s {"reason":"x"}`},
		{"step.rate_limited", `{"step_type":"tool_call","target":"t","rule_id":"r","reason":"rate_limit_exceeded"}`, "tool_call t rule r rate_limit_exceeded"},
		{"dispatch.failed", `{"attempt":2,"error":"refused","http_status":503}`, "attempt 2 refused HTTP 503"},
		{"signal.received", `{"signal_type":"go","payload":1}`, "go 1"},
		{"execution.blocked", `not json`, ""},
	} {
		e := wire.Event{Type: wire.EventType(tt.typ), Payload: []byte(tt.payload)}
		if got := eventDetail(e).Text; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.typ, got, tt.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	past := []wire.Execution{
		{ID: "new", CreatedAt: wire.At(now.Add(-time.Hour))},
		{ID: "old", CreatedAt: wire.At(now.Add(-48 * time.Hour))},
	}
	result := func(was, now wire.PolicyAction, wasRule, nowRule string) wire.PolicyResult {
		return wire.PolicyResult{
			Kind: wire.KindToolCall, Target: "t", Expect: was, Decision: now, ExpectRule: wasRule, RuleID: nowRule,
			Pass: was == now && wasRule == nowRule,
		}
	}
	allow, deny, ask := wire.ActionAllow, wire.ActionDeny, wire.ActionRequireApproval
	reports := []wire.PolicyTestReport{
		{Results: []wire.PolicyResult{result(allow, ask, "a", "b"), result(allow, ask, "a", "b"), result(allow, allow, "a", "c")}},
		{Results: []wire.PolicyResult{result(ask, allow, "b", "a"), result(allow, deny, "a", "default"), result(allow, allow, "a", "a")}},
	}
	w := summarize("demo", past, reports, now)
	if w.Steps != 6 || w.Differ != 4 || w.OtherRule != 1 || w.MoreApprovals != 1 || w.MoreApprovalsPerDay != 0.5 {
		t.Errorf("summary %+v", w)
	}
	if diff := cmp.Diff(wire.List[string]{"old"}, w.WouldStop); diff != "" {
		t.Errorf("would stop (-want +got):\n%s", diff)
	}
	if len(w.Changes) != 4 || w.Changes[0].Count != 2 || w.Changes[3].Was != w.Changes[3].Now {
		t.Errorf("changes %+v; want the frequent first, and last what decides the same", w.Changes)
	}
}

func TestJSONProblem(t *testing.T) {
	t.Parallel()
	s := &session{io: quietStreams()}
	for text, want := range map[string]string{
		`{"a":}`: "line 1, column 6", "{\n \"a\": x}": "line 2, column 7", `{"a"`: "too early", "": "too early", `1 2`: "more behind",
	} {
		_, err := s.json("input", text)
		if e := (*exit.Error)(nil); !errors.As(err, &e) || e.Code != exit.Usage || !strings.Contains(e.Why, want) {
			t.Errorf("json(%q) = %v, want %q", text, err, want)
		}
	}
	if raw, err := s.json("input", ` {"n": 1.50} `); err != nil || string(raw) != `{"n": 1.50}` {
		t.Errorf("json = %s, %v", raw, err)
	}
}
